//! `punctual` with a data directory of an earlier version.

use std::{collections::HashSet, time::Duration};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use punctual_e2e::{
    Client, Punctual,
    json::{has_condition, items, number, text, uid},
    probe,
};
use serde_json::{Value, json};

use super::{
    job_observer::slot,
    recorded_data::{self, CRON_JOBS, JOBS, RecordedData, SCHEDULED_JOBS},
};

const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval of the recorded CronJobs that run, in seconds.
const INTERVAL: i64 = 2;

/// The server opens the directory and returns every object as the earlier version did.
pub(super) fn objects_are_unchanged(punctual: &Punctual) -> anyhow::Result<()> {
    recorded_data::with_each(|recorded| {
        let server = punctual.start(recorded.folder.path())?;
        let objects = recorded_data::read_objects(&mut Client::new(&server)?)?;
        for (path, items) in &recorded.objects {
            let found = objects.get(path);
            ensure!(found == Some(items), "{path}: {found:?}, not {items}");
        }
        server.stop(STOP_TIMEOUT)
    })
}

/// CronJobs with a history continue it, a run that was active ends, and nothing runs twice.
pub(super) fn cron_jobs_continue(punctual: &Punctual) -> anyhow::Result<()> {
    recorded_data::with_each(|recorded| {
        let cluster = punctual.up(recorded.folder.path(), &[])?;
        let mut client = Client::new(&cluster)?;
        for list in [CRON_JOBS, SCHEDULED_JOBS] {
            check_continued(recorded, &mut client, list)?;
        }
        check_interrupted_run(recorded, &mut client)?;
        for name in ["once", "busy", "paused", "nightly"] {
            let new = new_jobs(recorded, &mut client, name)?;
            ensure!(new.is_empty(), "{name} started {new:?}");
        }
        cluster.stop(STOP_TIMEOUT)
    })
}

/// Lets the CronJob of a list run, suspends it, and compares its Jobs and counters with the recording.
fn check_continued(recorded: &RecordedData, client: &mut Client, list: &str) -> anyhow::Result<()> {
    let name = if list == CRON_JOBS { "tick" } else { "tock" };
    let before = recorded.object(list, name)?;
    probe::wait_for(&format!("three runs of {name}"), || {
        Ok(new_jobs(recorded, client, name)?.len() >= 3)
    })?;
    let after = suspend(client, list, name)?;
    let jobs = new_jobs(recorded, client, name)?;
    check_slots(before, &after, &jobs)?;
    let kept = jobs_of(client, name)?;
    let is_kept = |job: &&Value| kept.iter().any(|other| uid(other) == uid(job));
    let lost = recorded_jobs(recorded, name)?.into_iter().find(|job| !is_kept(job));
    ensure!(lost.is_none(), "a recorded Job was deleted: {lost:?}");
    Ok(())
}

/// Checks that every slot since the recording is counted once: it was started, skipped or missed.
fn check_slots(before: &Value, after: &Value, jobs: &[Value]) -> anyhow::Result<()> {
    let last = |object| -> anyhow::Result<Timestamp> {
        let last = text(object, "/status/lastScheduleTime");
        last.parse().with_context(|| format!("no last slot: {object}"))
    };
    let growth = |counter: &str| {
        let pointer = format!("/status/{counter}");
        number(after, &pointer) - number(before, &pointer)
    };
    let slots: HashSet<Timestamp> = jobs.iter().map(slot).collect();
    ensure!(slots.len() == jobs.len(), "a slot has two Jobs: {jobs:?}");
    let start = last(before)?;
    let wrong = slots.iter().find(|slot| {
        let seconds = slot.duration_since(start).as_secs();
        seconds <= 0 || seconds % INTERVAL != 0
    });
    ensure!(wrong.is_none(), "started the slot {wrong:?}, and the last one was {start}");
    let started = i64::try_from(jobs.len())?;
    ensure!(growth("successfulRuns") == started, "{started} runs: {after}, before {before}");
    let passed = last(after)?.duration_since(start).as_secs() / INTERVAL;
    let counted = started + growth("skippedRuns") + growth("missedRuns");
    ensure!(passed == counted, "{counted} of {passed} slots are counted: {after}, before {before}");
    Ok(())
}

/// The run that was active when the data was recorded has no process any more. It ends as failed and is
/// not repeated.
fn check_interrupted_run(recorded: &RecordedData, client: &mut Client) -> anyhow::Result<()> {
    let active = recorded.object(CRON_JOBS, "busy")?;
    let name = text(active, "/status/active/0/name");
    ensure!(!name.is_empty(), "no run was active: {active}");
    probe::wait_for("the interrupted run has failed", || {
        let job = client.get(&format!("{JOBS}/{name}"))?;
        let busy = client.get(&format!("{CRON_JOBS}/busy"))?;
        Ok(has_condition(&job, "Failed")
            && number(&busy, "/status/failedRuns") == 1
            && items(&busy, "/status/active").is_empty())
    })
}

/// The Jobs of a CronJob that are not in the recording.
fn new_jobs(
    recorded: &RecordedData,
    client: &mut Client,
    cron_job: &str,
) -> anyhow::Result<Vec<Value>> {
    let known: HashSet<&str> = recorded_jobs(recorded, cron_job)?.into_iter().map(uid).collect();
    let mut jobs = jobs_of(client, cron_job)?;
    jobs.retain(|job| !known.contains(uid(job)));
    Ok(jobs)
}

fn recorded_jobs<'a>(recorded: &'a RecordedData, cron_job: &str) -> anyhow::Result<Vec<&'a Value>> {
    let jobs = recorded.objects.get("/apis/batch/v1/jobs").and_then(Value::as_array);
    let jobs = jobs.context("no Jobs in the recording")?.iter();
    Ok(jobs.filter(|job| is_owned(job, cron_job)).collect())
}

/// Suspends a CronJob and waits until all its runs have succeeded. Returns it.
pub(super) fn suspend(client: &mut Client, list: &str, name: &str) -> anyhow::Result<Value> {
    let path = format!("{list}/{name}");
    client.patch(&path, &json!({ "spec": { "suspend": true } }))?;
    probe::wait_for(&format!("the runs of {name} have succeeded"), || {
        let jobs = jobs_of(client, name)?;
        let object = client.get(&path)?;
        Ok(jobs.iter().all(|job| has_condition(job, "Complete"))
            && items(&object, "/status/active").is_empty())
    })?;
    client.get(&path)
}

/// The Jobs of a CronJob.
pub(super) fn jobs_of(client: &mut Client, cron_job: &str) -> anyhow::Result<Vec<Value>> {
    let list = client.get(JOBS)?;
    Ok(items(&list, "/items").iter().filter(|job| is_owned(job, cron_job)).cloned().collect())
}

fn is_owned(job: &Value, cron_job: &str) -> bool {
    text(job, "/metadata/ownerReferences/0/name") == cron_job
}
