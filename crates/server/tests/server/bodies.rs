//! Tests of requests that are answered before their body was read.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use punctual_server::ServerLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::client::CRON_JOBS;
use crate::tls::TlsServer;

/// A path, a token and the code of the response, which does not depend on the body.
fn refused_requests(server: &TlsServer) -> Vec<(String, String, u16)> {
    let admin = server.token("admin");
    vec![
        (CRON_JOBS.to_owned(), "wrong".to_owned(), 401),
        (CRON_JOBS.to_owned(), server.token("view"), 403),
        ("/apis/batch/v1/namespaces/default/nothing".to_owned(), admin.clone(), 404),
        (format!("{CRON_JOBS}?dryRun=maybe"), admin, 422),
    ]
}

fn post(path: &str, token: &str, body: Bytes) -> Request<Full<Bytes>> {
    Request::post(path)
        .header("Host", "x")
        .header("Authorization", format!("Bearer {token}"))
        .header("Content-Type", "application/json")
        .body(Full::new(body))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_body_does_not_break_the_next_request_of_a_connection() {
    let server = TlsServer::limited(ServerLimits::default()).await;
    for (path, token, code) in refused_requests(&server) {
        let stream = server.connect(&["http/1.1"]).await;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        for length in [10, 200_000, 1_000_000] {
            for _ in 0..5 {
                sender.ready().await.expect("the connection was closed without notice");
                let request = post(&path, &token, vec![b' '; length].into());
                let response = sender.send_request(request).await.unwrap();
                assert_eq!(response.status().as_u16(), code);
                assert!(!response.headers().contains_key("connection"));
                response.into_body().collect().await.unwrap();
            }
        }
    }
}

/// The body arrives after the response could have been sent, as with Python's `requests`.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_a_later_packet_is_not_taken_for_the_next_request() {
    let server = TlsServer::limited(ServerLimits::default()).await;
    let mut stream = server.connect(&["http/1.1"]).await;
    for _ in 0..3 {
        let head = format!("POST {CRON_JOBS} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(b"hello").await.unwrap();
        let mut buffer = [0; 4096];
        let count = timeout(Duration::from_secs(10), stream.read(&mut buffer)).await;
        let count = count.expect("no response").unwrap();
        let response = String::from_utf8_lossy(&buffer[..count]);
        assert!(response.starts_with("HTTP/1.1 403"), "{response}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_body_is_refused_with_a_response_that_closes_the_connection() {
    let server = TlsServer::limited(ServerLimits::default()).await;
    let token = server.token("admin");
    let stream = server.connect(&["http/1.1"]).await;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = post(CRON_JOBS, &token, vec![b' '; 12 << 20].into());
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(response.headers()["connection"], "close");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_body_is_refused_with_a_response_over_http2() {
    let server = TlsServer::limited(ServerLimits::default()).await;
    let token = server.token("admin");
    let stream = server.connect(&["h2"]).await;
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    for megabytes in [5, 5, 20] {
        let request = post(CRON_JOBS, &token, vec![b' '; megabytes << 20].into());
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), 413, "{megabytes} MiB");
        // A client that is still sending reports a reset stream instead of this body.
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.starts_with(b"{\"kind\":\"Status\""), "{megabytes} MiB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_requests_get_their_response_over_http2() {
    let server = TlsServer::limited(ServerLimits::default()).await;
    for (path, token, code) in refused_requests(&server) {
        let stream = server.connect(&["h2"]).await;
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let requests = (0..15).map(|_| {
            let mut sender = sender.clone();
            let request = post(&path, &token, vec![b' '; 300_000].into());
            async move { sender.send_request(request).await.map(|it| it.status().as_u16()) }
        });
        for result in futures::future::join_all(requests).await {
            assert_eq!(result.unwrap(), code);
        }
    }
}
