//! Tests of the limits and deadlines of connections.

use std::time::Duration;

use punctual_server::{ConnectionLimits, ServerLimits};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::client::CRON_JOBS;
use crate::tls::TlsServer;

const SHORT: Duration = Duration::from_millis(300);
/// A connection must be closed within this time.
const CLOSED_WITHIN: Duration = Duration::from_secs(20);

fn limits(total_max: usize) -> ServerLimits {
    let connections = ConnectionLimits {
        handshake_timeout: SHORT,
        first_request_timeout: SHORT,
        header_timeout: SHORT,
        idle_timeout: SHORT * 4,
        ..ConnectionLimits::with_total(total_max)
    };
    ServerLimits { connections, ..ServerLimits::default() }
}

/// Reads until the server closes the connection, and returns how long that took.
async fn closed_after(stream: &mut (impl AsyncRead + Unpin)) -> Duration {
    let start = Instant::now();
    let mut buffer = Vec::new();
    let closing = timeout(CLOSED_WITHIN, stream.read_to_end(&mut buffer));
    let _ = closing.await.expect("the server does not close the connection");
    start.elapsed()
}

/// Sends a GET over HTTP/1.1 and returns the headers of the response.
async fn get(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    path: &str,
    token: &str,
) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_response(stream).await
}

/// Reads until the end of the headers, and what has arrived after them.
async fn read_response(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = String::new();
    while !text.contains("\r\n\r\n") {
        let mut buffer = [0; 4096];
        let count = timeout(CLOSED_WITHIN, stream.read(&mut buffer)).await.unwrap().unwrap();
        assert!(count > 0, "the connection was closed: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_speak_is_disconnected() {
    let server = TlsServer::limited(limits(100)).await;
    let mut no_handshake = TcpStream::connect(server.address).await.unwrap();
    closed_after(&mut no_handshake).await;
    for protocols in [&[][..], &["http/1.1"], &["h2"]] {
        let mut silent = server.connect(protocols).await;
        closed_after(&mut silent).await;
    }
    let mut preface_only = server.connect(&["h2"]).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    preface_only.write_all(preface).await.unwrap();
    closed_after(&mut preface_only).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_headers_slowly_is_disconnected() {
    let server = TlsServer::limited(limits(100)).await;
    let mut stream = server.connect(&["http/1.1"]).await;
    assert!(get(&mut stream, "/healthz", &server.token("view")).await.starts_with("HTTP/1.1 200"));
    let (mut reader, mut writer) = tokio::io::split(stream);
    let dripping = tokio::spawn(async move {
        let _ = writer.write_all(b"GET /healthz HTTP/1.1\r\n").await;
        loop {
            tokio::time::sleep(SHORT / 3).await;
            if writer.write_all(b"X: y\r\n").await.is_err() {
                return;
            }
        }
    });
    closed_after(&mut reader).await;
    dripping.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed_and_a_watch_is_not_idle() {
    let server = TlsServer::limited(limits(100)).await;
    let token = server.token("view");
    let mut idle = server.connect(&["http/1.1"]).await;
    get(&mut idle, "/healthz", &token).await;
    let mut watching = server.connect(&["http/1.1"]).await;
    let path = format!("{CRON_JOBS}?watch=true");
    assert!(get(&mut watching, &path, &token).await.starts_with("HTTP/1.1 200"));
    let open_for = closed_after(&mut idle).await;
    assert!(open_for >= SHORT * 3, "{open_for:?}");
    let mut buffer = [0; 1];
    assert!(timeout(SHORT * 6, watching.read(&mut buffer)).await.is_err(), "the watch ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_do_not_keep_others_out() {
    let unhurried = ConnectionLimits::with_total(20);
    let limits = ServerLimits { connections: unhurried, ..ServerLimits::default() };
    let server = TlsServer::limited(limits).await;
    let token = server.token("admin");
    let mut watching = server.connect(&["http/1.1"]).await;
    get(&mut watching, &format!("{CRON_JOBS}?watch=true"), &token).await;
    let mut silent = Vec::new();
    for _ in 0..60 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    let mut client = server.connect(&["http/1.1"]).await;
    assert!(get(&mut client, CRON_JOBS, &token).await.starts_with("HTTP/1.1 200"));
    let mut buffer = [0; 1];
    assert!(timeout(SHORT, watching.read(&mut buffer)).await.is_err(), "the watch was evicted");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watches_of_a_user_do_not_keep_others_out() {
    let unhurried = ConnectionLimits::with_total(20);
    let limits = ServerLimits { connections: unhurried, ..ServerLimits::default() };
    let server = TlsServer::limited(limits).await;
    let path = format!("{CRON_JOBS}?watch=true");
    let mut accepted = 0;
    let mut watching = Vec::new();
    for _ in 0..15 {
        let mut stream = server.connect(&["http/1.1"]).await;
        let response = get(&mut stream, &path, &server.token("view")).await;
        accepted += usize::from(response.starts_with("HTTP/1.1 200"));
        watching.push(stream);
    }
    assert_eq!(accepted, 5, "a quarter of the connections");
    let mut client = server.connect(&["http/1.1"]).await;
    let response = get(&mut client, CRON_JOBS, &server.token("admin")).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}
