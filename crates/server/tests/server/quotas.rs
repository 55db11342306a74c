//! Tests of ResourceQuotas: enforcement, usage and warnings.

use std::time::Duration;

use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::client::{CRON_JOBS, ResponseLines, TestClient, TestServer, cron_job};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn quota(name: &str, hard: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name},
        "spec": {"hard": hard}})
}

fn pod_spec() -> Value {
    json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]})
}

fn job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"template": {"spec": pod_spec()}}})
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec()})
}

async fn create_quota(client: &TestClient, name: &str, hard: Value) {
    let created = client.post(QUOTAS, &quota(name, hard)).await;
    assert_eq!(created.code, 201, "{}", created.text);
}

/// Reads the watch until a quota has this usage.
async fn wait_for_used(watch: &mut ResponseLines, used: &Value) {
    let waiting = async {
        while watch.next().await.expect("the watch ended")["object"]["status"]["used"] != *used {}
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
    waited.unwrap_or_else(|_| panic!("no event with the usage {used}"));
}

#[tokio::test]
async fn a_create_beyond_a_limit_is_rejected_like_in_kubernetes() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_quota(&client, "q", json!({"count/jobs.batch": "2", "count/cronjobs.batch": 1})).await;
    for name in ["a", "b"] {
        assert_eq!(client.post(JOBS, &job(name)).await.code, 201);
    }
    let rejected = client.post(JOBS, &job("x")).await;
    let message = "jobs.batch \"x\" is forbidden: exceeded quota: q, requested: \
                   count/jobs.batch=1, used: count/jobs.batch=2, limited: count/jobs.batch=2";
    assert_eq!(
        rejected.body,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": "Forbidden",
            "details": {"name": "x", "group": "batch", "kind": "jobs"}, "code": 403})
    );
    let mut generated = job("");
    generated["metadata"] = json!({"generateName": "g-"});
    let rejected = client.post(JOBS, &generated).await;
    let name = rejected.body["details"]["name"].as_str().unwrap();
    assert!(name.starts_with("g-") && name.len() == 7, "{name}");
    assert_eq!(client.post(CRON_JOBS, &cron_job("a")).await.code, 201);
    assert_eq!(client.post(CRON_JOBS, &cron_job("b")).await.code, 403);
}

#[tokio::test]
async fn a_quota_limits_every_way_to_create_an_object_of_its_namespace_only() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_quota(&client, "q", json!({"count/cronjobs.batch": "0"})).await;
    assert_eq!(client.post(&format!("{CRON_JOBS}?dryRun=All"), &cron_job("a")).await.code, 403);
    let apply = format!("{CRON_JOBS}/a?fieldManager=test");
    let applied =
        client.write(Method::PATCH, &apply, "application/apply-patch+yaml", &cron_job("a")).await;
    assert_eq!(applied.code, 403, "{}", applied.text);
    let beta = "/apis/batch/v1beta1/namespaces/default/cronjobs";
    let mut object = cron_job("a");
    object["apiVersion"] = json!("batch/v1beta1");
    assert_eq!(client.post(beta, &object).await.code, 403);
    let elsewhere = "/apis/batch/v1/namespaces/kube-public/cronjobs";
    assert_eq!(client.post(elsewhere, &cron_job("a")).await.code, 201);
    assert_eq!(client.post(JOBS, &job("a")).await.code, 201);
}

#[tokio::test]
async fn all_exceeded_limits_of_the_first_full_quota_are_named() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_quota(&client, "b", json!({"pods": "0", "count/pods": "0"})).await;
    create_quota(&client, "a", json!({"pods": "5", "requests.cpu": "0"})).await;
    let rejected = client.post(PODS, &pod("x")).await;
    let message = "pods \"x\" is forbidden: exceeded quota: b, requested: count/pods=1,pods=1, \
                   used: count/pods=0,pods=0, limited: count/pods=0,pods=0";
    assert_eq!(rejected.body["message"], message);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_creates_never_exceed_a_limit() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_quota(&client, "q", json!({"count/jobs.batch": "25"})).await;
    let objects: Vec<Value> = (0..200).map(|at| job(&format!("j{at}"))).collect();
    let responses = join_all(objects.iter().map(|object| client.post(JOBS, object))).await;
    let count = |code: u16| responses.iter().filter(|response| response.code == code).count();
    assert_eq!((count(201), count(403)), (25, 175));
    assert_eq!(server.store.snapshot().prefix("/jobs.batch/default/").count(), 25);
}

