//! Tests of the annotation `punctual.dev/schedule-since`, which only the server sets.

use http::Method;
use serde_json::{Value, json};

use crate::client::{CRON_JOBS, TestClient, TestResponse, TestServer, cron_job};

const SINCE: &str = "punctual.dev/schedule-since";

fn since(response: &TestResponse) -> &str {
    response.body["metadata"]["annotations"][SINCE].as_str().unwrap_or_default()
}

async fn apply(client: &TestClient, path: &str, object: &Value) -> TestResponse {
    let path = format!("{path}?fieldManager=test&force=true");
    client.write(Method::PATCH, &path, "application/apply-patch+yaml", object).await
}

/// Returns all `managedFields` as one text.
fn managed(response: &TestResponse) -> String {
    response.body["metadata"]["managedFields"].to_string()
}

#[tokio::test]
async fn a_new_cron_job_has_its_schedule_since_its_creation() {
    let server = TestServer::new().await;
    let client = server.admin();
    let mut object = cron_job("a");
    // The server replaces a value that the client sends.
    object["metadata"]["annotations"] = json!({SINCE: "2020-01-01T00:00:00Z @daily"});
    object["spec"]["timeZone"] = json!("Europe/Berlin");
    let created = client.post(CRON_JOBS, &object).await;
    let stamp = created.body["metadata"]["creationTimestamp"].as_str().unwrap();
    assert_eq!(since(&created), format!("{stamp} */5 * * * * Europe/Berlin"));
    let applied = apply(&client, &format!("{CRON_JOBS}/b"), &cron_job("b")).await;
    assert_eq!(applied.code, 201, "{}", applied.text);
    assert!(since(&applied).ends_with("Z */5 * * * *"));
    assert!(!managed(&applied).contains(SINCE));
}

#[tokio::test]
async fn other_writes_do_not_change_the_annotation() {
    let server = TestServer::new().await;
    let client = server.admin();
    let path = format!("{CRON_JOBS}/a");
    let created = client.post(CRON_JOBS, &cron_job("a")).await;
    let stamp = since(&created).to_owned();
    // Replacing an object without the annotation is not a change.
    let replaced = client.put(&path, &cron_job("a")).await;
    assert_eq!(since(&replaced), stamp);
    assert_eq!(replaced.body, created.body);
    let values = [json!(null), json!("2020-01-01T00:00:00Z */5 * * * *"), json!("nonsense")];
    for value in values {
        let patch = json!({"metadata": {"annotations": {SINCE: value}}, "spec": {"suspend": true}});
        assert_eq!(since(&client.merge(&path, &patch).await), stamp);
        let patch = json!({"metadata": {"annotations": {SINCE: value}}});
        assert_eq!(since(&client.merge(&format!("{path}/status"), &patch).await), stamp);
    }
    let mut suspended = cron_job("a");
    suspended["spec"]["suspend"] = json!(false);
    let applied = apply(&client, &path, &suspended).await;
    assert_eq!(since(&applied), stamp);
    assert_eq!(since(&client.get(&path).await), stamp);
}

#[tokio::test]
async fn changing_the_schedule_or_zone_updates_the_annotation_without_a_manager() {
    let server = TestServer::new().await;
    let client = server.admin();
    let path = format!("{CRON_JOBS}/a");
    let created = client.post(CRON_JOBS, &cron_job("a")).await;
    let moved = client.merge(&path, &json!({"spec": {"schedule": "0 3 * * *"}})).await;
    assert!(since(&moved).ends_with("Z 0 3 * * *"), "{}", since(&moved));
    assert!(since(&moved) >= since(&created));
    let mut elsewhere = cron_job("a");
    elsewhere["spec"]["schedule"] = json!("0 3 * * *");
    elsewhere["spec"]["timeZone"] = json!("Asia/Tokyo");
    let replaced = client.put(&path, &elsewhere).await;
    assert!(since(&replaced).ends_with("Z 0 3 * * * Asia/Tokyo"));
    assert!(!managed(&replaced).contains(SINCE));
    elsewhere["spec"]["timeZone"] = json!("Asia/Seoul");
    let applied = apply(&client, &path, &elsewhere).await;
    assert!(since(&applied).ends_with("Z 0 3 * * * Asia/Seoul"));
    assert!(!managed(&applied).contains(SINCE));
}

#[tokio::test]
async fn clients_may_set_the_annotation_if_it_is_missing_or_outdated() {
    let server = TestServer::new().await;
    let client = server.admin();
    let path = format!("{CRON_JOBS}/a");
    client.post(CRON_JOBS, &cron_job("a")).await;
    let key = "/cronjobs.batch/default/a";
    let stored = server.store.get(key).expect("the object is stored");
    let old = String::from_utf8(stored.value.to_vec()).unwrap().replace(SINCE, "elsewhere");
    server.store.write(punctual_store::Op::update(key, old, stored.modified)).await.unwrap();
    let value = "2026-01-31T08:00:00Z */5 * * * *";
    let patch = json!({"metadata": {"annotations": {SINCE: value}}});
    assert_eq!(since(&client.merge(&path, &patch).await), value);
}

#[tokio::test]
async fn in_the_strict_dialect_only_scheduled_jobs_have_the_annotation() {
    let server = TestServer::strict().await;
    let client = server.admin();
    let created = client.post(CRON_JOBS, &cron_job("a")).await;
    assert_eq!(created.body["metadata"].get("annotations"), None);
    let patch = json!({"spec": {"schedule": "0 3 * * *"}});
    let moved = client.merge(&format!("{CRON_JOBS}/a"), &patch).await;
    assert_eq!(moved.body["metadata"].get("annotations"), None);
    let mut scheduled_job = cron_job("a");
    scheduled_job["apiVersion"] = json!("punctual.dev/v1");
    scheduled_job["kind"] = json!("ScheduledJob");
    let path = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
    let created = client.post(path, &scheduled_job).await;
    assert!(since(&created).ends_with("Z */5 * * * *"), "{}", created.text);
}
