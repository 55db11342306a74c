//! What becomes of CronJobs and ScheduledJobs while nothing goes wrong. All checks run at the same time.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::life::{Kind, Life, count, is, number, text};
use super::rest;

pub(super) type Check = fn(&mut Life) -> anyhow::Result<()>;

/// What is checked for both kinds, each in a namespace of its own.
pub(super) const CHECKS: [(&str, Check); 14] = [
    ("runs", runs),
    ("failures", failures),
    ("allow", allow),
    ("forbid", forbid),
    ("replace", replace),
    ("catch-up", catch_up),
    ("suspend", suspend),
    ("history", history),
    ("zone", zone),
    ("foreign", foreign),
    ("cascade", cascade),
    ("still", still),
    ("ttl", ttl),
    ("quota", quota),
];

const SLOT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(key)).and_then(Value::as_str).unwrap_or_default()
}

fn runs(life: &mut Life) -> anyhow::Result<()> {
    life.create("tick", &["true"], &json!({ "schedule": "@every 3s" }))?;
    life.until("two runs have ended well", |life| {
        Ok(life.jobs("tick")?.iter().filter(|job| is(job, "Complete")).count() >= 2)
    })?;
    let jobs = life.jobs("tick")?;
    let owner = jobs.first().and_then(|job| job.pointer("/metadata/ownerReferences/0"));
    let owner = owner.context("no owner")?;
    ensure!(text(owner, "/apiVersion") == life.kind.api_version(), "owner {owner}");
    ensure!(owner.get("blockOwnerDeletion") == Some(&json!(true)), "owner {owner}");
    life.until("the success is in the status", |life| {
        let tick = life.get("tick")?;
        let counted = life.kind == Kind::CronJob || number(&tick, "/status/successfulRuns") >= 2;
        Ok(counted && !text(&tick, "/status/lastSuccessfulTime").is_empty())
    })?;
    life.until("it was told", |life| Ok(!life.events("tick", "SuccessfulCreate")?.is_empty()))?;
    let tick = life.get("tick")?;
    ensure!(!annotation(&tick, "punctual.dev/schedule-since").is_empty(), "{tick}");
    life.delete("tick").map(drop)
}

fn failures(life: &mut Life) -> anyhow::Result<()> {
    life.create("bad", &["false"], &json!({ "schedule": "@every 3s" }))?;
    life.until("a run has failed and was told", |life| {
        let told = life.events("bad", "SawCompletedJob")?;
        Ok(told.iter().any(|message| message.contains("condition: Failed")))
    })?;
    let bad = life.get("bad")?;
    let is_counted = life.kind == Kind::CronJob || number(&bad, "/status/failedRuns") > 0;
    ensure!(is_counted, "{bad}");
    life.delete("bad").map(drop)
}

fn allow(life: &mut Life) -> anyhow::Result<()> {
    life.create("beside", &["sleep", "600"], &json!({ "schedule": "@every 3s" }))?;
    life.until("two runs go on", |life| Ok(count(&life.get("beside")?, "/status/active") >= 2))?;
    life.delete("beside").map(drop)
}

fn forbid(life: &mut Life) -> anyhow::Result<()> {
    let spec = json!({ "schedule": "@every 3s", "concurrencyPolicy": "Forbid" });
    life.create("alone", &["sleep", "600"], &spec)?;
    life.until("it was told that a slot is passed over", |life| {
        Ok(!life.events("alone", "JobAlreadyActive")?.is_empty())
    })?;
    ensure!(life.jobs("alone")?.len() == 1, "two runs at a time");
    life.delete("alone").map(drop)
}

fn replace(life: &mut Life) -> anyhow::Result<()> {
    let spec = json!({ "schedule": "@every 4s", "concurrencyPolicy": "Replace" });
    life.create("last", &["sleep", "600"], &spec)?;
    life.until("a run goes on", |life| Ok(count(&life.get("last")?, "/status/active") == 1))?;
    let first = text(&life.get("last")?, "/status/active/0/name").to_owned();
    life.until("another run has taken its place", |life| {
        let active = life.get("last")?;
        let is_other = text(&active, "/status/active/0/name") != first;
        let path = format!("{}/{first}", life.jobs_path());
        Ok(is_other && count(&active, "/status/active") == 1 && !life.client.exists(&path)?)
    })?;
    life.delete("last").map(drop)
}

