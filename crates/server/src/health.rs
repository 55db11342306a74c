//! Health and metrics endpoints of a process that serves no Kubernetes API, such as the controller.
//!
//! They use plain HTTP, for kubelets and Prometheus, and expose no object data.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use http::{Request, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use punctual_schedule::Zones;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::limits::ConnectionLimits;
use crate::listen::{self, ACCEPT_RETRY_DELAY, ConnectionEntry, ConnectionTable};
use crate::metrics::{self, AppendMetrics};

/// The number of connections that one address may have, as the divisor of all connections. Clients
/// of other addresses, such as the kubelet, keep the rest.
const SHARE_OF_ADDRESS: usize = 4;
/// Time limit for a client to send its request headers. Each connection serves one request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for a whole connection, so that slow clients cannot block others forever.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
const HEALTHZ: &str = "/healthz";
const LIVEZ: &str = "/livez";
const READYZ: &str = "/readyz";

/// Why a process is not ready. The text becomes the body of the `/readyz` response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(pub String);

impl NotReady {
    /// Creates one from a text.
    pub fn new(reason: &str) -> NotReady {
        NotReady(reason.to_owned())
    }
}

/// An asynchronous readiness check.
pub type ReadyCheck = dyn Fn() -> BoxFuture<'static, Result<(), NotReady>> + Send + Sync;

/// The data behind the endpoints.
#[derive(Clone)]
pub struct HealthEndpoints {
    /// Called for each request to `/readyz`.
    pub check_ready: Arc<ReadyCheck>,
    /// Appends the process's metrics to the response of `/metrics`.
    pub metrics: Arc<AppendMetrics>,
    /// The time zones that the process uses.
    pub zones: Zones,
    /// Maximum number of connections. Beyond it the connection that has been waiting for the longest
    /// time without a health check is closed.
    pub connections_max: usize,
}

/// Serves `/healthz`, `/livez`, `/readyz` and `/metrics` until `stop` is cancelled.
///
/// Health checks are answered however many connections are idle or read `/metrics` slowly: those make
/// room for new ones. Otherwise the kubelet would restart a process that it cannot reach.
pub async fn serve_health(
    endpoints: HealthEndpoints,
    listener: TcpListener,
    stop: CancellationToken,
) {
    let table = ConnectionTable::new(connection_limits(endpoints.connections_max));
    let router = router(endpoints);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listen::accept(&listener, &table) => accepted,
        };
        let Some((socket, address)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        // At the limit with health checks only, the new connection is closed.
        let Some(entry) = table.add(address.ip()) else { continue };
        let evicted = entry.evicted();
        let serving = serve_connection(socket, router.clone(), entry);
        tokio::spawn(async move {
            tokio::select! {
                () = serving => {}
                () = evicted.cancelled() => {}
                () = tokio::time::sleep(CONNECTION_TIMEOUT) => {}
            }
        });
    }
}

fn connection_limits(total_max: usize) -> ConnectionLimits {
    ConnectionLimits {
        per_address_max: (total_max / SHARE_OF_ADDRESS).max(1),
        ..ConnectionLimits::with_total(total_max.max(1))
    }
}

/// Serves one request. A connection with a health check is not evicted, since the check takes little
/// time and its response fits into the buffer of the socket.
async fn serve_connection(socket: TcpStream, router: Router, entry: ConnectionEntry) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).keep_alive(false);
    let endpoints = TowerToHyperService::new(router);
    let service = service_fn(|request: Request<Incoming>| {
        if [HEALTHZ, LIVEZ, READYZ].contains(&request.uri().path()) {
            entry.start_request();
        }
        endpoints.call(request)
    });
    // Disconnects and malformed requests are caused by the client, so they are logged at debug level
    // only.
    if let Err(error) = builder.serve_connection(TokioIo::new(socket), service).await {
        tracing::debug!(%error, "a connection to the health endpoints failed");
    }
}

fn router(endpoints: HealthEndpoints) -> Router {
    Router::new()
        .route(HEALTHZ, get(get_healthz))
        .route(LIVEZ, get(get_healthz))
        .route(READYZ, get(get_readyz))
        .route("/metrics", get(get_metrics))
        .with_state(endpoints)
}

async fn get_healthz() -> &'static str {
    "ok"
}

async fn get_readyz(State(endpoints): State<HealthEndpoints>) -> Response {
    match (endpoints.check_ready)().await {
        Ok(()) => "ok".into_response(),
        Err(NotReady(reason)) => (StatusCode::SERVICE_UNAVAILABLE, reason).into_response(),
    }
}

async fn get_metrics(State(endpoints): State<HealthEndpoints>) -> Response {
    // The metrics of the process are read from /proc, which must not block the tasks of this thread.
    let encode = move || metrics::encode_process_metrics(&endpoints.zones, &*endpoints.metrics);
    match tokio::task::spawn_blocking(encode).await {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::OPEN_METRICS_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tower::ServiceExt as _;

    use super::*;

    fn endpoints(ready: Result<(), &'static str>) -> HealthEndpoints {
        HealthEndpoints {
            check_ready: Arc::new(move || Box::pin(async move { ready.map_err(NotReady::new) })),
            metrics: Arc::new(|text: &mut String| text.push_str("mine 1\n")),
            zones: Zones::bundled(),
            connections_max: 64,
        }
    }

    async fn get(path: &str, ready: Result<(), &'static str>) -> (u16, String) {
        let endpoints = endpoints(ready);
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router(endpoints).oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn healthz_succeeds_even_if_the_process_is_not_ready() {
        assert_eq!(get("/healthz", Err("no")).await, (200, "ok".to_owned()));
        assert_eq!(get("/readyz", Err("no")).await, (503, "no".to_owned()));
        assert_eq!(get("/readyz", Ok(())).await, (200, "ok".to_owned()));
        assert_eq!(get("/api", Ok(())).await.0, 404);
    }

    #[tokio::test]
    async fn metrics_end_with_the_openmetrics_eof_marker() {
        let (code, text) = get("/metrics", Ok(())).await;
        assert_eq!(code, 200);
        assert!(text.contains("mine 1\n") && text.contains("punctual_build"), "{text}");
        assert!(text.contains("punctual_tzdata_release_timestamp_seconds "), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    /// Sends a request on a new connection and reads the response to its end.
    async fn request(address: std::net::SocketAddr, path: &str) -> String {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn health_checks_are_answered_however_many_connections_are_idle() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve_health(endpoints(Ok(())), listener, stop.clone()));
        let started = tokio::time::Instant::now();
        let mut idle = Vec::new();
        for number in 0..300 {
            let mut socket = TcpStream::connect(address).await.unwrap();
            // Some send nothing, some an unfinished header, some a request whose answer they do not read.
            let sent =
                ["", "GET /healthz HTTP/1.1\r\nHost: ", "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"];
            let _ = socket.write_all(sent[number % sent.len()].as_bytes()).await;
            idle.push(socket);
        }
        for path in ["/healthz", "/livez", "/readyz"] {
            let response = request(address, path).await;
            assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {response}");
        }
        assert!(started.elapsed() < HEADER_TIMEOUT, "an idle connection made room at once");
        drop(idle);
        stop.cancel();
        serving.await.unwrap();
    }
}
