//! Tests of creates, updates and patches, including those of concurrent clients.

use futures::future::join_all;
use http::Method;
use serde_json::json;

use crate::client::{CRON_JOBS, TestResponse, TestServer, cron_job};

#[tokio::test]
async fn a_cron_job_is_identical_in_both_versions() {
    let server = TestServer::new().await;
    let client = server.admin();
    let mut beta = cron_job("a");
    beta["apiVersion"] = json!("batch/v1beta1");
    let path = "/apis/batch/v1beta1/namespaces/default/cronjobs";
    let created = client.post(path, &beta).await;
    assert_eq!(created.code, 201, "{}", created.text);
    let mut stable = client.get(&format!("{CRON_JOBS}/a")).await.body;
    assert_eq!(stable["apiVersion"], "batch/v1");
    stable["apiVersion"] = json!("batch/v1beta1");
    assert_eq!(created.body, stable);
    assert_eq!(client.get(&format!("{path}/a")).await.body, stable);
}

#[tokio::test]
async fn every_response_about_v1beta1_begins_with_the_deprecation_warning() {
    const WARNING: &str = "299 - \"batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in \
                           v1.25+; use batch/v1 CronJob\"";
    let server = TestServer::new().await;
    let client = server.admin();
    let warnings = |response: &TestResponse| {
        let values = response.headers.get_all("warning").iter();
        values.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let path = "/apis/batch/v1beta1/namespaces/default/cronjobs";
    let mut beta = cron_job("a");
    beta["apiVersion"] = json!("batch/v1beta1");
    beta["spec"]["schedule"] = json!("@every 2s");
    let created = client.post(path, &beta).await;
    assert_eq!(created.code, 201, "{}", created.text);
    let found = warnings(&created);
    assert_eq!(found[0], WARNING);
    assert!(found[1].contains("spec.schedule"), "{found:?}");
    let one = format!("{path}/a");
    for response in [
        client.post(path, &beta).await,
        client.get(&one).await,
        client.get(&format!("{one}/status")).await,
        client.get(&format!("{path}/absent")).await,
        client.get("/apis/batch/v1beta1/cronjobs?limit=1").await,
        client.get(&format!("{path}?watch=true&timeoutSeconds=1")).await,
        client.delete(&one).await,
    ] {
        assert_eq!(warnings(&response), [WARNING], "{}", response.text);
    }
    assert!(warnings(&client.get(CRON_JOBS).await).is_empty());
    assert!(warnings(&client.get("/apis/batch/v1beta1").await).is_empty());
    let refused = server.client("wrong").get(&one).await;
    assert_eq!((refused.code.as_u16(), warnings(&refused)), (401, vec![]));
}

#[tokio::test]
async fn an_empty_time_zone_is_accepted_unless_the_dialect_is_strict() {
    let mut object = cron_job("a");
    object["spec"]["timeZone"] = json!("");
    let created = TestServer::new().await.admin().post(CRON_JOBS, &object).await;
    assert_eq!((created.code.as_u16(), &created.body["spec"]["timeZone"]), (201, &json!("")));
    let rejected = TestServer::strict().await.admin().post(CRON_JOBS, &object).await;
    assert_eq!(rejected.code, 422, "{}", rejected.text);
}

#[tokio::test]
async fn an_event_is_equal_in_both_groups() {
    let server = TestServer::new().await;
    let client = server.admin();
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000001Z", "regarding": {"kind": "CronJob", "name": "a", "namespace": "default"},
        "note": "said", "reason": "Told", "action": "x", "type": "Normal",
        "reportingController": "punctual.dev/x", "reportingInstance": "i"});
    let created = client.post("/apis/events.k8s.io/v1/namespaces/default/events", &event).await;
    assert_eq!(created.code, 201, "{}", created.text);
    let core = client.get("/api/v1/namespaces/default/events/e").await.body;
    assert_eq!((&core["message"], &core["involvedObject"]["name"]), (&json!("said"), &json!("a")));
    assert_eq!(core["reportingComponent"], "punctual.dev/x");
    let selected =
        "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Da";
    let list = client.get(selected).await.body;
    assert_eq!(list["items"][0]["note"], "said");
    assert_eq!(list["items"][0]["regarding"]["name"], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_creates_of_one_name_succeed_once() {
    let server = TestServer::new().await;
    let client = server.admin();
    let object = cron_job("a");
    let responses = join_all((0..50).map(|_| client.post(CRON_JOBS, &object))).await;
    let codes = |code: u16| responses.iter().filter(|response| response.code == code).count();
    assert_eq!((codes(201), codes(409)), (1, 49));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_patches_all_take_effect() {
    let server = TestServer::new().await;
    let client = server.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    let path = format!("{CRON_JOBS}/a");
    let responses = join_all((0..30).map(|n| {
        let client = client.clone();
        let path = path.clone();
        async move {
            let patch = json!({"metadata": {"labels": {format!("l{n}"): "x"}}});
            client.merge(&path, &patch).await.code
        }
    }))
    .await;
    assert!(responses.iter().all(|code| *code == 200), "{responses:?}");
    let labels = client.get(&path).await.body["metadata"]["labels"].as_object().unwrap().len();
    assert_eq!(labels, 30);
}

#[tokio::test]
async fn a_write_without_effect_creates_no_revision() {
    let server = TestServer::new().await;
    let client = server.admin();
    let created = client.post(CRON_JOBS, &cron_job("a")).await.body;
    let revision = server.store.revision();
    let path = format!("{CRON_JOBS}/a");
    assert_eq!(client.put(&path, &created).await.body, created);
    assert_eq!(client.merge(&path, &json!({"spec": {"suspend": false}})).await.body, created);
    assert_eq!(server.store.revision(), revision);
}

#[tokio::test]
async fn requests_and_responses_may_be_yaml() {
    let server = TestServer::new().await;
    let client = server.admin();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 'yes'}\n";
    let request = client.request(Method::POST, "/api/v1/namespaces/default/configmaps");
    let request =
        request.header("Content-Type", "application/yaml").header("Accept", "application/yaml");
    let response = client.send(request.body(yaml.into()).unwrap()).await;
    assert_eq!(response.code, 201, "{}", response.text);
    assert!(response.text.contains("kind: ConfigMap"), "{}", response.text);
    let read = client.get("/api/v1/namespaces/default/configmaps/a").await.body;
    assert_eq!(read["data"], json!({"k": "yes"}));
    let invalid = client.request(Method::POST, "/api/v1/namespaces/default/configmaps");
    let invalid = invalid.header("Content-Type", "application/yaml").body("a: [b".into()).unwrap();
    assert_eq!(client.send(invalid).await.code, 400);
}

#[tokio::test]
async fn string_data_of_a_secret_is_encoded_into_data() {
    let server = TestServer::new().await;
    let client = server.admin();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"a": "eA==", "b": "eA=="}, "stringData": {"b": "text"}});
    let created = client.post("/api/v1/namespaces/default/secrets", &secret).await.body;
    assert_eq!(created["data"], json!({"a": "eA==", "b": "dGV4dA=="}));
    assert_eq!((created.get("stringData"), &created["type"]), (None, &json!("Opaque")));
}

#[tokio::test]
async fn extension_fields_are_accepted_unless_the_dialect_is_strict() {
    let object = |kind: &str, version: &str| {
        let mut object = cron_job("ours");
        object["kind"] = json!(kind);
        object["apiVersion"] = json!(version);
        object["spec"]["concurrencyPolicy"] = json!("CatchUp");
        object["spec"]["jitter"] = json!(20);
        object
    };
    let open = TestServer::new().await;
    let strict = TestServer::strict().await;
    let scheduled = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
    for server in [&open, &strict] {
        let response =
            server.admin().post(scheduled, &object("ScheduledJob", "punctual.dev/v1")).await;
        assert_eq!(response.code, 201, "{}", response.text);
        assert_eq!(response.body["spec"]["jitter"], 20);
    }
    assert_eq!(open.admin().post(CRON_JOBS, &object("CronJob", "batch/v1")).await.code, 201);
    assert_eq!(strict.admin().post(CRON_JOBS, &object("CronJob", "batch/v1")).await.code, 422);
}