/// Every slot in turn, none beside another, though each run takes longer than the time between slots.
fn catch_up(life: &mut Life) -> anyhow::Result<()> {
    let policy = match life.kind {
        Kind::CronJob => json!({ "annotations": { "punctual.dev/concurrency-policy": "CatchUp" } }),
        Kind::ScheduledJob => json!({ "concurrencyPolicy": "CatchUp" }),
    };
    let mut spec = json!({ "schedule": "@every 2s", "successfulJobsHistoryLimit": 10 });
    if let (Some(spec), Some(policy)) = (spec.as_object_mut(), policy.as_object()) {
        spec.extend(policy.clone());
    }
    life.create("all", &["sleep", "3"], &spec)?;
    life.until("three runs have ended", |life| {
        let jobs = life.jobs("all")?;
        let running = jobs.iter().filter(|job| !is(job, "Complete")).count();
        ensure!(running <= 1, "{running} runs at a time");
        Ok(jobs.len() - running >= 3)
    })?;
    let jobs = life.jobs("all")?;
    let slots: Vec<i64> = jobs.iter().map(|job| seconds(annotation(job, SLOT))).collect();
    let gaps: Vec<i64> = slots.iter().zip(slots.iter().skip(1)).map(|(a, b)| b - a).collect();
    ensure!(gaps.iter().all(|gap| gap.rem_euclid(60) == 2), "slots {slots:?} are not in turn");
    life.delete("all").map(drop)
}

/// The seconds of the minute; the rest is not needed to see that slots follow one another.
fn seconds(slot: &str) -> i64 {
    slot.get(17..19).and_then(|text| text.parse().ok()).unwrap_or(-1)
}

fn suspend(life: &mut Life) -> anyhow::Result<()> {
    life.create("paused", &["true"], &json!({ "schedule": "@every 2s", "suspend": true }))?;
    rest(5);
    ensure!(life.jobs("paused")?.is_empty(), "a run of what is suspended");
    life.patch("paused", &json!({ "spec": { "suspend": false } }))?;
    life.until("a run after it was resumed", |life| Ok(!life.jobs("paused")?.is_empty()))?;
    life.patch("paused", &json!({ "spec": { "suspend": true } }))?;
    rest(2);
    let before = life.jobs("paused")?.len();
    rest(3);
    ensure!(life.jobs("paused")?.len() <= before, "a run of what was suspended again");
    life.delete("paused").map(drop)
}

fn history(life: &mut Life) -> anyhow::Result<()> {
    let spec = json!({ "schedule": "@every 2s", "successfulJobsHistoryLimit": 1 });
    life.create("short", &["true"], &spec)?;
    life.until("an old run was deleted", |life| {
        Ok(!life.events("short", "SuccessfulDelete")?.is_empty())
    })?;
    life.patch("short", &json!({ "spec": { "suspend": true } }))?;
    life.until("one is left", |life| Ok(life.jobs("short")?.len() == 1))?;
    life.delete("short").map(drop)
}

fn zone(life: &mut Life) -> anyhow::Result<()> {
    life.create("east", &["true"], &json!({ "schedule": "@every 3s", "timeZone": "Asia/Tokyo" }))?;
    life.until("a run", |life| Ok(!life.jobs("east")?.is_empty()))?;
    let jobs = life.jobs("east")?;
    let slot = jobs.first().map(|job| annotation(job, SLOT)).unwrap_or_default();
    ensure!(slot.ends_with("+09:00"), "the slot is {slot:?}");
    life.delete("east").map(drop)
}

