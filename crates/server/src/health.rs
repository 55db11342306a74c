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
use http::{StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::metrics::{self, ExtraMetrics};

/// Enough for a kubelet and several Prometheus servers.
const CONNECTIONS_MAX: usize = 64;
/// Time limit for a client to send its request headers. Each connection serves one request.
/// Otherwise idle clients could use up all connections, and the kubelet would restart a process
/// that it cannot reach.
const HEADER_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for a whole connection, so that slow clients cannot block others forever.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay after a failed accept, for example when the process has no free file descriptor.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

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
    pub metrics: Arc<ExtraMetrics>,
}

/// Serves `/healthz`, `/livez`, `/readyz` and `/metrics` until `stop` is cancelled.
pub async fn serve_health(
    endpoints: HealthEndpoints,
    listener: TcpListener,
    stop: CancellationToken,
) {
    let router = router(endpoints);
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accept(&listener, &connections) => accepted,
        };
        match accepted {
            Ok((permit, socket)) => {
                let connection = serve_connection(socket, router.clone());
                tokio::spawn(async move {
                    let _permit = permit;
                    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to the health endpoints; retrying");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> std::io::Result<(OwnedSemaphorePermit, TcpStream)> {
    let permit = connections.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let (socket, _) = listener.accept().await?;
    Ok((permit, socket))
}

async fn serve_connection(socket: TcpStream, router: Router) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).keep_alive(false);
    let service = TowerToHyperService::new(router);
    // Disconnects and malformed requests are the client's problem.
    if let Err(error) = builder.serve_connection(TokioIo::new(socket), service).await {
        tracing::debug!(%error, "a connection to the health endpoints failed");
    }
}

fn router(endpoints: HealthEndpoints) -> Router {
    Router::new()
        .route("/healthz", get(get_healthz))
        .route("/livez", get(get_healthz))
        .route("/readyz", get(get_readyz))
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
    let text = metrics::encode_process_metrics(&*endpoints.metrics);
    ([(header::CONTENT_TYPE, metrics::OPEN_METRICS_TYPE)], text).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn get(path: &str, ready: Result<(), &'static str>) -> (u16, String) {
        let endpoints = HealthEndpoints {
            check_ready: Arc::new(move || Box::pin(async move { ready.map_err(NotReady::new) })),
            metrics: Arc::new(|text: &mut String| text.push_str("mine 1\n")),
        };
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
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
