//! Ends: of Pods with their grace, of namespaces with their content, of what finalizers hold.

use http::Method;
use serde_json::{Value, json};

use crate::client::{CRON_JOBS, Client, Site, cron_job};

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn pod(client: &Client, name: &str, node: &str) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x"}]}});
    let answer = client.post(PODS, &object).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    answer.body
}

#[tokio::test]
async fn a_pod_that_may_run_is_given_time_and_one_that_cannot_is_not() {
    let site = Site::new().await;
    let client = site.admin();
    pod(&client, "waiting", "").await;
    assert_eq!(client.delete(&format!("{PODS}/waiting")).await.body["kind"], "Pod");
    assert_eq!(client.get(&format!("{PODS}/waiting")).await.code, 404);

    pod(&client, "running", "here").await;
    let path = format!("{PODS}/running");
    let marked = client.delete(&path).await.body;
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(client.get(&path).await.code, 200);
    // Sooner is possible, later is not.
    let sooner = client.delete(&format!("{path}?gracePeriodSeconds=5")).await.body;
    assert_eq!(sooner["metadata"]["deletionGracePeriodSeconds"], 5);
    let later = client.delete(&format!("{path}?gracePeriodSeconds=60")).await.body;
    assert_eq!(later["metadata"]["deletionGracePeriodSeconds"], 5);
    assert_eq!(client.delete(&format!("{path}?gracePeriodSeconds=0")).await.code, 200);
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test]
async fn what_nothing_holds_any_more_goes_with_the_write_that_says_so() {
    let site = Site::new().await;
    let client = site.admin();
    let mut held = cron_job("a");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(CRON_JOBS, &held).await;
    let path = format!("{CRON_JOBS}/a");
    assert!(client.delete(&path).await.body["metadata"]["deletionTimestamp"].is_string());
    let mut watch = client
        .watch(&format!("{CRON_JOBS}?watch=1&resourceVersion={}", site.store.revision()))
        .await;
    client.merge(&path, &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(watch.event().await, ("DELETED".to_owned(), "a".to_owned()));
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test]
async fn a_namespace_goes_when_its_last_finalizer_does() {
    let site = Site::new().await;
    let client = site.admin();
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
async fn a_collection_is_deleted_as_it_is_selected() {
    let site = Site::new().await;
    let client = site.admin();
    for (name, group) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut object = cron_job(name);
        object["metadata"]["labels"] = json!({"g": group});
        client.post(CRON_JOBS, &object).await;
    }
    let dry = client.delete(&format!("{CRON_JOBS}?labelSelector=g=x&dryRun=All")).await;
    assert_eq!(dry.body["items"].as_array().unwrap().len(), 2);
    assert_eq!(client.get(CRON_JOBS).await.body["items"].as_array().unwrap().len(), 3);
    client.delete(&format!("{CRON_JOBS}?labelSelector=g=x")).await;
    let left = client.get(CRON_JOBS).await.body;
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
}

#[tokio::test]
async fn options_of_a_delete_may_be_in_its_body() {
    let site = Site::new().await;
    let client = site.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    let path = format!("{CRON_JOBS}/a");
    let options =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"});
    let answer = client.write(Method::DELETE, &path, "application/json", &options).await;
    assert_eq!(answer.body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let broken = client.write(Method::DELETE, &path, "application/json", &json!([1])).await;
    assert_eq!(broken.code, 400, "{}", broken.text);
}

#[tokio::test]
async fn namespaces_that_every_cluster_has_stay() {
    let site = Site::new().await;
    let client = site.admin();
    for name in ["default", "kube-system", "kube-public"] {
        let refused = client.delete(&format!("/api/v1/namespaces/{name}")).await;
        let message =
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!(refused.code, 403);
        assert_eq!(refused.body["message"], message);
    }
}
