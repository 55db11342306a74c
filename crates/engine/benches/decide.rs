//! `cargo bench -p punctual-engine`: the time of one decision and of one Job manifest.
//!
//! Decides what to do for a CronJob with ten Jobs and a due slot, and computes its new status. There
//! are two cases: the last run was a minute ago, and it was in 1970. Reports the best of many runs, because other processes disturb the measurement.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark measures, prints, and fails by panicking"
)]

use std::{hint::black_box, process::ExitCode, time::Instant};

use jiff::Timestamp;
use punctual_api::{CronJob, Job};
use punctual_engine::cronjob::{
    self, CreateResult, Decision, EffectResult, FeatureGates, JobView, Observed, Timetable,
};
use punctual_schedule::Zones;
use serde_json::json;

const TARGET_NS: u128 = 5_000;
const CALLS: u32 = 2_000;
const RUNS: u32 = 50;

struct BenchInput {
    cron_job: CronJob,
    timetable: Result<Timetable, cronjob::ScheduleError>,
    jobs: Vec<JobView>,
}

fn bench_input(zone: &str, last: &str) -> BenchInput {
    let cron_job: CronJob = serde_json::from_value(json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": "bench", "namespace": "ns", "uid": "u", "creationTimestamp": last},
        "spec": {
            "schedule": "* * * * *", "timeZone": zone, "concurrencyPolicy": "Allow",
            "successfulJobsHistoryLimit": 10, "failedJobsHistoryLimit": 10,
            "jobTemplate": {"spec": {"backoffLimit": 3, "template": {"spec": {
                "restartPolicy": "OnFailure",
                "containers": [{
                    "name": "main", "image": "busybox:1.37",
                    "command": ["/bin/sh", "-c", "date; echo hello"],
                    "env": [{"name": "GREETING", "value": "hello"}],
                    "resources": {"limits": {"memory": "128Mi"}},
                }],
            }}}},
        },
        "status": {"lastScheduleTime": last},
    }))
    .expect("a CronJob");
    let timetable =
        Timetable::from_cron_job(&cron_job, &Zones::bundled().utc(), &FeatureGates::default());
    BenchInput { cron_job, timetable, jobs: (0..10).map(finished_job).collect() }
}

fn finished_job(minute: i64) -> JobView {
    let slot = Timestamp::from_second(minute * 60).expect("a time").to_string();
    let job: Job = serde_json::from_value(json!({
        "metadata": {
            "name": format!("bench-{minute}"), "namespace": "ns", "uid": format!("uid-{minute}"),
            "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": slot},
            "ownerReferences": [{"kind": "CronJob", "uid": "u", "controller": true}],
        },
        "status": {
            "startTime": slot, "completionTime": slot,
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    }))
    .expect("a Job");
    JobView::from_job(&job)
}

/// Decides and settles. Returns a checksum of the results.
fn decide_and_settle(input: &BenchInput, now: Timestamp) -> u64 {
    let BenchInput { cron_job, timetable, jobs } = input;
    let gates = FeatureGates::default();
    let observed = Observed {
        cron_job,
        timetable,
        jobs,
        live_jobs: &[],
        read_records: &[],
        requests: &[],
        older_object_of_same_name: None,
        gates,
        retention: cronjob::RecordRetention::Archived,
        counts_manual_jobs: true,
        waits_for_replaced_pods: true,
    };
    let Decision::Execute(plan) = cronjob::decide(&observed, now) else {
        return 0;
    };
    let pending = plan.pending_slots;
    let create_result =
        CreateResult::Created { uid: "new".into(), resource_version: "1".into(), created_at: None };
    let settled = cronjob::settle(*plan, &[EffectResult::Created(create_result)], now);
    pending + settled.status.map_or(0, |status| status.active.len() as u64)
}

/// Builds the manifest of a Job and returns its length.
fn manifest_len(input: &BenchInput, slot: Timestamp) -> u64 {
    let Ok(timetable) = &input.timetable else { return 0 };
    let name = punctual_api::names::job_name(&input.cron_job.metadata.name, slot);
    let create = cronjob::CreateJob { name, slot, ..cronjob::CreateJob::default() };
    let text = cronjob::build_job_manifest(&input.cron_job, Some(timetable), &create);
    text.map_or(0, |text| text.len() as u64)
}

/// Returns the nanoseconds of one call in the best run.
fn measure(work: impl Fn() -> u64) -> u128 {
    let run = |_| {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(work());
        }
        start.elapsed().as_nanos() / u128::from(CALLS)
    };
    (0..RUNS).map(run).min().unwrap_or_default()
}

fn main() -> ExitCode {
    // Do nothing in `cargo test --all-targets`, which also runs benchmarks.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let now: Timestamp = "2026-03-01T10:00:05Z".parse().expect("a time");
    let mut is_met = true;
    for zone in ["UTC", "America/New_York"] {
        for last in ["2026-03-01T09:59:00Z", "1970-01-01T00:20:00Z"] {
            let input = bench_input(zone, last);
            let ns = measure(|| decide_and_settle(black_box(&input), black_box(now)));
            let checksum = decide_and_settle(&input, now);
            is_met &= ns < TARGET_NS;
            println!("decide and settle, {zone}, last run {last}: {ns} ns (checksum {checksum})");
        }
    }
    let input = bench_input("UTC", "2026-03-01T09:59:00Z");
    let ns = measure(|| manifest_len(black_box(&input), black_box(now)));
    println!("Job manifest: {ns} ns ({} bytes)", manifest_len(&input, now));
    println!("{}: below {TARGET_NS} ns", if is_met { "met" } else { "MISSED" });
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
