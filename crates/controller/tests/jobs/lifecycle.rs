//! Tests of the lifecycle of Jobs: completion, failure, parallelism, suspension and deletion.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::test_env::{JOBS, JobTestEnv, PODS, has_condition, is_tracked};

#[tokio::test]
async fn a_job_completes_when_its_pod_succeeds() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({})).await;
    let pods = env.wait_for_active(1).await;
    assert!(is_tracked(&env.pod(&pods[0])));
    env.end_pod(&pods[0], "Succeeded").await.unwrap();
    let job = env.wait_for_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 1);
    assert_eq!(job["status"].get("active"), None);
    assert_eq!(job["status"]["uncountedTerminatedPods"], json!({}));
    assert!(job["status"]["completionTime"].is_string());
    assert!(!is_tracked(&env.pod(&pods[0])));
    assert_eq!(env.created_pod_count(), 1);
}

#[tokio::test]
async fn a_job_fails_at_its_backoff_limit_and_waits_before_each_new_pod() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"backoffLimit": 1})).await;
    let pods = env.wait_for_active(1).await;
    env.end_pod(&pods[0], "Failed").await.unwrap();
    env.wait_for("the failed Pod is counted", |env| env.job("j")["status"]["failed"] == 1).await;
    assert_eq!(env.active(), Vec::<String>::new());
    env.advance(10);
    let pods = env.wait_for_active(1).await;
    env.end_pod(&pods[0], "Failed").await.unwrap();
    let job = env.wait_for_condition("j", "Failed").await;
    assert_eq!(job["status"]["failed"], 2);
    let reasons: Vec<&Value> =
        job["status"]["conditions"].as_array().unwrap().iter().map(|c| &c["reason"]).collect();
    assert_eq!(reasons, ["BackoffLimitExceeded", "BackoffLimitExceeded"]);
    assert_eq!(env.created_pod_count(), 2);
}

#[tokio::test]
async fn parallelism_limits_the_active_pods() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"parallelism": 3, "completions": 5})).await;
    for left in (1..=5).rev() {
        let pods = env.wait_for_active(left.min(3)).await;
        env.end_pod(&pods[0], "Succeeded").await.unwrap();
    }
    let job = env.wait_for_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 5);
    assert_eq!(env.created_pod_count(), 5);
}

#[tokio::test]
async fn many_pods_are_created_and_deleted_in_one_reconcile() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"parallelism": 70, "completions": 70})).await;
    env.wait_for_active(70).await;
    env.wait_for("the status shows the Pods", |env| env.job("j")["status"]["active"] == 70).await;
    env.patch_job("j", &json!({"spec": {"suspend": true}})).await;
    env.wait_for("the Pods are deleted", |env| env.pods().is_empty()).await;
    assert_eq!(env.created_pod_count(), 70);
}

#[tokio::test]
async fn the_status_is_written_even_if_pods_cannot_be_created() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"completions": 2})).await;
    let pods = env.wait_for_active(1).await;
    env.faults.refuse_creates.store(true, Ordering::Relaxed);
    env.end_pod(&pods[0], "Succeeded").await.unwrap();
    env.wait_for("the Pod is counted", |env| env.job("j")["status"]["succeeded"] == 1).await;
    assert_eq!(env.job("j")["status"].get("active"), None);
    assert!(!is_tracked(&env.pod(&pods[0])));
    env.faults.refuse_creates.store(false, Ordering::Relaxed);
    let pods = env.wait_for_active(1).await;
    env.end_pod(&pods[0], "Succeeded").await.unwrap();
    env.wait_for_condition("j", "Complete").await;
}

#[tokio::test]
async fn each_index_of_an_indexed_job_has_one_pod() {
    let env = JobTestEnv::new().await;
    let spec = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed"});
    env.create_job("j", spec).await;
    let pods = env.wait_for_active(3).await;
    for (index, name) in pods.iter().enumerate() {
        assert!(name.starts_with(&format!("j-{index}-")), "{name}");
        env.end_pod(name, "Succeeded").await.unwrap();
    }
    let job = env.wait_for_condition("j", "Complete").await;
    assert_eq!(job["status"]["completedIndexes"], "0-2");
    assert_eq!(env.created_pod_count(), 3);
}

#[tokio::test]
async fn a_finished_job_is_deleted_after_its_ttl() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"ttlSecondsAfterFinished": 100})).await;
    let pods = env.wait_for_active(1).await;
    env.end_pod(&pods[0], "Succeeded").await.unwrap();
    env.wait_for_condition("j", "Complete").await;
    env.advance(90);
    let annotation = json!({"metadata": {"annotations": {"a": "b"}}});
    env.patch_job("j", &annotation).await;
    // When the other Job is active, this one has been reconciled.
    env.create_job("other", json!({})).await;
    env.wait_for("the other Job is active", |env| env.job("other")["status"]["active"] == 1).await;
    assert_eq!(env.job("j")["metadata"].get("deletionTimestamp"), None);
    env.advance(10);
    let is_deleting =
        |env: &JobTestEnv| env.job("j")["metadata"].get("deletionTimestamp").is_some();
    env.wait_for("the Job is being deleted", is_deleting).await;
    assert_eq!(env.job("j")["metadata"]["finalizers"], json!(["foregroundDeletion"]));
}