#[tokio::test]
async fn a_deletion_and_a_higher_limit_make_room() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_quota(&client, "q", json!({"count/jobs.batch": "1"})).await;
    assert_eq!(client.post(JOBS, &job("a")).await.code, 201);
    assert_eq!(client.post(JOBS, &job("b")).await.code, 403);
    let suspend = json!({"spec": {"suspend": true}});
    let updated = client.merge(&format!("{JOBS}/a"), &suspend).await;
    assert_eq!(updated.code, 200, "an update needs no room: {}", updated.text);
    client.delete(&format!("{JOBS}/a?propagationPolicy=Background")).await;
    assert_eq!(client.post(JOBS, &job("b")).await.code, 201);
    let more = json!({"spec": {"hard": {"count/jobs.batch": "2"}}});
    assert_eq!(client.merge(&format!("{QUOTAS}/q"), &more).await.code, 200);
    assert_eq!(client.post(JOBS, &job("c")).await.code, 201);
    assert_eq!(client.post(JOBS, &job("d")).await.code, 403);
}

#[tokio::test]
async fn the_key_pods_does_not_count_finished_pods() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_quota(&client, "q", json!({"pods": "1", "count/pods": "2"})).await;
    assert_eq!(client.post(PODS, &pod("a")).await.code, 201);
    let rejected = client.post(PODS, &pod("b")).await;
    assert_eq!(rejected.code, 403);
    assert!(rejected.text.contains("limited: pods=1"), "{}", rejected.text);
    let finish = json!({"status": {"phase": "Succeeded"}});
    assert_eq!(client.merge(&format!("{PODS}/a/status"), &finish).await.code, 200);
    assert_eq!(client.post(PODS, &pod("b")).await.code, 201);
    let rejected = client.post(PODS, &pod("c")).await;
    assert!(rejected.text.contains("limited: count/pods=2,pods=1"), "{}", rejected.text);
}

#[tokio::test]
async fn the_status_follows_the_usage_and_watches_show_it() {
    let server = TestServer::new().await;
    let client = server.admin();
    assert_eq!(client.post(JOBS, &job("a")).await.code, 201);
    let mut watch = client.watch(&format!("{QUOTAS}?watch=true")).await;
    create_quota(&client, "q", json!({"count/jobs.batch": "3", "pods": "5"})).await;
    wait_for_used(&mut watch, &json!({"count/jobs.batch": "1", "pods": "0"})).await;
    client.post(JOBS, &job("b")).await;
    client.post(PODS, &pod("p")).await;
    wait_for_used(&mut watch, &json!({"count/jobs.batch": "2", "pods": "1"})).await;
    client.delete(&format!("{JOBS}/a?propagationPolicy=Background")).await;
    wait_for_used(&mut watch, &json!({"count/jobs.batch": "1", "pods": "1"})).await;
    // The server corrects a status that a client wrote.
    let wrong = json!({"status": {"used": {"pods": "9"}}});
    client.merge(&format!("{QUOTAS}/q/status"), &wrong).await;
    wait_for_used(&mut watch, &json!({"count/jobs.batch": "1", "pods": "1"})).await;
    let stored = client.get(&format!("{QUOTAS}/q")).await.body;
    assert_eq!(stored["status"]["hard"], stored["spec"]["hard"]);
}

#[tokio::test]
async fn limits_that_are_not_enforced_cause_a_warning_and_are_not_in_the_status() {
    for server in [TestServer::new().await, TestServer::strict().await] {
        let client = server.admin();
        let mut watch = client.watch(&format!("{QUOTAS}?watch=true")).await;
        let hard = json!({"requests.cpu": "1", "count/services": "2", "pods": "3"});
        let created = client.post(QUOTAS, &quota("q", hard)).await;
        assert_eq!(created.code, 201, "{}", created.text);
        let warnings = created.headers.get_all("warning").iter();
        let warnings: Vec<_> = warnings.map(|value| value.to_str().unwrap()).collect();
        let what = "this limit is not enforced; the server limits only numbers of objects";
        assert_eq!(
            warnings,
            [
                format!("299 - \"spec.hard[count/services]: {what}\""),
                format!("299 - \"spec.hard[requests.cpu]: {what}\"")
            ]
        );
        wait_for_used(&mut watch, &json!({"pods": "0"})).await;
        let stored = client.get(&format!("{QUOTAS}/q")).await.body;
        assert_eq!(stored["status"]["hard"], json!({"pods": "3"}));
    }
}

#[tokio::test]
async fn a_quota_with_scopes_is_rejected() {
    let server = TestServer::new().await;
    let mut scoped = quota("q", json!({"pods": "1"}));
    scoped["spec"]["scopes"] = json!(["BestEffort"]);
    let rejected = server.admin().post(QUOTAS, &scoped).await;
    assert_eq!(rejected.code, 422, "{}", rejected.text);
    assert!(rejected.text.contains("spec.scopes"), "{}", rejected.text);
}
