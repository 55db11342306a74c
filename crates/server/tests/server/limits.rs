//! Tests of the limits of requests, watches and bodies.

use std::time::Duration;

use axum::body::Body;
use http::Method;
use k8s_openapi::api::batch::v1::CronJob;
use kube::api::{Api, ListParams, WatchParams};
use punctual_server::ServerLimits;
use serde_json::json;

use crate::client::{CRON_JOBS, TestServer, cron_job};
use crate::kube::client;

#[tokio::test]
async fn too_large_bodies_are_refused() {
    let server =
        TestServer::limited(ServerLimits { body_bytes_max: 1000, ..ServerLimits::default() }).await;
    let mut large = cron_job("a");
    large["metadata"]["annotations"] = json!({"x": "y".repeat(1000)});
    let refused = server.admin().post(CRON_JOBS, &large).await;
    assert_eq!((refused.code.as_u16(), &refused.body["kind"]), (413, &json!("Status")));
    assert_eq!(refused.body["message"], "Request entity too large: limit is 1000");
}

#[tokio::test]
async fn watches_above_the_limit_are_refused_with_retry_after() {
    let server =
        TestServer::limited(ServerLimits { watches_max: 1, ..ServerLimits::default() }).await;
    let client = server.admin();
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
async fn requests_above_the_rate_are_refused() {
    let server =
        TestServer::limited(ServerLimits { requests_per_second: 1, ..ServerLimits::default() })
            .await;
    let client = server.admin();
    assert_eq!(client.get("/version").await.code, 200);
    assert_eq!(client.get("/version").await.code, 429);
    assert_eq!(client.get("/healthz").await.code, 200, "health checks are not limited");
}

#[tokio::test]
async fn in_process_requests_are_not_limited() {
    let limits = ServerLimits { requests_per_second: 0, watches_max: 0, ..ServerLimits::default() };
    let server = TestServer::limited(limits).await;
    assert_eq!(server.admin().get(CRON_JOBS).await.code, 429);
    let cron_jobs: Api<CronJob> = Api::default_namespaced(client(&server));
    assert_eq!(cron_jobs.list(&ListParams::default()).await.unwrap().items.len(), 0);
    assert!(cron_jobs.watch(&WatchParams::default(), "0").await.is_ok());
}

#[tokio::test]
async fn slow_requests_time_out() {
    let limits =
        ServerLimits { request_timeout: Duration::from_millis(1), ..ServerLimits::default() };
    let server = TestServer::limited(limits).await;
    let client = server.admin();
    // This body never ends.
    let body = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let response = client.send(client.request(Method::POST, CRON_JOBS).body(body).unwrap()).await;
    assert_eq!((response.code.as_u16(), &response.body["reason"]), (504, &json!("Timeout")));
}

#[tokio::test]
async fn requests_are_counted_in_metrics() {
    let server = TestServer::new().await;
    let client = server.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    client.get(&format!("{CRON_JOBS}/none")).await;
    let page = client.get("/metrics").await.text;
    let create = "apiserver_request_total{verb=\"create\",group=\"batch\",version=\"v1\",\
                  resource=\"cronjobs\",subresource=\"\",code=\"201\"} 1";
    assert!(page.contains(create), "{page}");
    assert!(page.contains("resource=\"cronjobs\",subresource=\"\",code=\"404\"} 1"), "{page}");
    assert!(page.contains("apiserver_request_duration_seconds_bucket{le="), "{page}");
}
