//! What becomes of Jobs.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::world::{JOBS, PODS, World, has_condition, is_tracked};

#[tokio::test]
async fn a_job_completes_when_its_pod_has_succeeded() {
    let world = World::new().await;
    world.make_job("j", json!({})).await;
    let pods = world.until_active(1).await;
    assert!(is_tracked(&world.pod(&pods[0])));
    world.end(&pods[0], "Succeeded").await.unwrap();
    let job = world.until_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 1);
    assert_eq!(job["status"].get("active"), None);
    assert_eq!(job["status"]["uncountedTerminatedPods"], json!({}));
    assert!(job["status"]["completionTime"].is_string());
    assert!(!is_tracked(&world.pod(&pods[0])));
    assert_eq!(world.made_pods(), 1);
}

#[tokio::test]
async fn a_job_fails_at_its_backoff_limit_and_waits_before_each_new_pod() {
    let world = World::new().await;
    world.make_job("j", json!({"backoffLimit": 1})).await;
    let pods = world.until_active(1).await;
    world.end(&pods[0], "Failed").await.unwrap();
    world.until("the failure is counted", |world| world.job("j")["status"]["failed"] == 1).await;
    assert_eq!(world.active(), Vec::<String>::new());
    world.advance(10);
    let pods = world.until_active(1).await;
    world.end(&pods[0], "Failed").await.unwrap();
    let job = world.until_condition("j", "Failed").await;
    assert_eq!(job["status"]["failed"], 2);
    let reasons: Vec<&Value> =
        job["status"]["conditions"].as_array().unwrap().iter().map(|c| &c["reason"]).collect();
    assert_eq!(reasons, ["BackoffLimitExceeded", "BackoffLimitExceeded"]);
    assert_eq!(world.made_pods(), 2);
}

#[tokio::test]
async fn no_more_pods_than_wanted_run_at_a_time() {
    let world = World::new().await;
    world.make_job("j", json!({"parallelism": 3, "completions": 5})).await;
    for left in (1..=5).rev() {
        let pods = world.until_active(left.min(3)).await;
        world.end(&pods[0], "Succeeded").await.unwrap();
    }
    let job = world.until_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 5);
    assert_eq!(world.made_pods(), 5);
}

#[tokio::test]
async fn many_pods_come_at_once_and_go_at_once() {
    let world = World::new().await;
    world.make_job("j", json!({"parallelism": 70, "completions": 70})).await;
    world.until_active(70).await;
    world.until("they are told of", |world| world.job("j")["status"]["active"] == 70).await;
    world.patch_job("j", &json!({"spec": {"suspend": true}})).await;
    world.until("they are gone", |world| world.pods().is_empty()).await;
    assert_eq!(world.made_pods(), 70);
}

#[tokio::test]
async fn a_job_whose_pods_cannot_be_created_still_tells_what_became_of_the_others() {
    let world = World::new().await;
    world.make_job("j", json!({"completions": 2})).await;
    let pods = world.until_active(1).await;
    world.faults.refuses.store(true, Ordering::Relaxed);
    world.end(&pods[0], "Succeeded").await.unwrap();
    world.until("it is counted", |world| world.job("j")["status"]["succeeded"] == 1).await;
    assert_eq!(world.job("j")["status"].get("active"), None);
    assert!(!is_tracked(&world.pod(&pods[0])));
    world.faults.refuses.store(false, Ordering::Relaxed);
    let pods = world.until_active(1).await;
    world.end(&pods[0], "Succeeded").await.unwrap();
    world.until_condition("j", "Complete").await;
}

#[tokio::test]
async fn each_index_of_an_indexed_job_has_its_pod() {
    let world = World::new().await;
    let spec = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed"});
    world.make_job("j", spec).await;
    let pods = world.until_active(3).await;
    for (index, name) in pods.iter().enumerate() {
        assert!(name.starts_with(&format!("j-{index}-")), "{name}");
        world.end(name, "Succeeded").await.unwrap();
    }
    let job = world.until_condition("j", "Complete").await;
    assert_eq!(job["status"]["completedIndexes"], "0-2");
    assert_eq!(world.made_pods(), 3);
}

#[tokio::test]
async fn a_finished_job_goes_when_its_time_to_live_is_over() {
    let world = World::new().await;
    world.make_job("j", json!({"ttlSecondsAfterFinished": 100})).await;
    let pods = world.until_active(1).await;
    world.end(&pods[0], "Succeeded").await.unwrap();
    world.until_condition("j", "Complete").await;
    world.advance(90);
    let annotation = json!({"metadata": {"annotations": {"a": "b"}}});
    world.patch_job("j", &annotation).await;
    // By the time that another runs, it has been looked at.
    world.make_job("other", json!({})).await;
    world.until("the other runs", |world| world.job("other")["status"]["active"] == 1).await;
    assert_eq!(world.job("j")["metadata"].get("deletionTimestamp"), None);
    world.advance(10);
    let is_going = |world: &World| world.job("j")["metadata"].get("deletionTimestamp").is_some();
    world.until("the Job goes", is_going).await;
    assert_eq!(world.job("j")["metadata"]["finalizers"], json!(["foregroundDeletion"]));
}

