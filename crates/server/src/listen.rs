//! Connections: accepted up to a bound, encrypted, in HTTP/1.1 or HTTP/2 as the client speaks.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use socket2::{SockRef, TcpKeepalive};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::auth::User;
use crate::server::Server;

/// How long a client may take to begin: TLS, and the header of a request.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long requests may take to end when the server does.
const FAREWELL: Duration = Duration::from_secs(10);
/// How long accepting rests when the system has no more room for connections.
const REST: Duration = Duration::from_millis(50);

/// Serves until told to stop, then lets requests finish.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    stop: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(server.shared.limits.connections_max));
    let acceptor = TlsAcceptor::from(tls);
    let graceful = Arc::new(GracefulShutdown::new());
    let builder = Arc::new(builder());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let Some((socket, place)) = accepted else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let (acceptor, router) = (acceptor.clone(), server.router());
        let (builder, watcher) = (builder.clone(), graceful.watcher());
        tokio::spawn(async move {
            let _place = place;
            let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(socket)).await
            else {
                return;
            };
            let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let user = certificate.and_then(|der| User::from_certificate(der));
            let router = known(router, user);
            let service = TowerToHyperService::new(router);
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
            // A client that goes away, or speaks something else, harms nobody.
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
    drop(listener);
    server.shutdown();
    finish(graceful).await;
}

/// What a client's certificate says goes with each of its requests.
fn known(router: Router, user: Option<User>) -> Router {
    match user {
        Some(user) => router.layer(Extension(user)),
        None => router,
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, _)) => {
            // Answers are small and waited for; a client that is gone without a word is noticed.
            let _ = socket.set_nodelay(true);
            let _ = SockRef::from(&socket).set_tcp_keepalive(&keep_alive());
            Some((socket, place))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            None
        }
    }
}

fn keep_alive() -> TcpKeepalive {
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15))
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).max_concurrent_streams(1_000);
    // A client that is gone without a word is noticed, and its watches end.
    http2.keep_alive_interval(Duration::from_secs(30)).keep_alive_timeout(Duration::from_secs(20));
    builder
}

async fn finish(graceful: Arc<GracefulShutdown>) {
    let Some(graceful) = Arc::into_inner(graceful) else {
        return;
    };
    if tokio::time::timeout(FAREWELL, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}
