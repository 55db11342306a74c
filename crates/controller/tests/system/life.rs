//! What becomes of a CronJob over the minutes.

use serde_json::{Value, json};

use crate::world::{JOBS, World, slot, template};

#[tokio::test]
async fn a_slot_becomes_a_job_that_is_listed_and_then_counted() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    let found = world.until_next("a", "08:01:00").await;
    assert_eq!(found["status"]["active"], Value::Null);
    world.set("08:01:00");
    let found = world.until_next("a", "08:02:00").await;
    let name = format!("a-{}", slot("08:01:00"));
    assert_eq!(found["status"]["active"][0]["name"], name);
    assert_eq!(found["status"]["lastScheduleTime"], "2026-01-31T08:01:00Z");
    let job = world.send("GET", &format!("{JOBS}/{name}"), &Value::Null).await.unwrap();
    let mark = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    assert_eq!(job["metadata"]["annotations"][mark], "2026-01-31T08:01:00Z");
    assert_eq!(job["spec"]["template"]["metadata"]["annotations"][mark], "2026-01-31T08:01:00Z");
    assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], found["metadata"]["uid"]);
    world.set("08:01:20");
    world.finish(&name, "Complete").await;
    let found = world.until("a", |found| found["status"]["active"] == Value::Null).await;
    assert_eq!(found["status"]["successfulRuns"], 1);
    assert_eq!(found["status"]["lastSuccessfulTime"], "2026-01-31T08:01:20Z");
}

#[tokio::test]
async fn nothing_is_written_once_nothing_is_due() {
    let mut world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    let before = world.store.revision();
    // A new controller that finds another CronJob has looked at everything there is.
    world.kill().await;
    world.start();
    world.cron_job("b", json!({"schedule": "* * * * *"})).await;
    world.until_next("b", "08:02:00").await;
    let key = "/cronjobs.batch/default/b";
    assert_eq!(world.written(before), [key, key], "the new one and its status");
}

#[tokio::test]
async fn forbid_waits_for_the_run_before() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "Forbid"})).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    world.set("08:02:30");
    world.until_next("a", "08:03:00").await;
    assert_eq!(world.jobs("a"), [slot("08:01:00")]);
    world.finish(&format!("a-{}", slot("08:01:00")), "Failed").await;
    world.until_jobs("a", &[&slot("08:01:00"), &slot("08:02:00")]).await;
    let found = world.until("a", |found| found["status"]["failedRuns"] == 1).await;
    assert_eq!(found["status"]["failuresSinceSuccess"], 1);
}

#[tokio::test]
async fn replace_makes_room() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "Replace"})).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    world.set("08:02:00");
    let found = world.until_next("a", "08:03:00").await;
    assert_eq!(world.jobs("a"), [slot("08:02:00")]);
    assert_eq!(found["status"]["active"].as_array().unwrap().len(), 1);
    assert_eq!(found["status"]["failedRuns"], Value::Null);
}

#[tokio::test]
async fn catch_up_runs_every_slot_in_order() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "CatchUp"})).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:04:30");
    for time in ["08:01:00", "08:02:00", "08:03:00", "08:04:00"] {
        let name = format!("a-{}", slot(time));
        world.until("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
        world.finish(&name, "Complete").await;
    }
    let found = world.until("a", |found| found["status"]["active"] == Value::Null).await;
    assert_eq!(found["status"]["successfulRuns"], 4);
    // The history limit is three.
    world.until_jobs("a", &[&slot("08:02:00"), &slot("08:03:00"), &slot("08:04:00")]).await;
}

#[tokio::test]
async fn a_suspended_one_starts_nothing_and_goes_on_when_it_is_resumed() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *", "suspend": true})).await;
    let settled = |found: &Value| found["status"]["conditions"] != Value::Null;
    world.until("a", settled).await;
    world.set("08:03:10");
    world.cron_job("b", json!({"schedule": "* * * * *"})).await;
    world.until_next("b", "08:04:00").await;
    assert_eq!(world.jobs("a"), [""; 0]);
    world.change("a", json!({"spec": {"suspend": false}})).await;
    world.until_next("a", "08:04:00").await;
    assert_eq!(world.jobs("a"), [slot("08:03:00")]);
}