#[tokio::test]
async fn a_suspended_job_has_no_pods_until_it_is_resumed() {
    let world = World::new().await;
    world.make_job("j", json!({"parallelism": 2, "completions": 2})).await;
    world.until_active(2).await;
    world.patch_job("j", &json!({"spec": {"suspend": true}})).await;
    world.until("the Pods are gone", |world| world.pods().is_empty()).await;
    let job = world.until_condition("j", "Suspended").await;
    assert_eq!(job["status"].get("startTime"), None);
    world.patch_job("j", &json!({"spec": {"suspend": false}})).await;
    for name in world.until_active(2).await {
        world.end(&name, "Succeeded").await.unwrap();
    }
    let job = world.until_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 2);
    assert_eq!(job["status"].get("failed"), None, "Pods that were taken away are no failures");
}

#[tokio::test]
async fn a_pod_that_was_deleted_is_replaced() {
    let world = World::new().await;
    world.make_job("j", json!({})).await;
    let pods = world.until_active(1).await;
    world.send("DELETE", &format!("{PODS}/{}", pods[0]), &Value::Null).await.unwrap();
    world.until("the Pod is gone", |world| world.pod(&pods[0]).is_null()).await;
    world.until("it is counted", |world| world.job("j")["status"]["failed"] == 1).await;
    world.advance(10);
    let others = world.until_active(1).await;
    assert_ne!(others, pods);
    world.end(&others[0], "Succeeded").await.unwrap();
    world.until_condition("j", "Complete").await;
}

#[tokio::test]
async fn a_job_that_is_active_for_too_long_fails() {
    let world = World::new().await;
    world.make_job("j", json!({"activeDeadlineSeconds": 100})).await;
    world.until_active(1).await;
    world.until("it has begun", |world| world.job("j")["status"]["active"] == 1).await;
    world.advance(100);
    let job = world.until_condition("j", "Failed").await;
    assert_eq!(job["status"]["conditions"][0]["reason"], "DeadlineExceeded");
    assert_eq!(job["status"]["failed"], 1);
    assert!(world.pods().is_empty());
}

#[tokio::test]
async fn a_status_write_leaves_everything_else_as_it_is() {
    let world = World::new().await;
    let annotations = json!({"x/y": "1.50"});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "j", "annotations": annotations, "finalizers": ["x/hold"]},
        "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "0.50"}}}]}}}});
    let made = world.send("POST", JOBS, &job).await.unwrap();
    let job = world.until_condition("j", "Suspended").await;
    assert_eq!(job["spec"], made["spec"]);
    assert_eq!(job["metadata"]["annotations"], annotations);
    assert_eq!(job["metadata"]["finalizers"], made["metadata"]["finalizers"]);
}

#[tokio::test]
async fn nothing_is_written_about_a_job_that_has_nothing_to_say() {
    let world = World::new().await;
    for name in ["done", "runs", "waits"] {
        world.make_job(name, json!({"suspend": name == "waits"})).await;
    }
    let pods = world.until_active(2).await;
    let done = pods.iter().find(|name| name.starts_with("done-")).unwrap();
    world.end(done, "Succeeded").await.unwrap();
    world.until_condition("done", "Complete").await;
    world.until_condition("waits", "Suspended").await;
    world.until("it runs", |world| world.job("runs")["status"]["active"] == 1).await;
    let before = world.store.revision();
    // Jobs are looked at in the order of their changes, by four workers: when the last has its
    // Pod, the others have been looked at.
    let annotation = json!({"metadata": {"annotations": {"a": "b"}}});
    for name in ["done", "runs", "waits"] {
        world.patch_job(name, &annotation).await;
    }
    world.make_job("last", json!({})).await;
    world.until("the last runs", |world| world.job("last")["status"]["active"] == 1).await;
    let mut watch = world.store.watch("/", before).unwrap();
    let changes = std::iter::from_fn(|| watch.try_next().unwrap());
    let keys: Vec<String> = changes.map(|change| change.key.to_string()).collect();
    // Events come in their own time.
    let keys: Vec<String> = keys.into_iter().filter(|key| !key.starts_with("/events/")).collect();
    let of = |name: &str| keys.iter().filter(|key| key.contains(&format!("/{name}"))).count();
    assert_eq!((of("done"), of("runs"), of("waits")), (1, 1, 1), "{keys:?}");
    assert_eq!(of("last"), 3, "the Job, its Pod and its status: {keys:?}");
}

#[tokio::test]
async fn a_job_of_another_controller_is_left_alone() {
    let world = World::new().await;
    world.make_job("theirs", json!({"managedBy": "example.com/it"})).await;
    world.make_job("ours", json!({})).await;
    world.until("ours runs", |world| world.job("ours")["status"]["active"] == 1).await;
    assert_eq!(world.made_pods(), 1);
    assert!(!has_condition(&world.job("theirs"), "Complete"));
    assert_eq!(world.job("theirs")["status"], json!({}));
}
