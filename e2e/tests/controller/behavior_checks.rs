//! Checks of CronJobs and ScheduledJobs without faults. All checks run at the same time.

use anyhow::{Context, ensure};
use punctual_e2e::{
    harness::NamedCheck,
    json::{annotation, has_condition, items, number, slot, slot_text, text},
    load::clock::wall_time,
    probe::sleep_seconds,
};
use serde_json::{Value, json};

use super::test_namespace::{ScheduledKind, TestNamespace};

/// The checks. Each runs for both kinds, in a namespace of its own.
pub(super) const CHECKS: [NamedCheck<TestNamespace>; 17] = [
    ("runs", runs),
    ("failures", failures),
    ("allow", allow),
    ("forbid", forbid),
    ("replace", replace),
    ("catch-up", catch_up),
    ("suspend", suspend),
    ("suspend-until", suspend_until),
    ("ledger", ledger),
    ("history", history),
    ("zone", zone),
    ("foreign", foreign),
    ("cascade", cascade),
    ("idle", idle),
    ("ttl", ttl),
    ("quota", quota),
    ("pending-deadline", pending_deadline),
];

fn runs(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("tick", &["true"], &json!({ "schedule": "@every 3s" }))?;
    namespace.wait_for("two Jobs have completed", |namespace| {
        Ok(namespace.jobs("tick")?.iter().filter(|job| has_condition(job, "Complete")).count() >= 2)
    })?;
    let jobs = namespace.jobs("tick")?;
    let owner = jobs.first().and_then(|job| job.pointer("/metadata/ownerReferences/0"));
    let owner = owner.context("no owner")?;
    ensure!(text(owner, "/apiVersion") == namespace.kind.api_version(), "owner {owner}");
    ensure!(owner.get("blockOwnerDeletion") == Some(&json!(true)), "owner {owner}");
    namespace.wait_for("the status has the success", |namespace| {
        let tick = namespace.get("tick")?;
        let counted = namespace.kind == ScheduledKind::CronJob
            || number(&tick, "/status/successfulRuns") >= 2;
        Ok(counted && !text(&tick, "/status/lastSuccessfulTime").is_empty())
    })?;
    namespace.wait_for("there is an event", |namespace| {
        Ok(!namespace.events("tick", "SuccessfulCreate")?.is_empty())
    })?;
    let tick = namespace.get("tick")?;
    ensure!(!annotation(&tick, "punctual.dev/schedule-since").is_empty(), "{tick}");
    namespace.delete("tick").map(drop)
}

fn failures(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("bad", &["false"], &json!({ "schedule": "@every 3s" }))?;
    namespace.wait_for("there is an event about a failed Job", |namespace| {
        let messages = namespace.events("bad", "SawCompletedJob")?;
        Ok(messages.iter().any(|message| message.contains("condition: Failed")))
    })?;
    let bad = namespace.get("bad")?;
    let is_counted =
        namespace.kind == ScheduledKind::CronJob || number(&bad, "/status/failedRuns") > 0;
    ensure!(is_counted, "{bad}");
    namespace.delete("bad").map(drop)
}

fn allow(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("parallel", &["sleep", "600"], &json!({ "schedule": "@every 3s" }))?;
    namespace.wait_for("two Jobs are active", |namespace| {
        Ok(items(&namespace.get("parallel")?, "/status/active").len() >= 2)
    })?;
    namespace.delete("parallel").map(drop)
}

fn forbid(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    let spec = json!({ "schedule": "@every 3s", "concurrencyPolicy": "Forbid" });
    namespace.create("single", &["sleep", "600"], &spec)?;
    namespace.wait_for("there is an event about a skipped slot", |namespace| {
        Ok(!namespace.events("single", "JobAlreadyActive")?.is_empty())
    })?;
    ensure!(namespace.jobs("single")?.len() == 1, "two Jobs at a time");
    namespace.delete("single").map(drop)
}

fn replace(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    let spec = json!({ "schedule": "@every 4s", "concurrencyPolicy": "Replace" });
    namespace.create("newest", &["sleep", "600"], &spec)?;
    namespace.wait_for("a Job is active", |namespace| {
        Ok(items(&namespace.get("newest")?, "/status/active").len() == 1)
    })?;
    let first = text(&namespace.get("newest")?, "/status/active/0/name").to_owned();
    namespace.wait_for("another Job has replaced it", |namespace| {
        let active = namespace.get("newest")?;
        let is_other = text(&active, "/status/active/0/name") != first;
        let path = format!("{}/{first}", namespace.jobs_path());
        Ok(is_other
            && items(&active, "/status/active").len() == 1
            && !namespace.client.exists(&path)?)
    })?;
    namespace.delete("newest").map(drop)
}

