//! Tests of deletion: grace periods of Pods, finalizers, namespaces and collections.

use http::Method;
use serde_json::{Value, json};

use crate::client::{CRON_JOBS, TestClient, TestServer, cron_job};

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn create_pod(client: &TestClient, name: &str, node: &str) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x"}]}});
    let response = client.post(PODS, &object).await;
    assert_eq!(response.code, 201, "{}", response.text);
    response.body
}

#[tokio::test]
async fn only_pods_with_a_node_have_a_grace_period() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_pod(&client, "waiting", "").await;
    assert_eq!(client.delete(&format!("{PODS}/waiting")).await.body["kind"], "Pod");
    assert_eq!(client.get(&format!("{PODS}/waiting")).await.code, 404);

    create_pod(&client, "running", "here").await;
    let path = format!("{PODS}/running");
    let marked = client.delete(&path).await.body;
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(client.get(&path).await.code, 200);
    // The grace period can be shortened but not extended.
    let sooner = client.delete(&format!("{path}?gracePeriodSeconds=5")).await.body;
    assert_eq!(sooner["metadata"]["deletionGracePeriodSeconds"], 5);
    let later = client.delete(&format!("{path}?gracePeriodSeconds=60")).await.body;
    assert_eq!(later["metadata"]["deletionGracePeriodSeconds"], 5);
    assert_eq!(client.delete(&format!("{path}?gracePeriodSeconds=0")).await.code, 200);
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test]
async fn removing_the_last_finalizer_deletes_a_terminating_object() {
    let server = TestServer::new().await;
    let client = server.admin();
    let mut object = cron_job("a");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(CRON_JOBS, &object).await;
    let path = format!("{CRON_JOBS}/a");
    assert!(client.delete(&path).await.body["metadata"]["deletionTimestamp"].is_string());
    let mut watch = client
        .watch(&format!("{CRON_JOBS}?watch=1&resourceVersion={}", server.store.revision()))
        .await;
    client.merge(&path, &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(watch.event().await, ("DELETED".to_owned(), "a".to_owned()));
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test]
async fn removing_the_last_finalizer_deletes_a_terminating_namespace() {
    let server = TestServer::new().await;
    let client = server.admin();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    client.post("/api/v1/namespaces", &namespace).await;
    let path = "/api/v1/namespaces/n";
    let mut marked = client.delete(path).await.body;
    assert_eq!(marked["status"]["phase"], "Terminating");
    let late = client.post("/apis/batch/v1/namespaces/n/cronjobs", &cron_job("late")).await;
    assert_eq!((late.code.as_u16(), &late.body["reason"]), (403, &json!("Forbidden")));
    marked["spec"]["finalizers"] = json!([]);
    let finalized = client.put(&format!("{path}/finalize"), &marked).await;
    assert_eq!(finalized.code, 200, "{}", finalized.text);
    assert_eq!(client.get(path).await.code, 404);
}

#[tokio::test]
async fn deleting_a_collection_deletes_the_selected_objects() {
    let server = TestServer::new().await;
    let client = server.admin();
    for (name, group) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut object = cron_job(name);
        object["metadata"]["labels"] = json!({"g": group});
        client.post(CRON_JOBS, &object).await;
    }
    let dry = client.delete(&format!("{CRON_JOBS}?labelSelector=g=x&dryRun=All")).await;
    assert_eq!(dry.body["items"].as_array().unwrap().len(), 2);
    assert_eq!(client.get(CRON_JOBS).await.body["items"].as_array().unwrap().len(), 3);
    client.delete(&format!("{CRON_JOBS}?labelSelector=g=x")).await;
    let remaining = client.get(CRON_JOBS).await.body;
    assert_eq!(remaining["items"].as_array().unwrap().len(), 1);
    assert_eq!(remaining["items"][0]["metadata"]["name"], "b");
}

#[tokio::test]
async fn delete_options_may_be_in_the_body() {
    let server = TestServer::new().await;
    let client = server.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    let path = format!("{CRON_JOBS}/a");
    let options =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"});
    let response = client.write(Method::DELETE, &path, "application/json", &options).await;
    assert_eq!(response.body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let invalid = client.write(Method::DELETE, &path, "application/json", &json!([1])).await;
    assert_eq!(invalid.code, 400, "{}", invalid.text);
}

#[tokio::test]
async fn initial_namespaces_cannot_be_deleted() {
    let server = TestServer::new().await;
    let client = server.admin();
    for name in ["default", "kube-system", "kube-public"] {
        let refused = client.delete(&format!("/api/v1/namespaces/{name}")).await;
        let message =
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!(refused.code, 403);
        assert_eq!(refused.body["message"], message);
    }
}