#[tokio::test]
async fn a_run_that_was_deleted_leaves_the_list() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    let path = format!("{JOBS}/a-{}?propagationPolicy=Background", slot("08:01:00"));
    world.send("DELETE", &path, &Value::Null).await.unwrap();
    world.until("a", |found| found["status"]["active"] == Value::Null).await;
    assert_eq!(world.jobs("a"), [""; 0], "and is not run again");
}

#[tokio::test]
async fn an_edited_schedule_starts_nothing_of_the_past() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "0 9 * * *"})).await;
    world.until_next("a", "09:00:00").await;
    world.set("08:30:00");
    world.change("a", json!({"spec": {"schedule": "15 * * * *"}})).await;
    world.until_next("a", "09:15:00").await;
    assert_eq!(world.jobs("a"), [""; 0]);
}

#[tokio::test]
async fn a_slot_past_its_deadline_is_missed_and_told() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 60})).await;
    world.until_next("a", "09:00:00").await;
    world.set("09:01:30");
    let found = world.until_next("a", "10:00:00").await;
    assert_eq!(found["status"]["missedRuns"], 1);
    assert_eq!(found["status"]["lastMissedTime"], "2026-01-31T09:00:00Z");
    assert_eq!(world.jobs("a"), [""; 0]);
}

#[tokio::test]
async fn a_job_that_was_held_is_let_go_with_its_cron_job() {
    let world = World::at("08:00:10").await;
    let spec = json!({"schedule": "* * * * *",
        "jobTemplate": template(json!({"ttlSecondsAfterFinished": 0}))});
    let made = world.cron_job("a", spec).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    let path = format!("{JOBS}/a-{}", slot("08:01:00"));
    let job = world.send("GET", &path, &Value::Null).await.unwrap();
    assert_eq!(job["metadata"]["finalizers"][0], "punctual.dev/slot-recorded");
    world
        .send("DELETE", &format!("{path}?propagationPolicy=Background"), &Value::Null)
        .await
        .unwrap();
    world.until_jobs("a", &[]).await;
    // The same when the CronJob goes first.
    world.set("08:02:00");
    world.until_next("a", "08:03:00").await;
    let (name, uid) = (&made["metadata"]["name"], &made["metadata"]["uid"]);
    world
        .send(
            "DELETE",
            "/apis/batch/v1/namespaces/default/cronjobs/a",
            &json!({"preconditions": {"uid": uid}}),
        )
        .await
        .unwrap();
    let path = format!("{JOBS}/{}-{}", name.as_str().unwrap(), slot("08:02:00"));
    world
        .send("DELETE", &format!("{path}?propagationPolicy=Background"), &Value::Null)
        .await
        .unwrap();
    world.until_jobs("a", &[]).await;
}

#[tokio::test]
async fn our_own_kind_is_served_the_same_way() {
    let world = World::at("08:00:10").await;
    let object = json!({"apiVersion": "punctual.dev/v1", "kind": "ScheduledJob",
        "metadata": {"name": "s"}, "spec": {"schedule": "@at 2026-01-31T08:05:00Z",
        "jobTemplate": template(json!({}))}});
    let path = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
    world.send("POST", path, &object).await.unwrap();
    world.set("08:05:00");
    world.until_jobs("s", &[&slot("08:05:00")]).await;
    world.finish(&format!("s-{}", slot("08:05:00")), "Complete").await;
    let mut watch =
        world.store.watch("/scheduledjobs.punctual.dev/", world.store.revision()).unwrap();
    let path = format!("{path}/s");
    loop {
        let found = world.send("GET", &path, &Value::Null).await.unwrap();
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|c| c["type"] == "Complete" && c["status"] == "True") {
            break;
        }
        watch.next().await.unwrap();
    }
}

#[tokio::test]
async fn a_run_that_is_given_away_blocks_nobody_once_it_is_gone() {
    let world = World::at("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "Forbid"})).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    let path = format!("{JOBS}/a-{}", slot("08:01:00"));
    let orphan = json!({"metadata": {"ownerReferences": null}});
    world.send("PATCH", &path, &orphan).await.unwrap();
    world.send("DELETE", &path, &json!({"propagationPolicy": "Background"})).await.unwrap();
    world.set("08:02:00");
    world.until_next("a", "08:03:00").await;
    assert_eq!(world.jobs("a"), [slot("08:02:00")]);
}
