//! Tests with crashes of the controller and lost responses: each Pod is counted exactly once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use punctual_testing::TestRng;
use serde_json::{Value, json};

use crate::flaky_connection::ConnectionFaults;
use crate::test_env::{JobTestEnv, PODS, has_condition, is_tracked};

#[tokio::test]
async fn a_restarted_controller_continues_at_every_step() {
    let mut env = JobTestEnv::new().await;
    env.create_job("j", json!({"completions": 3, "backoffLimit": 10})).await;
    for (round, phase) in ["Succeeded", "Failed", "Succeeded", "Succeeded"].iter().enumerate() {
        let pods = env.wait_for_active(1).await;
        env.restart().await;
        if round == 2 {
            // The Pod ends while no controller runs.
            env.stop().await;
        }
        env.end_pod(&pods[0], phase).await.unwrap();
        if round == 2 {
            env.start();
        }
        let ended = round as i64 + 1;
        env.wait_for("the Pod is counted", |env| counted(&env.job("j")) == ended).await;
        env.restart().await;
        env.advance(60);
    }
    let job = env.wait_for_condition("j", "Complete").await;
    assert_eq!(
        (job["status"]["succeeded"].clone(), job["status"]["failed"].clone()),
        (json!(3), json!(1))
    );
    assert_eq!(env.created_pod_count(), 4);
}

#[tokio::test]
async fn the_controller_does_not_depend_on_watches_for_its_own_writes() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"completions": 2})).await;
    let pods = env.wait_for_active(1).await;
    env.wait_for("the status shows the Pod", |env| env.job("j")["status"]["active"] == 1).await;
    env.end_pod(&pods[0], "Succeeded").await.unwrap();
    env.wait_for("the status lists the Pod", |env| counted(&env.job("j")) == 1).await;
    env.faults.lagging_path.send_replace(Some("/"));
    env.wait_for("the Pod is counted", |env| env.job("j")["status"]["succeeded"] == 1).await;
    env.wait_for("another Pod is active", |env| env.job("j")["status"]["active"] == 1).await;
    let pods = env.wait_for_active(1).await;
    env.faults.lagging_path.send_replace(None);
    env.end_pod(&pods[0], "Succeeded").await.unwrap();
    let job = env.wait_for_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 2);
    assert_eq!(env.created_pod_count(), 2);
}

#[tokio::test]
async fn a_create_whose_response_was_lost_is_not_repeated() {
    let env = JobTestEnv::new().await;
    env.faults.lagging_path.send_replace(Some("/pods"));
    env.faults.create_responses_to_lose.store(2, Ordering::Relaxed);
    env.create_job("j", json!({"completions": 3, "parallelism": 3})).await;
    env.wait_for("all Pods are active", |env| env.job("j")["status"]["active"] == 3).await;
    assert_eq!(env.created_pod_count(), 3);
    env.faults.lagging_path.send_replace(None);
    for name in env.wait_for_active(3).await {
        env.end_pod(&name, "Succeeded").await.unwrap();
    }
    env.wait_for_condition("j", "Complete").await;
    assert_eq!(env.created_pod_count(), 3);
}

#[tokio::test]
async fn a_pod_name_that_is_taken_is_replaced_by_a_generated_one() {
    let mut env = JobTestEnv::new().await;
    env.create_job("j", json!({})).await;
    let pods = env.wait_for_active(1).await;
    env.stop().await;
    let path = format!("{PODS}/{}", pods[0]);
    env.server.send("PATCH", &path, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    env.server.send("DELETE", &path, &Value::Null).await.unwrap();
    env.create_pod(json!({"name": pods[0]})).await;
    env.start();
    let pods = env.wait_for_active(2).await;
    let own = pods.iter().find(|name| is_tracked(&env.pod(name))).unwrap();
    env.end_pod(own, "Succeeded").await.unwrap();
    env.wait_for_condition("j", "Complete").await;
}

/// Jobs as `(name, spec)`. None may fail, because a failed Job counts Pods that it deletes.
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

/// Ends a random Pod with a random phase.
async fn end_random_pod(env: &JobTestEnv, rng: &TestRng, ended: &mut HashMap<String, i64>) {
    let active = env.active();
    let name = &active[rng.below(active.len() as u64) as usize];
    let phase = if rng.below(3) == 0 { "Failed" } else { "Succeeded" };
    // The Pod may have been changed or deleted in between.
    if let Ok(pod) = env.end_pod(name, phase).await
        && is_tracked(&pod)
    {
        let job = pod["metadata"]["ownerReferences"][0]["name"].as_str().unwrap();
        *ended.entry(job.to_owned()).or_default() += 1;
    }
}

/// Advances the clock and changes all Jobs, so that the controller reconciles them.
async fn advance_and_touch_jobs(env: &JobTestEnv) {
    env.advance(700);
    for (name, _) in jobs() {
        let annotation =
            json!({"metadata": {"annotations": {"at": env.server.store.revision().to_string()}}});
        env.patch_job(name, &annotation).await;
    }
    let mut watch = env.server.store.watch("/pods/", env.server.store.revision()).unwrap();
    let _ = tokio::time::timeout(Duration::from_millis(20), watch.next()).await;
}

async fn run_with_crashes(seed: u64) {
    let rng = Arc::new(TestRng::new(seed));
    let mut env = JobTestEnv::with_faults(ConnectionFaults::new(Arc::clone(&rng), 10)).await;
    for (name, spec) in jobs() {
        env.create_job(name, spec).await;
    }
    let mut ended = HashMap::new();
    let is_done =
        |env: &JobTestEnv| jobs().iter().all(|(name, _)| has_condition(&env.job(name), "Complete"));
    for round in 0.. {
        if is_done(&env) {
            break;
        }
        assert!(round < 1000, "seed {seed} does not finish: {}", env.report());
        if rng.below(4) == 0 {
            env.kill().await;
            env.start();
        }
        // Watches catch up when there is nothing else to do.
        let is_idle = env.active().is_empty();
        let is_lagging = !is_idle && rng.below(2) == 0;
        env.faults.lagging_path.send_replace(is_lagging.then_some("/"));
        if is_idle {
            advance_and_touch_jobs(&env).await;
        } else {
            end_random_pod(&env, &rng, &mut ended).await;
        }
    }
    for (name, _) in jobs() {
        let job = env.job(name);
        assert_eq!(Some(&counted(&job)), ended.get(name), "seed {seed}: {job:#?}");
    }
    assert_eq!(env.created_pod_count() as i64, ended.values().sum::<i64>(), "seed {seed}");
    assert!(!env.pods().iter().any(is_tracked), "seed {seed}");
}

#[tokio::test]
async fn every_pod_is_counted_once_whenever_the_controller_crashes() {
    for seed in 0..5 {
        run_with_crashes(seed).await;
    }
}
