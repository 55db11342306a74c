//! Writes: what a client sends is what is stored, once, whoever else writes at the same time.

use futures::future::join_all;
use http::Method;
use serde_json::json;

use crate::client::{CRON_JOBS, Site, cron_job};

#[tokio::test]
async fn a_cron_job_is_the_same_under_both_of_its_versions() {
    let site = Site::new().await;
    let client = site.admin();
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
async fn an_event_is_the_same_in_both_of_its_groups() {
    let site = Site::new().await;
    let client = site.admin();
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
async fn of_many_who_create_the_same_name_one_succeeds() {
    let site = Site::new().await;
    let client = site.admin();
    let object = cron_job("a");
    let answers = join_all((0..50).map(|_| client.post(CRON_JOBS, &object))).await;
    let codes = |code: u16| answers.iter().filter(|answer| answer.code == code).count();
    assert_eq!((codes(201), codes(409)), (1, 49));
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_at_the_same_time_are_all_made() {
    let site = Site::new().await;
    let client = site.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    let path = format!("{CRON_JOBS}/a");
    let answers = join_all((0..30).map(|n| {
        let (client, path) = (client.clone(), path.clone());
        async move {
            let patch = json!({"metadata": {"labels": {format!("l{n}"): "x"}}});
            client.merge(&path, &patch).await.code
        }
    }))
    .await;
    assert!(answers.iter().all(|code| *code == 200), "{answers:?}");
    let labels = client.get(&path).await.body["metadata"]["labels"].as_object().unwrap().len();
    assert_eq!(labels, 30);
}

#[tokio::test]
async fn a_write_that_changes_nothing_has_no_revision() {
    let site = Site::new().await;
    let client = site.admin();
    let created = client.post(CRON_JOBS, &cron_job("a")).await.body;
    let revision = site.store.revision();
    let path = format!("{CRON_JOBS}/a");
    assert_eq!(client.put(&path, &created).await.body, created);
    assert_eq!(client.merge(&path, &json!({"spec": {"suspend": false}})).await.body, created);
    assert_eq!(site.store.revision(), revision);
}

#[tokio::test]
async fn a_body_may_be_yaml_and_so_may_the_answer() {
    let site = Site::new().await;
    let client = site.admin();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 'yes'}\n";
    let request = client.request(Method::POST, "/api/v1/namespaces/default/configmaps");
    let request =
        request.header("Content-Type", "application/yaml").header("Accept", "application/yaml");
    let answer = client.send(request.body(yaml.into()).unwrap()).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    assert!(answer.text.contains("kind: ConfigMap"), "{}", answer.text);
    let read = client.get("/api/v1/namespaces/default/configmaps/a").await.body;
    assert_eq!(read["data"], json!({"k": "yes"}));
    let broken = client.request(Method::POST, "/api/v1/namespaces/default/configmaps");
    let broken = broken.header("Content-Type", "application/yaml").body("a: [b".into()).unwrap();
    assert_eq!(client.send(broken).await.code, 400);
}

#[tokio::test]
async fn texts_of_a_secret_become_its_values() {
    let site = Site::new().await;
    let client = site.admin();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"a": "eA==", "b": "eA=="}, "stringData": {"b": "text"}});
    let created = client.post("/api/v1/namespaces/default/secrets", &secret).await.body;
    assert_eq!(created["data"], json!({"a": "eA==", "b": "dGV4dA=="}));
    assert_eq!((created.get("stringData"), &created["type"]), (None, &json!("Opaque")));
}

#[tokio::test]
async fn our_own_fields_are_taken_where_they_are_spoken() {
    let ours = |kind: &str, version: &str| {
        let mut object = cron_job("ours");
        object["kind"] = json!(kind);
        object["apiVersion"] = json!(version);
        object["spec"]["concurrencyPolicy"] = json!("CatchUp");
        object["spec"]["jitter"] = json!(20);
        object
    };
    let (open, strict) = (Site::new().await, Site::strict().await);
    let scheduled = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
    for site in [&open, &strict] {
        let answer = site.admin().post(scheduled, &ours("ScheduledJob", "punctual.dev/v1")).await;
        assert_eq!(answer.code, 201, "{}", answer.text);
        assert_eq!(answer.body["spec"]["jitter"], 20);
    }
    assert_eq!(open.admin().post(CRON_JOBS, &ours("CronJob", "batch/v1")).await.code, 201);
    assert_eq!(strict.admin().post(CRON_JOBS, &ours("CronJob", "batch/v1")).await.code, 422);
}
