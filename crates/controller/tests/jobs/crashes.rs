//! The controller dies: nothing is lost, and nothing is doubled.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::flaky::{Dice, Faults};
use crate::world::{PODS, World, has_condition, is_tracked};

#[tokio::test]
async fn a_controller_that_is_replaced_between_any_two_steps_goes_on_where_the_last_stopped() {
    let mut world = World::new().await;
    world.make_job("j", json!({"completions": 3, "backoffLimit": 10})).await;
    for (turn, phase) in ["Succeeded", "Failed", "Succeeded", "Succeeded"].iter().enumerate() {
        let pods = world.until_active(1).await;
        world.restart().await;
        if turn == 2 {
            // Nobody is there when it ends.
            world.stop().await;
        }
        world.end(&pods[0], phase).await.unwrap();
        if turn == 2 {
            world.start();
        }
        let ended = turn as i64 + 1;
        world.until("it is counted", |world| counted(&world.job("j")) == ended).await;
        world.restart().await;
        world.advance(60);
    }
    let job = world.until_condition("j", "Complete").await;
    assert_eq!(
        (job["status"]["succeeded"].clone(), job["status"]["failed"].clone()),
        (json!(3), json!(1))
    );
    assert_eq!(world.made_pods(), 4);
}

#[tokio::test]
async fn what_the_controller_did_itself_it_knows_before_any_watch_tells() {
    let world = World::new().await;
    world.make_job("j", json!({"completions": 2})).await;
    let pods = world.until_active(1).await;
    world.until("it is told of", |world| world.job("j")["status"]["active"] == 1).await;
    world.end(&pods[0], "Succeeded").await.unwrap();
    world.until("the end is seen", |world| counted(&world.job("j")) == 1).await;
    world.faults.lags.send_replace(Some("/"));
    world.until("it is counted", |world| world.job("j")["status"]["succeeded"] == 1).await;
    world.until("another runs", |world| world.job("j")["status"]["active"] == 1).await;
    let pods = world.until_active(1).await;
    world.faults.lags.send_replace(None);
    world.end(&pods[0], "Succeeded").await.unwrap();
    let job = world.until_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 2);
    assert_eq!(world.made_pods(), 2);
}

#[tokio::test]
async fn a_create_whose_answer_was_lost_is_met_by_its_own_pod() {
    let world = World::new().await;
    world.faults.lags.send_replace(Some("/pods"));
    world.faults.loses.store(2, Ordering::Relaxed);
    world.make_job("j", json!({"completions": 3, "parallelism": 3})).await;
    world.until("all run", |world| world.job("j")["status"]["active"] == 3).await;
    assert_eq!(world.made_pods(), 3);
    world.faults.lags.send_replace(None);
    for name in world.until_active(3).await {
        world.end(&name, "Succeeded").await.unwrap();
    }
    world.until_condition("j", "Complete").await;
    assert_eq!(world.made_pods(), 3);
}

#[tokio::test]
async fn a_name_that_a_stranger_has_is_left_to_it() {
    let mut world = World::new().await;
    world.make_job("j", json!({})).await;
    let pods = world.until_active(1).await;
    world.stop().await;
    let path = format!("{PODS}/{}", pods[0]);
    world.send("PATCH", &path, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    world.send("DELETE", &path, &Value::Null).await.unwrap();
    world.make_pod(json!({"name": pods[0]})).await;
    world.start();
    let pods = world.until_active(2).await;
    let own = pods.iter().find(|name| is_tracked(&world.pod(name))).unwrap();
    world.end(own, "Succeeded").await.unwrap();
    world.until_condition("j", "Complete").await;
}

/// Jobs as `(name, spec)`. None may fail: then Pods would be counted that did not end.
fn jobs() -> [(&'static str, Value); 4] {
    [
        ("one", json!({"completions": 4, "backoffLimit": 1000})),
        ("many", json!({"completions": 6, "parallelism": 4, "backoffLimit": 1000})),
        ("queue", json!({"parallelism": 2, "backoffLimit": 1000})),
        (
            "indexed",
            json!({"completions": 4, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1000}),
        ),
    ]
}

fn counted(job: &Value) -> i64 {
    let status = &job["status"];
    let uncounted = &status["uncountedTerminatedPods"];
    let entries = |key: &str| uncounted[key].as_array().map_or(0, Vec::len) as i64;
    let number = |key: &str| status[key].as_i64().unwrap_or(0);
    number("succeeded") + number("failed") + entries("succeeded") + entries("failed")
}

/// A random Pod ends, in a random way.
async fn end_one(world: &World, dice: &Dice, ended: &mut HashMap<String, i64>) {
    let active = world.active();
    let name = &active[dice.below(active.len() as u64) as usize];
    let phase = if dice.below(3) == 0 { "Failed" } else { "Succeeded" };
    // It may have been changed or deleted in between.
    if let Ok(pod) = world.end(name, phase).await
        && is_tracked(&pod)
    {
        let job = pod["metadata"]["ownerReferences"][0]["name"].as_str().unwrap();
        *ended.entry(job.to_owned()).or_default() += 1;
    }
}

/// Gives the controller something to look at, later.
async fn let_time_pass(world: &World) {
    world.advance(700);
    for (name, _) in jobs() {
        let annotation =
            json!({"metadata": {"annotations": {"at": world.store.revision().to_string()}}});
        world.patch_job(name, &annotation).await;
    }
    let mut watch = world.store.watch("/pods/", world.store.revision()).unwrap();
    let _ = tokio::time::timeout(Duration::from_millis(20), watch.next()).await;
}

async fn live(seed: u64) {
    let dice = Dice::new(seed);
    let mut world = World::with_faults(Faults::new(dice.clone(), 10)).await;
    for (name, spec) in jobs() {
        world.make_job(name, spec).await;
    }
    let mut ended = HashMap::new();
    let is_done =
        |world: &World| jobs().iter().all(|(name, _)| has_condition(&world.job(name), "Complete"));
    for turn in 0.. {
        if is_done(&world) {
            break;
        }
        assert!(turn < 1000, "seed {seed} takes for ever: {}", world.report());
        if dice.below(4) == 0 {
            world.kill().await;
            world.start();
        }
        // Watches catch up at the latest when there is nothing else to do.
        let is_idle = world.active().is_empty();
        let lags = !is_idle && dice.below(2) == 0;
        world.faults.lags.send_replace(lags.then_some("/"));
        match is_idle {
            true => let_time_pass(&world).await,
            false => end_one(&world, &dice, &mut ended).await,
        }
    }
    for (name, _) in jobs() {
        let job = world.job(name);
        assert_eq!(Some(&counted(&job)), ended.get(name), "seed {seed}: {job:#?}");
    }
    assert_eq!(world.made_pods() as i64, ended.values().sum::<i64>(), "seed {seed}");
    assert!(!world.pods().iter().any(is_tracked), "seed {seed}");
}

#[tokio::test]
async fn every_pod_that_ends_is_counted_once_whenever_the_controller_dies() {
    for seed in 0..5 {
        live(seed).await;
    }
}
