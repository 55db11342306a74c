//! Pages about a process that serves no API: is it alive, is it ready, what does it count.
//!
//! Plain HTTP for kubelets and Prometheus, without a word about anybody's objects.

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
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::metrics::{self, MorePages};

/// More than a kubelet and a few Prometheus servers need.
const CONNECTIONS_MAX: usize = 64;
/// How long a client may take to say what it wants. A connection is for one question: whoever held many open
/// would keep the kubelet out, which takes that for a process that hangs.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a connection may last, so that nobody keeps the others out for good.
const CONNECTION_MAX: Duration = Duration::from_secs(30);
/// How long accepting rests when the system has no more room for connections.
const REST: Duration = Duration::from_millis(50);

/// What the pages say.
#[derive(Clone)]
pub struct Pages {
    /// Whether the process can do its work, or what it waits for.
    pub is_ready: Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>,
    /// What it counts.
    pub metrics: Arc<MorePages>,
}

/// Serves `/healthz`, `/livez`, `/readyz` and `/metrics` until told to stop.
pub async fn serve_pages(pages: Pages, listener: TcpListener, stop: CancellationToken) {
    let router = router(pages);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepting = async {
            let place = room.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accepting => accepted,
        };
        match accepted {
            (Err(_), _) => return,
            (Ok(place), Ok((socket, _))) => {
                let talk = talk(socket, router.clone());
                tokio::spawn(async move {
                    let _place = place;
                    let _ = tokio::time::timeout(CONNECTION_MAX, talk).await;
                });
            }
            (_, Err(error)) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

async fn talk(socket: TcpStream, router: Router) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
    let service = TowerToHyperService::new(router);
    // A client that goes away, or speaks something else, harms nobody.
    if let Err(error) = builder.serve_connection(TokioIo::new(socket), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

fn router(pages: Pages) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/livez", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(counted))
        .with_state(pages)
}

async fn alive() -> &'static str {
    "ok"
}

async fn ready(State(pages): State<Pages>) -> Response {
    match (pages.is_ready)().await {
        Ok(()) => "ok".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

async fn counted(State(pages): State<Pages>) -> Response {
    let page = metrics::page_of_process(&*pages.metrics);
    ([(header::CONTENT_TYPE, metrics::OPEN_METRICS)], page).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn get(path: &str, ready: Result<(), &'static str>) -> (u16, String) {
        let pages = Pages {
            is_ready: Arc::new(move || Box::pin(async move { ready.map_err(str::to_owned) })),
            metrics: Arc::new(|page: &mut String| page.push_str("mine 1\n")),
        };
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = router(pages).oneshot(request).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_process_is_alive_whether_it_is_ready_or_not() {
        assert_eq!(get("/healthz", Err("no")).await, (200, "ok".to_owned()));
        assert_eq!(get("/readyz", Err("no")).await, (503, "no".to_owned()));
        assert_eq!(get("/readyz", Ok(())).await, (200, "ok".to_owned()));
        assert_eq!(get("/api", Ok(())).await.0, 404);
    }

    #[tokio::test]
    async fn the_counters_end_as_prometheus_wants_it() {
        let (code, page) = get("/metrics", Ok(())).await;
        assert_eq!(code, 200);
        assert!(page.contains("mine 1\n") && page.contains("punctual_build"), "{page}");
        assert!(page.ends_with("# EOF\n"), "{page}");
    }
}
