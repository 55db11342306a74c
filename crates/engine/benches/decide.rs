//! `cargo bench -p punctual-engine`: what one decision costs.
//!
//! A CronJob with ten Jobs, a slot due, decided and settled; with a last run a minute ago, and with
//! one in 1970. The better of many runs counts: the machine has other things to do as well.

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
    self, CreateResult, Decision, EffectResult, JobView, Observed, Timetable,
};
use punctual_schedule::Zones;
use serde_json::json;

const TARGET_NS: u128 = 5_000;
const CALLS: u32 = 2_000;
const RUNS: u32 = 50;

struct World {
    cron_job: CronJob,
    timetable: Result<Timetable, cronjob::ScheduleError>,
    jobs: Vec<JobView>,
}

fn world(zone: &str, last: &str) -> World {
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
    let timetable = Timetable::from_cron_job(&cron_job, &Zones::bundled().utc());
    World { cron_job, timetable, jobs: (0..10).map(finished_job).collect() }
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

/// Decides and settles, and gives something that depends on all of it.
fn turn(world: &World, now: Timestamp) -> u64 {
    let World { cron_job, timetable, jobs } = world;
    let Decision::Execute(plan) =
        cronjob::decide(&Observed { cron_job, timetable, jobs, live_jobs: &[] }, now)
    else {
        return 0;
    };
    let unmet = plan.pending_slots;
    let attempt = CreateResult::Created { uid: "new".into(), resource_version: "1".into() };
    let settled = cronjob::settle(*plan, &[EffectResult::Created(attempt)], now);
    unmet + settled.status.map_or(0, |status| status.active.len() as u64)
}

/// Makes the Job for a slot; how long its text is.
fn job_text(world: &World, slot: Timestamp) -> u64 {
    let Ok(timetable) = &world.timetable else { return 0 };
    let text = cronjob::build_job_manifest(&world.cron_job, timetable, slot);
    text.map_or(0, |text| text.len() as u64)
}

/// Nanoseconds of one call, in the best run.
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
    // `cargo test --all-targets` runs benchmarks too, and does not mean it.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let now: Timestamp = "2026-03-01T10:00:05Z".parse().expect("a time");
    let mut met = true;
    for zone in ["UTC", "America/New_York"] {
        for last in ["2026-03-01T09:59:00Z", "1970-01-01T00:20:00Z"] {
            let world = world(zone, last);
            let ns = measure(|| turn(black_box(&world), black_box(now)));
            let checksum = turn(&world, now);
            met &= ns < TARGET_NS;
            println!("decide and settle, {zone}, last run {last}: {ns} ns (checksum {checksum})");
        }
    }
    let world = world("UTC", "2026-03-01T09:59:00Z");
    let ns = measure(|| job_text(black_box(&world), black_box(now)));
    println!("the text of a Job: {ns} ns ({} bytes)", job_text(&world, now));
    println!("{}: below {TARGET_NS} ns", if met { "met" } else { "MISSED" });
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
