//! Tests of lists: pages, compression and formats.

use std::collections::BTreeSet;
use std::io::Read as _;

use axum::body::Body;
use http::Method;
use http_body_util::BodyExt as _;
use punctual_store::Options;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::client::{CRON_JOBS, TestClient, TestServer, cron_job};

async fn create_cron_jobs(client: &TestClient, count: usize) {
    for n in 0..count {
        client.post(CRON_JOBS, &cron_job(&format!("c{n:04}"))).await;
    }
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_show_one_version_despite_concurrent_writes() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_cron_jobs(&client, 25).await;
    let first = client.get(&format!("{CRON_JOBS}?limit=10")).await.body;
    assert_eq!(first["metadata"]["remainingItemCount"], 15);
    let revision = first["metadata"]["resourceVersion"].clone();
    let mut seen = names(&first);
    client.delete(&format!("{CRON_JOBS}/c0015")).await;
    client.post(CRON_JOBS, &cron_job("c0012-new")).await;
    let mut token = first["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
    while !token.is_empty() {
        let page = client.get(&format!("{CRON_JOBS}?limit=10&continue={token}")).await.body;
        assert_eq!(page["metadata"]["resourceVersion"], revision);
        seen.extend(names(&page));
        token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
    }
    let want: Vec<String> = (0..25).map(|n| format!("c{n:04}")).collect();
    assert_eq!(seen, want);
}

#[tokio::test]
async fn an_expired_continue_token_is_answered_with_a_new_one() {
    let options = Options { history_changes_max: 4, ..Options::default() };
    let server = TestServer::with(options, |_| {}).await;
    let client = server.admin();
    create_cron_jobs(&client, 4).await;
    let first = client.get(&format!("{CRON_JOBS}?limit=2")).await.body;
    let token = first["metadata"]["continue"].as_str().unwrap();
    create_cron_jobs(&client, 12).await;
    let expired = client.get(&format!("{CRON_JOBS}?limit=2&continue={token}")).await;
    assert_eq!((expired.code.as_u16(), &expired.body["reason"]), (410, &json!("Expired")));
    let token = expired.body["metadata"]["continue"].as_str().unwrap();
    let remaining = client.get(&format!("{CRON_JOBS}?continue={token}")).await.body;
    assert_eq!(names(&remaining).first().map(String::as_str), Some("c0002"));
}

#[tokio::test]
async fn large_lists_are_compressed_if_the_client_accepts_gzip() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_cron_jobs(&client, 150).await;
    let plain = client.get(CRON_JOBS).await;
    assert!(plain.text.len() > 128 << 10);
    assert_eq!(plain.headers["vary"], "Accept-Encoding");
    let request = client.request(Method::GET, CRON_JOBS).header("Accept-Encoding", "gzip");
    let response =
        client.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let packed = response.into_body().collect().await.unwrap().to_bytes();
    assert!(packed.len() * 5 < plain.text.len());
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed).read_to_string(&mut text).unwrap();
    assert_eq!(text, plain.text);
    let found: BTreeSet<String> = names(&plain.body).into_iter().collect();
    assert_eq!(found.len(), 150);
}

#[tokio::test]
async fn lists_have_a_kind_and_their_items_have_none() {
    let server = TestServer::new().await;
    let client = server.admin();
    create_cron_jobs(&client, 1).await;
    let list = client.get("/apis/batch/v1beta1/cronjobs").await.body;
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("CronJobList"), &json!("batch/v1beta1"))
    );
    assert_eq!((list["items"][0].get("kind"), list["items"][0].get("apiVersion")), (None, None));
    assert_eq!(client.get("/api/v1/pods").await.body["items"], json!([]));
}

/// kubectl reads this list before it reports that a kind is not served.
#[tokio::test]
async fn the_list_of_custom_resource_definitions_is_empty_and_read_only() {
    let server = TestServer::new().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let list = server.admin().get(path).await;
    assert_eq!((list.code.as_u16(), &list.body["items"]), (200, &serde_json::json!([])));
    assert_eq!(list.body["kind"], "CustomResourceDefinitionList");
    assert_eq!(server.admin().post(path, &list.body).await.code, 405);
}