#[tokio::test]
async fn a_suspended_job_has_no_pods_until_it_is_resumed() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"parallelism": 2, "completions": 2})).await;
    env.wait_for_active(2).await;
    env.patch_job("j", &json!({"spec": {"suspend": true}})).await;
    env.wait_for("the Pods are deleted", |env| env.pods().is_empty()).await;
    let job = env.wait_for_condition("j", "Suspended").await;
    assert_eq!(job["status"].get("startTime"), None);
    env.patch_job("j", &json!({"spec": {"suspend": false}})).await;
    for name in env.wait_for_active(2).await {
        env.end_pod(&name, "Succeeded").await.unwrap();
    }
    let job = env.wait_for_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 2);
    assert_eq!(
        job["status"].get("failed"),
        None,
        "deleted Pods of a suspended Job do not count as failed"
    );
}

#[tokio::test]
async fn a_deleted_pod_is_replaced() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({})).await;
    let pods = env.wait_for_active(1).await;
    env.server.send("DELETE", &format!("{PODS}/{}", pods[0]), &Value::Null).await.unwrap();
    env.wait_for("the Pod is deleted", |env| env.pod(&pods[0]).is_null()).await;
    env.wait_for("the Pod is counted", |env| env.job("j")["status"]["failed"] == 1).await;
    env.advance(10);
    let others = env.wait_for_active(1).await;
    assert_ne!(others, pods);
    env.end_pod(&others[0], "Succeeded").await.unwrap();
    env.wait_for_condition("j", "Complete").await;
}

#[tokio::test]
async fn a_job_fails_after_its_active_deadline() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"activeDeadlineSeconds": 100})).await;
    env.wait_for_active(1).await;
    env.wait_for("the Job is active", |env| env.job("j")["status"]["active"] == 1).await;
    env.advance(100);
    let job = env.wait_for_condition("j", "Failed").await;
    assert_eq!(job["status"]["conditions"][0]["reason"], "DeadlineExceeded");
    assert_eq!(job["status"]["failed"], 1);
    assert!(env.pods().is_empty());
}

#[tokio::test]
async fn a_status_write_changes_no_other_field() {
    let env = JobTestEnv::new().await;
    let annotations = json!({"x/y": "1.50"});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "j", "annotations": annotations, "finalizers": ["x/hold"]},
        "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "0.50"}}}]}}}});
    let created = env.server.send("POST", JOBS, &job).await.unwrap();
    let job = env.wait_for_condition("j", "Suspended").await;
    assert_eq!(job["spec"], created["spec"]);
    assert_eq!(job["metadata"]["annotations"], annotations);
    assert_eq!(job["metadata"]["finalizers"], created["metadata"]["finalizers"]);
}

#[tokio::test]
async fn an_unchanged_job_is_not_written() {
    let env = JobTestEnv::new().await;
    for name in ["done", "runs", "waits"] {
        env.create_job(name, json!({"suspend": name == "waits"})).await;
    }
    let pods = env.wait_for_active(2).await;
    let done = pods.iter().find(|name| name.starts_with("done-")).unwrap();
    env.end_pod(done, "Succeeded").await.unwrap();
    env.wait_for_condition("done", "Complete").await;
    env.wait_for_condition("waits", "Suspended").await;
    env.wait_for("the Job is active", |env| env.job("runs")["status"]["active"] == 1).await;
    let before = env.server.store.revision();
    // Jobs are reconciled in the order of their changes: when the last one has its Pod, the others have been
    // reconciled.
    let annotation = json!({"metadata": {"annotations": {"a": "b"}}});
    for name in ["done", "runs", "waits"] {
        env.patch_job(name, &annotation).await;
    }
    env.create_job("last", json!({})).await;
    env.wait_for("the last Job is active", |env| env.job("last")["status"]["active"] == 1).await;
    let mut watch = env.server.store.watch("/", before).unwrap();
    let changes = std::iter::from_fn(|| watch.try_next().unwrap());
    let keys: Vec<String> = changes.map(|change| change.key.to_string()).collect();
    // Events are written at any time.
    let keys: Vec<String> = keys.into_iter().filter(|key| !key.starts_with("/events/")).collect();
    let of = |name: &str| keys.iter().filter(|key| key.contains(&format!("/{name}"))).count();
    assert_eq!((of("done"), of("runs"), of("waits")), (1, 1, 1), "{keys:?}");
    assert_eq!(of("last"), 3, "the Job, its Pod and its status: {keys:?}");
}

#[tokio::test]
async fn a_job_of_another_controller_is_left_alone() {
    let env = JobTestEnv::new().await;
    env.create_job("theirs", json!({"managedBy": "example.com/it"})).await;
    env.create_job("ours", json!({})).await;
    env.wait_for("our Job is active", |env| env.job("ours")["status"]["active"] == 1).await;
    assert_eq!(env.created_pod_count(), 1);
    assert!(!has_condition(&env.job("theirs"), "Complete"));
    assert_eq!(env.job("theirs")["status"], json!({}));
}
