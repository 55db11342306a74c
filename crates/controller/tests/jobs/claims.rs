//! Whose Pods are whose.

use serde_json::{Value, json};

use crate::world::{JOBS, PODS, TRACKING, World, is_tracked};

/// A reference to a Job as controller.
fn owner(name: &str, uid: &str) -> Value {
    json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": true}])
}

async fn frees(world: &World, name: &str) {
    world.until("the Pod is free", |world| !is_tracked(&world.pod(name))).await;
}

#[tokio::test]
async fn pods_whose_job_is_gone_lose_the_finalizer() {
    let world = World::new().await;
    let uid = world.make_job("j", json!({})).await;
    let pods = world.until_active(1).await;
    world
        .send("DELETE", &format!("{JOBS}/j?propagationPolicy=Background"), &Value::Null)
        .await
        .unwrap();
    frees(&world, &pods[0]).await;
    // Another Job of that name is not theirs.
    let other = world.make_job("j", json!({"suspend": true})).await;
    assert_ne!(uid, other);
    for (name, owners) in [("a", owner("j", &uid)), ("b", owner("none", "u")), ("c", json!([]))] {
        world
            .make_pod(json!({"name": name, "finalizers": [TRACKING], "ownerReferences": owners}))
            .await;
        frees(&world, name).await;
    }
}

#[tokio::test]
async fn a_pod_elsewhere_that_names_a_job_as_its_own_is_nothing_to_it() {
    let world = World::new().await;
    let uid = world.make_job("j", json!({"suspend": true})).await;
    world.until_condition("j", "Suspended").await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "finalizers": [TRACKING], "ownerReferences": owner("j", &uid)},
        "spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}});
    world.send("POST", "/api/v1/namespaces/kube-system/pods", &pod).await.unwrap();
    world.patch_job("j", &json!({"spec": {"suspend": false}})).await;
    world.until_active(1).await;
}

#[tokio::test]
async fn pods_of_others_keep_their_finalizers() {
    let world = World::new().await;
    let owners = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true}]);
    world.make_pod(json!({"name": "a", "finalizers": [TRACKING], "ownerReferences": owners})).await;
    world.make_pod(json!({"name": "b", "finalizers": [TRACKING]})).await;
    frees(&world, "b").await;
    assert!(is_tracked(&world.pod("a")));
}

#[tokio::test]
async fn a_job_that_is_deleted_while_it_runs_lets_its_pods_go() {
    let world = World::new().await;
    world.make_job("j", json!({"parallelism": 2})).await;
    let pods = world.until_active(2).await;
    world
        .send("DELETE", &format!("{JOBS}/j?propagationPolicy=Foreground"), &Value::Null)
        .await
        .unwrap();
    for name in &pods {
        frees(&world, name).await;
    }
    assert_eq!(world.made_pods(), 2);
}

#[tokio::test]
async fn pods_that_a_job_selects_are_adopted_and_counted() {
    let world = World::new().await;
    let labels = json!({"app": "own"});
    for name in ["a", "b"] {
        world.make_pod(json!({"name": name, "labels": labels})).await;
    }
    world.make_pod(json!({"name": "stranger", "labels": {"app": "other"}})).await;
    let template = json!({"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never",
        "containers": [{"name": "c", "image": "x"}]}});
    let uid = world
        .make_job(
            "j",
            json!({"completions": 2, "parallelism": 2, "manualSelector": true,
        "selector": {"matchLabels": labels}, "template": template}),
        )
        .await;
    let is_adopted =
        |pod: &Value| pod["metadata"]["ownerReferences"][0]["uid"] == uid && is_tracked(pod);
    world
        .until("both are adopted", |world| {
            ["a", "b"].iter().all(|name| is_adopted(&world.pod(name)))
        })
        .await;
    for name in ["a", "b"] {
        world.end(name, "Succeeded").await.unwrap();
    }
    let job = world.until_condition("j", "Complete").await;
    assert_eq!(job["status"]["succeeded"], 2);
    assert_eq!(world.made_pods(), 3);
    assert!(world.pod("stranger")["metadata"].get("ownerReferences").is_none());
}

#[tokio::test]
async fn a_pod_that_comes_back_is_adopted_again() {
    let world = World::new().await;
    let uid = world.make_job("j", json!({})).await;
    let pods = world.until_active(1).await;
    let forget = json!({"metadata": {"ownerReferences": null}});
    let path = format!("{PODS}/{}", pods[0]);
    world.send("PATCH", &path, &forget).await.unwrap();
    let is_back = |world: &World| {
        let pod = world.pod(&pods[0]);
        pod["metadata"]["ownerReferences"][0]["uid"] == uid && is_tracked(&pod)
    };
    world.until("it is adopted", is_back).await;
}

#[tokio::test]
async fn a_pod_that_its_job_does_not_select_any_more_is_released() {
    let world = World::new().await;
    world.make_job("j", json!({})).await;
    let pods = world.until_active(1).await;
    let labels = json!({"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "u"}}});
    world.send("PATCH", &format!("{PODS}/{}", pods[0]), &labels).await.unwrap();
    let is_released = |world: &World| {
        let pod = world.pod(&pods[0]);
        pod["metadata"].get("ownerReferences").is_none() && !is_tracked(&pod)
    };
    world.until("it is released", is_released).await;
    world.until_active(2).await;
}