/// A Job of somebody else's has the name of a slot: it is told, given up, and the next one is run.
fn foreign(life: &mut Life) -> anyhow::Result<()> {
    let named = life.create("named", &["true"], &json!({ "schedule": "@every 12s" }))?;
    let taken = taken_name(text(&named, "/metadata/creationTimestamp"), 12).context("no time")?;
    let pod =
        json!({ "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }] });
    let job = json!({ "metadata": { "name": taken }, "spec": { "template": { "spec": pod } } });
    let path = life.jobs_path();
    life.client.create(&path, &job)?;
    life.until("it was told that the name is taken", |life| {
        let told = life.events("named", "FailedCreate")?;
        Ok(told.iter().any(|message| message.contains("belongs to somebody else")))
    })?;
    life.until("the next slot is run", |life| Ok(!life.jobs("named")?.is_empty()))?;
    let named = life.get("named")?;
    match life.kind {
        Kind::CronJob => {
            ensure!(annotation(&named, "punctual.dev/missed").ends_with(" 1"), "{named}");
            ensure!(named.pointer("/status/missedRuns").is_none(), "{named}");
        }
        Kind::ScheduledJob => ensure!(number(&named, "/status/missedRuns") == 1, "{named}"),
    }
    life.delete("named").map(drop)
}

/// The name of the Job for the slot so many seconds after a time.
fn taken_name(since: &str, after: i64) -> Option<String> {
    let slot = since.parse::<jiff::Timestamp>().ok()?.as_second() + after;
    let number = if slot % 60 == 0 { slot / 60 } else { slot };
    Some(format!("named-{number}"))
}

fn cascade(life: &mut Life) -> anyhow::Result<()> {
    life.create("gone", &["sleep", "600"], &json!({ "schedule": "@every 2s" }))?;
    life.until("a run", |life| Ok(!life.jobs("gone")?.is_empty()))?;
    life.delete("gone")?;
    life.until("its Jobs are gone", |life| Ok(life.jobs("gone")?.is_empty()))?;
    rest(3);
    ensure!(life.jobs("gone")?.is_empty(), "a run after the deletion");
    Ok(())
}

/// Once nothing is due, nothing is written.
fn still(life: &mut Life) -> anyhow::Result<()> {
    life.create("yearly", &["true"], &json!({ "schedule": "0 0 1 1 *" }))?;
    life.create("done", &["true"], &json!({ "schedule": "@every 2s" }))?;
    life.until("a run has ended", |life| {
        Ok(!text(&life.get("done")?, "/status/lastSuccessfulTime").is_empty())
    })?;
    life.patch("done", &json!({ "spec": { "suspend": true } }))?;
    life.until("nothing runs", |life| {
        let jobs = life.jobs("done")?;
        Ok(jobs.iter().all(|job| is(job, "Complete"))
            && count(&life.get("done")?, "/status/active") == 0)
    })?;
    rest(3);
    let versions = |life: &mut Life| -> anyhow::Result<Vec<String>> {
        let both = [life.get("yearly")?, life.get("done")?];
        Ok(both.iter().map(|one| text(one, "/metadata/resourceVersion").to_owned()).collect())
    };
    let before = versions(life)?;
    rest(10);
    let after = versions(life)?;
    ensure!(before == after, "written at rest: {before:?} became {after:?}");
    Ok(())
}

/// Jobs with a time to live carry a finalizer of ours until their slot is recorded, and then go.
fn ttl(life: &mut Life) -> anyhow::Result<()> {
    life.create("brief", &["true"], &json!({ "schedule": "@every 3s", "ttl": 0 }))?;
    life.until("a run", |life| Ok(!life.jobs("brief")?.is_empty()))?;
    life.patch("brief", &json!({ "spec": { "suspend": true } }))?;
    life.until("it has expired", |life| Ok(life.jobs("brief")?.is_empty()))?;
    let brief = life.get("brief")?;
    ensure!(!text(&brief, "/status/lastScheduleTime").is_empty(), "not recorded: {brief}");
    Ok(())
}

/// A quota refuses the Job: it is told, and tried again until there is room.
fn quota(life: &mut Life) -> anyhow::Result<()> {
    let quotas = format!("/api/v1/namespaces/{}/resourcequotas", life.namespace);
    let hard = |jobs: &str| json!({ "count/jobs.batch": jobs });
    let quota = json!({ "metadata": { "name": "jobs" }, "spec": { "hard": hard("0") } });
    life.client.create(&quotas, &quota)?;
    let status = json!({ "status": { "hard": hard("0"), "used": hard("0") } });
    life.client.patch(&format!("{quotas}/jobs/status"), &status)?;
    let spec = json!({ "schedule": "@every 4s", "concurrencyPolicy": "Forbid" });
    life.create("poor", &["sleep", "600"], &spec)?;
    life.until("the refusal was told", |life| {
        let told = life.events("poor", "FailedCreate")?;
        Ok(told.iter().any(|message| message.contains("exceeded quota")))
    })?;
    life.client.delete(&format!("{quotas}/jobs"))?;
    life.until("it is run when there is room", |life| Ok(!life.jobs("poor")?.is_empty()))?;
    life.delete("poor").map(drop)
}
