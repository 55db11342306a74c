//! Tests that clients that do not read their responses need little memory.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use punctual_server::{ConnectionLimits, ServerLimits};
use serde_json::{Value, json};

use crate::client::{CRON_JOBS, TestClient, TestServer, VIEW, cron_job};
use crate::tls::TlsServer;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// A CronJob with this many bytes of annotations.
fn large_cron_job(name: &str, bytes: usize) -> Value {
    let mut object = cron_job(name);
    object["metadata"]["annotations"] = json!({"x": "y".repeat(bytes)});
    object
}

/// Creates CronJobs that together make a list much longer than a chunk.
async fn create_many(client: &TestClient) {
    for index in 0..300 {
        let object = large_cron_job(&format!("c{index:03}"), 2_000);
        assert_eq!(client.post(CRON_JOBS, &object).await.code, 201);
    }
}

async fn get_as(client: &TestClient, accept: &str) -> String {
    let request = client.request(http::Method::GET, CRON_JOBS).header("Accept", accept);
    let response = client.send(request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(response.code, 200);
    assert!(!response.headers.contains_key("content-length"), "the list is streamed");
    response.text
}

#[tokio::test]
async fn long_lists_are_streamed_in_every_format() {
    let server = TestServer::new().await;
    create_many(&server.admin()).await;
    let viewer = server.client(VIEW);
    let full: Value = serde_json::from_str(&get_as(&viewer, "application/json").await).unwrap();
    assert_eq!(full["items"].as_array().unwrap().len(), 300);
    let table: Value = serde_json::from_str(&get_as(&viewer, TABLE).await).unwrap();
    assert_eq!((&table["kind"], table["rows"].as_array().unwrap().len()), (&json!("Table"), 300));
    assert_eq!(table["columnDefinitions"][0]["name"], "Name");
    assert_eq!(table["rows"][299]["cells"][0], "c299");
    let partial = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let partial: Value = serde_json::from_str(&get_as(&viewer, partial).await).unwrap();
    assert_eq!(partial["kind"], "PartialObjectMetadataList");
    assert_eq!(partial["items"][7]["metadata"], full["items"][7]["metadata"]);
    let text = get_as(&viewer, "application/yaml").await;
    let (yaml, _) = punctual_api::yaml::parse_document(&text, 0, &mut Default::default()).unwrap();
    assert_eq!(
        (&yaml["kind"], yaml["items"].as_array().unwrap().len()),
        (&json!("CronJobList"), 300)
    );
    assert_eq!(yaml["items"][7]["spec"], full["items"][7]["spec"]);
    let empty = viewer.request(http::Method::GET, "/apis/batch/v1/jobs");
    let empty = empty.header("Accept", "application/yaml").body(axum::body::Body::empty()).unwrap();
    assert!(viewer.send(empty).await.text.contains("\nitems: []\n"));
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// One connection with a closed window and 240 lists as tables, which together have 800 MB. Other tests
/// run in the same process, so the limit is generous.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn lists_that_are_not_read_need_little_memory_and_end() {
    let limits = ServerLimits {
        connections: ConnectionLimits {
            write_timeout: Duration::from_secs(2),
            ..ConnectionLimits::with_total(100)
        },
        ..ServerLimits::default()
    };
    let server = TlsServer::limited(limits).await;
    let admin = server.client().await;
    for index in 0..300 {
        let object = large_cron_job(&format!("c{index:03}"), 10_000);
        let request = Request::post(CRON_JOBS).header("Content-Type", "application/json");
        let request = request.body(object.to_string().into_bytes()).unwrap();
        admin.request::<Value>(request).await.unwrap();
    }
    let stream = server.connect(&["h2"]).await;
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1).initial_connection_window_size(1 << 20);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let before = resident_bytes();
    let token = server.token("view");
    let requests =
        (0..240).map(|_| {
            let mut sender = sender.clone();
            let uri = format!("https://x{CRON_JOBS}?includeObject=Object");
            let request = Request::get(uri).header("Accept", TABLE);
            let request = request.header("Authorization", format!("Bearer {token}"));
            async move {
                sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap()
            }
        });
    let responses = futures::future::join_all(requests).await;
    let accepted: Vec<_> = responses.into_iter().filter(|it| it.status() == 200).collect();
    assert!(accepted.len() > 50, "{}", accepted.len());
    let grown = resident_bytes().saturating_sub(before) >> 20;
    println!("{} lists that are not read need {grown} MiB", accepted.len());
    assert!(grown < 250, "{grown} MiB");
    tokio::time::sleep(Duration::from_secs(3)).await;
    for response in accepted {
        assert!(response.into_body().collect().await.is_err(), "the response was not ended");
    }
}
