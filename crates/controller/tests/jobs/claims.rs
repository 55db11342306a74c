//! Tests of which Pods belong to which Job: adoption, release, and Pods whose Job was deleted.

use serde_json::{Value, json};

use crate::test_env::{JOBS, JobTestEnv, PODS, TRACKING_FINALIZER, is_tracked};

/// Owner references with a Job as the controller.
fn owner(name: &str, uid: &str) -> Value {
    json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": true}])
}

async fn wait_for_finalizer_removal(env: &JobTestEnv, name: &str) {
    env.wait_for("the finalizer is removed", |env| !is_tracked(&env.pod(name))).await;
}

#[tokio::test]
async fn pods_of_a_deleted_job_lose_the_finalizer() {
    let env = JobTestEnv::new().await;
    let uid = env.create_job("j", json!({})).await;
    let pods = env.wait_for_active(1).await;
    env.server
        .send("DELETE", &format!("{JOBS}/j?propagationPolicy=Background"), &Value::Null)
        .await
        .unwrap();
    wait_for_finalizer_removal(&env, &pods[0]).await;
    // A new Job with the same name does not own them.
    let other = env.create_job("j", json!({"suspend": true})).await;
    assert_ne!(uid, other);
    for (name, owners) in [("a", owner("j", &uid)), ("b", owner("none", "u")), ("c", json!([]))] {
        env.create_pod(
            json!({"name": name, "finalizers": [TRACKING_FINALIZER], "ownerReferences": owners}),
        )
        .await;
        wait_for_finalizer_removal(&env, name).await;
    }
}

#[tokio::test]
async fn a_pod_in_another_namespace_does_not_belong_to_the_job() {
    let env = JobTestEnv::new().await;
    let uid = env.create_job("j", json!({"suspend": true})).await;
    env.wait_for_condition("j", "Suspended").await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "finalizers": [TRACKING_FINALIZER], "ownerReferences": owner("j", &uid)},
        "spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}});
    env.server.send("POST", "/api/v1/namespaces/kube-system/pods", &pod).await.unwrap();
    env.patch_job("j", &json!({"spec": {"suspend": false}})).await;
    env.wait_for_active(1).await;
}

#[tokio::test]
async fn pods_of_other_controllers_keep_their_finalizers() {
    let env = JobTestEnv::new().await;
    let owners = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true}]);
    env.create_pod(
        json!({"name": "a", "finalizers": [TRACKING_FINALIZER], "ownerReferences": owners}),
    )
    .await;
    env.create_pod(json!({"name": "b", "finalizers": [TRACKING_FINALIZER]})).await;
    wait_for_finalizer_removal(&env, "b").await;
    assert!(is_tracked(&env.pod("a")));
}

#[tokio::test]
async fn a_job_that_is_deleted_while_active_removes_the_finalizers_of_its_pods() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({"parallelism": 2})).await;
    let pods = env.wait_for_active(2).await;
    env.server
        .send("DELETE", &format!("{JOBS}/j?propagationPolicy=Foreground"), &Value::Null)
        .await
        .unwrap();
    for name in &pods {
        wait_for_finalizer_removal(&env, name).await;
    }
    assert_eq!(env.created_pod_count(), 2);
}

#[tokio::test]
async fn pods_that_the_selector_matches_are_adopted_and_counted() {
    let env = JobTestEnv::new().await;
    let labels = json!({"app": "own"});
    for name in ["a", "b"] {
        env.create_pod(json!({"name": name, "labels": labels})).await;
    }
    env.create_pod(json!({"name": "other", "labels": {"app": "other"}})).await;
    let template = json!({"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never",
        "containers": [{"name": "c", "image": "x"}]}});
    let uid = env
        .create_job(
            "j",
            json!({"completions": 2, "parallelism": 2, "manualSelector": true,
        "selector": {"matchLabels": labels}, "template": template}),
        )
        .await;
    let is_adopted =
        |pod: &Value| pod["metadata"]["ownerReferences"][0]["uid"] == uid && is_tracked(pod);
    env.wait_for("both Pods are adopted", |env| {
        ["a", "b"].iter().all(|name| is_adopted(&env.pod(name)))
    })
    .await;
    for name in ["a", "b"] {
        env.end_pod(name, "Succeeded").await.unwrap();
    }
    let job = env.wait_for_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 2);
    assert_eq!(env.created_pod_count(), 3);
    assert!(env.pod("other")["metadata"].get("ownerReferences").is_none());
}

#[tokio::test]
async fn a_pod_without_its_owner_reference_is_adopted_again() {
    let env = JobTestEnv::new().await;
    let uid = env.create_job("j", json!({})).await;
    let pods = env.wait_for_active(1).await;
    let remove_owner = json!({"metadata": {"ownerReferences": null}});
    let path = format!("{PODS}/{}", pods[0]);
    env.server.send("PATCH", &path, &remove_owner).await.unwrap();
    let is_adopted = |env: &JobTestEnv| {
        let pod = env.pod(&pods[0]);
        pod["metadata"]["ownerReferences"][0]["uid"] == uid && is_tracked(&pod)
    };
    env.wait_for("the Pod is adopted", is_adopted).await;
}

#[tokio::test]
async fn a_pod_that_the_selector_no_longer_matches_is_released() {
    let env = JobTestEnv::new().await;
    env.create_job("j", json!({})).await;
    let pods = env.wait_for_active(1).await;
    let labels = json!({"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "u"}}});
    env.server.send("PATCH", &format!("{PODS}/{}", pods[0]), &labels).await.unwrap();
    let is_released = |env: &JobTestEnv| {
        let pod = env.pod(&pods[0]);
        pod["metadata"].get("ownerReferences").is_none() && !is_tracked(&pod)
    };
    env.wait_for("the Pod is released", is_released).await;
    env.wait_for_active(2).await;
}
