//! Accepts TLS connections and serves HTTP/1.1 or HTTP/2 on them.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::auth::User;
use crate::server::Server;

/// Time limit for a client to finish the TLS handshake, and to send the headers of an HTTP/1.1
/// request.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit for requests to finish during a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Delay after a failed accept, for example when the process has no free file descriptor.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Serves the API until `stop` is cancelled. Then it lets running requests finish.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    stop: CancellationToken,
) {
    let connections = Arc::new(Semaphore::new(server.state.limits.connections_max));
    let acceptor = TlsAcceptor::from(tls);
    let graceful = Arc::new(GracefulShutdown::new());
    let builder = Arc::new(builder());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let Some((socket, permit)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let acceptor = acceptor.clone();
        let router = server.router();
        let builder = builder.clone();
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            let _permit = permit;
            let handshake = tokio::time::timeout(CONNECT_TIMEOUT, acceptor.accept(socket));
            let Ok(Ok(stream)) = handshake.await else {
                return;
            };
            let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let user = certificate.and_then(|der| User::from_certificate(der));
            let service = TowerToHyperService::new(with_user(router, user));
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
            // Disconnects and malformed requests are the client's problem.
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(%error, "a client connection failed");
            }
        });
    }
    drop(listener);
    server.shutdown();
    finish(graceful).await;
}

/// Attaches the user of the client certificate, if there is one, to each request of a connection.
fn with_user(router: Router, user: Option<User>) -> Router {
    match user {
        Some(user) => router.layer(Extension(user)),
        None => router,
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = connections.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, _)) => {
            // Responses must not wait for more data, and vanished clients must be noticed.
            let _ = socket.set_nodelay(true);
            let _ = SockRef::from(&socket).set_tcp_keepalive(&keep_alive());
            Some((socket, permit))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection; retrying");
            None
        }
    }
}

fn keep_alive() -> TcpKeepalive {
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15))
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(CONNECT_TIMEOUT);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).max_concurrent_streams(1_000);
    // Pings detect vanished clients, so that their watches end.
    http2.keep_alive_interval(Duration::from_secs(30)).keep_alive_timeout(Duration::from_secs(20));
    builder
}

async fn finish(graceful: Arc<GracefulShutdown>) {
    let Some(graceful) = Arc::into_inner(graceful) else {
        return;
    };
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not close within the shutdown timeout; closing them");
    }
}
