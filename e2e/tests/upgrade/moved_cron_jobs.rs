//! The CronJobs that move between controllers, and what must be true of them.

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_e2e::{
    Client,
    json::{has_condition, items, text},
};
use serde_json::{Value, json};

use super::job_observer::JobObserver;

const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
/// A schedule without a slot during the test.
const LEAP_DAY: &str = "0 0 29 2 *";
/// The longest delay after which `strict` starts.
pub(super) const STRICT_DEADLINE_SECONDS: i64 = 3;

/// The CronJobs that start a Job for every slot.
const EACH_SLOT: [&str; 5] = ["steady", "failing", "short", "newest", "brief"];
/// The CronJobs whose Jobs are deleted: by the history limit, by Replace, and by their TTL.
const DELETED: [&str; 3] = ["short", "newest", "brief"];

/// Creates all CronJobs.
pub(super) fn create(client: &mut Client) -> anyhow::Result<()> {
    let each_minute = "* * * * *";
    let keep_all = json!({ "successfulJobsHistoryLimit": 10, "failedJobsHistoryLimit": 10 });
    for (name, schedule, command, more) in [
        ("steady", each_minute, "true", keep_all.clone()),
        ("failing", each_minute, "false", keep_all.clone()),
        ("short", each_minute, "true", json!({ "successfulJobsHistoryLimit": 1 })),
        ("busy", each_minute, "sleep 600", json!({ "concurrencyPolicy": "Forbid" })),
        ("newest", each_minute, "sleep 600", json!({ "concurrencyPolicy": "Replace" })),
        ("brief", each_minute, "true", keep_all),
        ("paused", each_minute, "true", json!({ "suspend": true })),
        (
            "strict",
            each_minute,
            "true",
            json!({ "startingDeadlineSeconds": STRICT_DEADLINE_SECONDS }),
        ),
        ("edited", LEAP_DAY, "true", json!({})),
    ] {
        let command: Vec<&str> = command.split(' ').collect();
        let container = json!({ "name": "main", "image": "none", "command": command });
        let pod = json!({ "restartPolicy": "Never", "containers": [container] });
        let mut job = json!({ "backoffLimit": 0, "template": { "spec": pod } });
        if name == "brief" {
            set(&mut job, "ttlSecondsAfterFinished", json!(1));
        }
        let mut spec = json!({ "schedule": schedule, "jobTemplate": { "spec": job } });
        for (field, value) in more.as_object().context("fields")? {
            set(&mut spec, field, value.clone());
        }
        client.create(CRON_JOBS, &json!({ "metadata": { "name": name }, "spec": spec }))?;
    }
    Ok(())
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}

/// Gives `edited` a schedule whose latest slot is this one, which has passed.
pub(super) fn edit(client: &mut Client, passed: Timestamp) -> anyhow::Result<()> {
    let minute = passed.as_second().div_euclid(60).rem_euclid(60);
    let patch = json!({ "spec": { "schedule": format!("{minute} * * * *") } });
    client.patch(&format!("{CRON_JOBS}/edited"), &patch).map(drop)
}

/// The first slot of the CronJob that was created last.
pub(super) fn first_slot(observer: &JobObserver) -> anyhow::Result<Timestamp> {
    let created = created_at(observer, "edited")?;
    let minutes = created.as_second().div_euclid(60) + 1;
    Ok(Timestamp::from_second(minutes * 60)?)
}

fn created_at(observer: &JobObserver, name: &str) -> anyhow::Result<Timestamp> {
    let created = text(observer.cron_job(name), "/metadata/creationTimestamp");
    created.parse().with_context(|| format!("{name} is not observed"))
}

/// Whether the controller has done everything for a slot.
pub(super) fn is_slot_done(observer: &JobObserver, slot: Timestamp) -> bool {
    let slot = slot.to_string();
    let status = |name: &str, field: &str| {
        text(observer.cron_job(name), &format!("/status/{field}")).to_owned()
    };
    let active = |name: &str| items(observer.cron_job(name), "/status/active").len();
    let all_have = |name: &str, condition: &str| {
        observer.jobs(name).iter().all(|job| has_condition(job, condition))
    };
    EACH_SLOT.iter().all(|name| status(name, "lastScheduleTime") == slot)
        && ["steady", "short"].iter().all(|name| status(name, "lastSuccessfulTime") >= slot)
        && all_have("steady", "Complete")
        && all_have("failing", "Failed")
        && ["steady", "failing", "short", "brief"].iter().all(|name| active(name) == 0)
        && ["busy", "newest"].iter().all(|name| active(name) == 1)
        && ["short", "newest"].iter().all(|name| observer.jobs(name).len() == 1)
        && observer.jobs("brief").is_empty()
}

/// Checks that the Job which `busy` started for its first slot is still the active one.
pub(super) fn check_active_job(observer: &JobObserver) -> anyhow::Result<()> {
    let jobs = observer.jobs("busy");
    let job = jobs.first().context("busy has no Job")?;
    let active = text(observer.cron_job("busy"), "/status/active/0/uid");
    ensure!(jobs.len() == 1 && text(job, "/metadata/uid") == active, "busy: {active} in {jobs:?}");
    Ok(())
}

/// Checks everything that was observed up to the last slot. No controller ran at the slots in
/// `unattended`.
pub(super) fn check_all(
    observer: &JobObserver,
    last: Timestamp,
    unattended: &[Timestamp],
) -> anyhow::Result<()> {
    for name in EACH_SLOT {
        let want = slots_until(created_at(observer, name)?, last)?;
        let slots = observer.slots(name);
        ensure!(slots == want, "{name} started {slots:?}, not {want:?}");
    }
    for name in ["steady", "failing"] {
        let kept = observer.jobs(name).len();
        ensure!(kept == observer.slots(name).len(), "{name} kept only {kept} Jobs");
    }
    ensure!(observer.slots("busy").len() == 1, "busy started {:?}", observer.slots("busy"));
    for name in ["paused", "edited"] {
        ensure!(observer.slots(name).is_empty(), "{name} started {:?}", observer.slots(name));
    }
    let strict = observer.slots("strict");
    let late = strict.iter().find(|slot| unattended.contains(slot));
    ensure!(late.is_none(), "strict started {late:?} after its deadline");
    let other = observer.owners_of_deleted().into_iter().find(|owner| !DELETED.contains(owner));
    ensure!(other.is_none(), "a Job of {other:?} was deleted");
    ensure!(observer.regressions().is_empty(), "{:?}", observer.regressions());
    Ok(())
}

/// All whole minutes after the creation, up to the last slot.
fn slots_until(created: Timestamp, last: Timestamp) -> anyhow::Result<Vec<Timestamp>> {
    let mut slots = Vec::new();
    let mut slot = last;
    while slot > created {
        slots.push(slot);
        slot = slot.checked_sub(SignedDuration::from_mins(1))?;
    }
    slots.reverse();
    Ok(slots)
}