/// CatchUp runs every slot in order, one at a time, although a run takes longer than the interval.
fn catch_up(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    let policy = match namespace.kind {
        ScheduledKind::CronJob => {
            json!({ "annotations": { "punctual.dev/concurrency-policy": "CatchUp" } })
        }
        ScheduledKind::ScheduledJob => json!({ "concurrencyPolicy": "CatchUp" }),
    };
    let mut spec = json!({ "schedule": "@every 2s", "successfulJobsHistoryLimit": 10 });
    if let (Some(spec), Some(policy)) = (spec.as_object_mut(), policy.as_object()) {
        spec.extend(policy.clone());
    }
    namespace.create("all", &["sleep", "3"], &spec)?;
    namespace.wait_for("three Jobs have completed", |namespace| {
        let jobs = namespace.jobs("all")?;
        let running = jobs.iter().filter(|job| !has_condition(job, "Complete")).count();
        ensure!(running <= 1, "{running} Jobs at a time");
        Ok(jobs.len() - running >= 3)
    })?;
    let jobs = namespace.jobs("all")?;
    let slots = jobs.iter().map(|job| Ok(slot_text(job).parse::<jiff::Timestamp>()?.as_second()));
    let mut slots = slots.collect::<anyhow::Result<Vec<i64>>>()?;
    // The list is in the order of names, which is not that of slots: the name for a full minute has
    // a smaller number.
    slots.sort_unstable();
    let is_consecutive = slots.windows(2).all(|pair| matches!(pair, [a, b] if b - a == 2));
    ensure!(is_consecutive, "slots {slots:?} are not consecutive");
    namespace.delete("all").map(drop)
}

fn suspend(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("paused", &["true"], &json!({ "schedule": "@every 2s", "suspend": true }))?;
    sleep_seconds(5);
    ensure!(namespace.jobs("paused")?.is_empty(), "a suspended object has a Job");
    namespace.patch("paused", &json!({ "spec": { "suspend": false } }))?;
    namespace.wait_for("a Job is created after resuming", |namespace| {
        Ok(!namespace.jobs("paused")?.is_empty())
    })?;
    namespace.patch("paused", &json!({ "spec": { "suspend": true } }))?;
    sleep_seconds(2);
    let before = namespace.jobs("paused")?.len();
    sleep_seconds(3);
    ensure!(namespace.jobs("paused")?.len() <= before, "a Job was created after suspending again");
    namespace.delete("paused").map(drop)
}

/// The controller resumes the object at the end of its suspension, with the permissions of the chart.
fn suspend_until(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("resumed", &["true"], &json!({ "schedule": "@every 2s", "suspend": true }))?;
    let until = wall_time() + jiff::SignedDuration::from_secs(4);
    let annotations = json!({
        "punctual.dev/suspended-until": until.to_string(), "punctual.dev/suspended-reason": "test",
    });
    namespace.patch("resumed", &json!({ "metadata": { "annotations": annotations } }))?;
    namespace.wait_for("a Job is created after the suspension", |namespace| {
        Ok(!namespace.jobs("resumed")?.is_empty())
    })?;
    let resumed = namespace.get("resumed")?;
    ensure!(resumed.pointer("/spec/suspend") == Some(&json!(false)), "{resumed}");
    ensure!(annotation(&resumed, "punctual.dev/suspended-reason").is_empty(), "{resumed}");
    let jobs = namespace.jobs("resumed")?;
    let slots = jobs.iter().filter_map(slot);
    let earliest = until - jiff::SignedDuration::from_secs(3);
    ensure!(slots.min().is_some_and(|first| first > earliest), "{jobs:?}");
    namespace.delete("resumed").map(drop)
}

/// A ScheduledJob has the newest slot records in its status. A CronJob has no room for them.
fn ledger(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("recorded", &["true"], &json!({ "schedule": "@every 1s" }))?;
    namespace.wait_for("twelve Jobs have completed", |namespace| {
        let recorded = namespace.get("recorded")?;
        let last = namespace.events("recorded", "SawCompletedJob")?.len();
        let is_counted = number(&recorded, "/status/successfulRuns") >= 12;
        Ok(is_counted || namespace.kind == ScheduledKind::CronJob && last >= 1)
    })?;
    namespace.patch("recorded", &json!({ "spec": { "suspend": true } }))?;
    let recorded = namespace.get("recorded")?;
    let records = items(&recorded, "/status/slots");
    match namespace.kind {
        ScheduledKind::CronJob => ensure!(records.is_empty(), "{recorded}"),
        ScheduledKind::ScheduledJob => {
            ensure!((10..=12).contains(&records.len()), "{recorded}");
            let is_complete = |record: &Value| {
                text(record, "/decision") != "Started" || !text(record, "/job/uid").is_empty()
            };
            ensure!(records.iter().all(is_complete), "{recorded}");
            let succeeded = records.iter().filter(|record| text(record, "/result") == "Succeeded");
            ensure!(succeeded.count() >= 5, "{recorded}");
        }
    }
    namespace.delete("recorded").map(drop)
}

