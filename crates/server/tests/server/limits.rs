//! Limits: who asks too much is told so, in words that every client understands.

use std::time::Duration;

use axum::body::Body;
use http::Method;
use k8s_openapi::api::batch::v1::CronJob;
use kube::api::{Api, ListParams, WatchParams};
use punctual_server::Limits;
use serde_json::json;

use crate::client::{CRON_JOBS, Site, cron_job};
use crate::kube::client;

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_a_status() {
    let site = Site::limited(Limits { body_bytes_max: 1000, ..Limits::default() }).await;
    let mut large = cron_job("a");
    large["metadata"]["annotations"] = json!({"x": "y".repeat(1000)});
    let refused = site.admin().post(CRON_JOBS, &large).await;
    assert_eq!((refused.code.as_u16(), &refused.body["kind"]), (413, &json!("Status")));
    assert_eq!(refused.body["message"], "Request entity too large: limit is 1000");
}

#[tokio::test]
async fn watches_beyond_the_limit_are_told_to_come_back() {
    let site = Site::limited(Limits { watches_max: 1, ..Limits::default() }).await;
    let client = site.admin();
    let path = format!("{CRON_JOBS}?watch=true");
    let first = client.watch(&path).await;
    let refused = client.get(&path).await;
    assert_eq!(
        (refused.code.as_u16(), refused.headers["retry-after"].to_str().unwrap()),
        (429, "1")
    );
    drop(first);
    client.watch(&path).await;
}

#[tokio::test]
async fn requests_beyond_the_rate_are_told_to_come_back() {
    let site = Site::limited(Limits { requests_per_second: 1, ..Limits::default() }).await;
    let client = site.admin();
    assert_eq!(client.get("/healthz").await.code, 200);
    assert_eq!(client.get("/healthz").await.code, 429);
}

#[tokio::test]
async fn the_process_itself_is_not_kept_out() {
    let limits = Limits { requests_per_second: 0, watches_max: 0, ..Limits::default() };
    let site = Site::limited(limits).await;
    assert_eq!(site.admin().get(CRON_JOBS).await.code, 429);
    let cron_jobs: Api<CronJob> = Api::default_namespaced(client(&site));
    assert_eq!(cron_jobs.list(&ListParams::default()).await.unwrap().items.len(), 0);
    assert!(cron_jobs.watch(&WatchParams::default(), "0").await.is_ok());
}

#[tokio::test]
async fn a_request_that_takes_too_long_ends_with_a_status() {
    let limits = Limits { request_timeout: Duration::from_millis(1), ..Limits::default() };
    let site = Site::limited(limits).await;
    let client = site.admin();
    // A body that never comes.
    let body = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let answer = client.send(client.request(Method::POST, CRON_JOBS).body(body).unwrap()).await;
    assert_eq!((answer.code.as_u16(), &answer.body["reason"]), (504, &json!("Timeout")));
}

#[tokio::test]
async fn what_was_asked_is_counted() {
    let site = Site::new().await;
    let client = site.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    client.get(&format!("{CRON_JOBS}/none")).await;
    let page = client.get("/metrics").await.text;
    let create = "apiserver_request_total{verb=\"create\",group=\"batch\",version=\"v1\",\
                  resource=\"cronjobs\",subresource=\"\",code=\"201\"} 1";
    assert!(page.contains(create), "{page}");
    assert!(page.contains("resource=\"cronjobs\",subresource=\"\",code=\"404\"} 1"), "{page}");
    assert!(page.contains("apiserver_request_duration_seconds_bucket{le="), "{page}");
}