fn history(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    let spec = json!({ "schedule": "@every 2s", "successfulJobsHistoryLimit": 1 });
    namespace.create("short", &["true"], &spec)?;
    namespace.wait_for("an old Job was deleted", |namespace| {
        Ok(!namespace.events("short", "SuccessfulDelete")?.is_empty())
    })?;
    namespace.patch("short", &json!({ "spec": { "suspend": true } }))?;
    namespace.wait_for("one Job is left", |namespace| Ok(namespace.jobs("short")?.len() == 1))?;
    namespace.delete("short").map(drop)
}

fn zone(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create(
        "east",
        &["true"],
        &json!({ "schedule": "@every 3s", "timeZone": "Asia/Tokyo" }),
    )?;
    namespace.wait_for("a Job is created", |namespace| Ok(!namespace.jobs("east")?.is_empty()))?;
    let jobs = namespace.jobs("east")?;
    let slot = jobs.first().map(slot_text).unwrap_or_default();
    ensure!(slot.ends_with("+09:00"), "the slot is {slot:?}");
    namespace.delete("east").map(drop)
}

/// Another owner's Job has the name of a slot's Job: the slot is missed with an event, and the next
/// slot runs.
fn foreign(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    let named = namespace.create("named", &["true"], &json!({ "schedule": "@every 12s" }))?;
    let taken =
        taken_name(text(&named, "/metadata/creationTimestamp"), 12).context("no creation time")?;
    let pod =
        json!({ "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }] });
    let job = json!({ "metadata": { "name": taken }, "spec": { "template": { "spec": pod } } });
    let path = namespace.jobs_path();
    namespace.client.create(&path, &job)?;
    namespace.wait_for("there is an event about the taken name", |namespace| {
        let messages = namespace.events("named", "FailedCreate")?;
        Ok(messages
            .iter()
            .any(|message| message.contains("already exists and is not controlled by")))
    })?;
    namespace
        .wait_for("the next slot runs", |namespace| Ok(!namespace.jobs("named")?.is_empty()))?;
    let named = namespace.get("named")?;
    match namespace.kind {
        ScheduledKind::CronJob => {
            ensure!(annotation(&named, "punctual.dev/missed").ends_with(" 1"), "{named}");
            ensure!(named.pointer("/status/missedRuns").is_none(), "{named}");
        }
        ScheduledKind::ScheduledJob => {
            ensure!(number(&named, "/status/missedRuns") == 1, "{named}")
        }
    }
    namespace.delete("named").map(drop)
}

/// The name of the Job for the slot that is `after` seconds after a time.
fn taken_name(since: &str, after: i64) -> Option<String> {
    let slot = since.parse::<jiff::Timestamp>().ok()?.as_second() + after;
    let number = if slot % 60 == 0 { slot / 60 } else { slot };
    Some(format!("named-{number}"))
}

fn cascade(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("deleted", &["sleep", "600"], &json!({ "schedule": "@every 2s" }))?;
    namespace
        .wait_for("a Job is created", |namespace| Ok(!namespace.jobs("deleted")?.is_empty()))?;
    namespace.delete("deleted")?;
    namespace
        .wait_for("its Jobs are deleted", |namespace| Ok(namespace.jobs("deleted")?.is_empty()))?;
    sleep_seconds(3);
    ensure!(namespace.jobs("deleted")?.is_empty(), "a Job was created after the deletion");
    Ok(())
}

/// The controller writes nothing while nothing is due.
fn idle(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("yearly", &["true"], &json!({ "schedule": "0 0 1 1 *" }))?;
    namespace.create("done", &["true"], &json!({ "schedule": "@every 2s" }))?;
    namespace.wait_for("a Job has completed", |namespace| {
        Ok(!text(&namespace.get("done")?, "/status/lastSuccessfulTime").is_empty())
    })?;
    namespace.patch("done", &json!({ "spec": { "suspend": true } }))?;
    namespace.wait_for("no Job is active", |namespace| {
        let jobs = namespace.jobs("done")?;
        Ok(jobs.iter().all(|job| has_condition(job, "Complete"))
            && items(&namespace.get("done")?, "/status/active").is_empty())
    })?;
    sleep_seconds(3);
    let versions = |namespace: &mut TestNamespace| -> anyhow::Result<Vec<String>> {
        let both = [namespace.get("yearly")?, namespace.get("done")?];
        Ok(both.iter().map(|one| text(one, "/metadata/resourceVersion").to_owned()).collect())
    };
    let before = versions(namespace)?;
    sleep_seconds(10);
    let after = versions(namespace)?;
    ensure!(before == after, "written while idle: {before:?} became {after:?}");
    Ok(())
}

/// A Job with a TTL has our finalizer until its slot is recorded, and is deleted then.
fn ttl(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    namespace.create("brief", &["true"], &json!({ "schedule": "@every 3s", "ttl": 0 }))?;
    namespace.wait_for("a Job is created", |namespace| Ok(!namespace.jobs("brief")?.is_empty()))?;
    namespace.patch("brief", &json!({ "spec": { "suspend": true } }))?;
    namespace
        .wait_for("the Job has expired", |namespace| Ok(namespace.jobs("brief")?.is_empty()))?;
    let brief = namespace.get("brief")?;
    ensure!(!text(&brief, "/status/lastScheduleTime").is_empty(), "not recorded: {brief}");
    Ok(())
}

/// A quota rejects the Job: there is an event, the slot is missed after its deadline, and without a
/// deadline the controller retries until the quota allows the Job.
fn quota(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    let quotas = format!("/api/v1/namespaces/{}/resourcequotas", namespace.name);
    let hard = |jobs: &str| json!({ "count/jobs.batch": jobs });
    let quota = json!({ "metadata": { "name": "jobs" }, "spec": { "hard": hard("0") } });
    namespace.client.create(&quotas, &quota)?;
    let status = json!({ "status": { "hard": hard("0"), "used": hard("0") } });
    namespace.client.patch(&format!("{quotas}/jobs/status"), &status)?;
    let spec = json!({ "schedule": "@every 4s", "concurrencyPolicy": "Forbid" });
    namespace.create("limited", &["sleep", "600"], &spec)?;
    namespace.wait_for("there is an event about the quota", |namespace| {
        let messages = namespace.events("limited", "FailedCreate")?;
        Ok(messages.iter().any(|message| message.contains("exceeded quota")))
    })?;
    let spec = json!({ "schedule": "@every 4s", "startingDeadlineSeconds": 2 });
    namespace.create("late", &["true"], &spec)?;
    namespace.wait_for("a slot is missed after its deadline", |namespace| {
        Ok(!namespace.events("late", "MissSchedule")?.is_empty())
    })?;
    ensure!(namespace.jobs("late")?.is_empty(), "a Job exceeds the quota");
    namespace.delete("late")?;
    namespace.client.delete(&format!("{quotas}/jobs"))?;
    namespace.wait_for("a Job is created when the quota allows it", |namespace| {
        Ok(!namespace.jobs("limited")?.is_empty())
    })?;
    namespace.delete("limited").map(drop)
}

/// A run whose Pods never start fails after the pending deadline, and the next run starts. A run with a
/// ready Pod continues.
fn pending_deadline(namespace: &mut TestNamespace) -> anyhow::Result<()> {
    let deadline = match namespace.kind {
        ScheduledKind::CronJob => {
            json!({ "annotations": { "punctual.dev/pending-deadline-seconds": "2" } })
        }
        ScheduledKind::ScheduledJob => json!({ "pendingDeadlineSeconds": 2 }),
    };
    let mut spec = json!({ "schedule": "@every 3s", "concurrencyPolicy": "Forbid" });
    if let (Some(spec), Some(deadline)) = (spec.as_object_mut(), deadline.as_object()) {
        spec.extend(deadline.clone());
    }
    namespace.create("busy", &["sleep", "600"], &spec)?;
    namespace.create("stuck", &["never"], &spec)?;
    namespace.wait_for("a run is given up", |namespace| {
        Ok(!namespace.events("stuck", "PendingDeadlineExceeded")?.is_empty())
    })?;
    namespace.wait_for("the run has failed, and the next one has started", |namespace| {
        let jobs = namespace.jobs("stuck")?;
        let failed = jobs.iter().filter(|job| has_condition(job, "Failed")).count();
        ensure!(jobs.len() - failed <= 1, "two runs at a time: {jobs:?}");
        Ok(failed >= 1 && jobs.len() > failed)
    })?;
    namespace.wait_for("the other run is ready", |namespace| {
        let jobs = namespace.jobs("busy")?;
        Ok(jobs.iter().any(|job| number(job, "/status/ready") == 1))
    })?;
    sleep_seconds(4);
    let busy = namespace.jobs("busy")?;
    ensure!(busy.len() == 1, "the run with a ready Pod was given up: {busy:?}");
    let is_given_up = |job: &Value| job.pointer("/spec/activeDeadlineSeconds").is_some();
    ensure!(!busy.iter().any(is_given_up), "the run with a ready Pod has a deadline: {busy:?}");
    namespace.delete("busy")?;
    namespace.delete("stuck").map(drop)
}
