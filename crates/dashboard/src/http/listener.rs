//! Accepts connections, over TLS if there is a certificate, with limits and deadlines.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How many connections are open at the same time. A browser uses up to six.
const CONNECTIONS_MAX: usize = 256;
/// How long the headers of a request, also the next one of a connection, may take.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of headers.
const BUFFER_LEN_MAX: usize = 64 * 1024;
/// How long open responses may take to end when the dashboard stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// The delay after a failed accept, for example when the process has no free file descriptor.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Binds an address. A default address whose port is taken is replaced by a free port of the same interface.
pub async fn bind(address: SocketAddr, is_default: bool) -> io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error) if is_default && error.kind() == io::ErrorKind::AddrInUse => {
            tracing::warn!(
                "the port {} is taken, so the dashboard uses a free one; choose one with --dashboard",
                address.port()
            );
            TcpListener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)).await
        }
        bound => bound,
    }
}

/// Serves requests until `stop` is cancelled.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<Arc<ServerConfig>>,
    stop: CancellationToken,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "the dashboard cannot accept a connection; retrying");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        // At the limit a connection is closed at once, so that its browser sees an error instead of waiting.
        let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
        let connection =
            ClientConnection { router: router.clone(), stop: stop.clone(), _permit: permit };
        tasks.spawn(connection.serve(socket, acceptor.clone()));
    }
    tasks.close();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, tasks.wait()).await.is_err() {
        tracing::debug!("some connections of the dashboard did not close in time");
    }
}

struct ClientConnection {
    router: Router,
    stop: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl ClientConnection {
    async fn serve(self, socket: TcpStream, acceptor: Option<TlsAcceptor>) {
        let _ = socket.set_nodelay(true);
        let Some(acceptor) = acceptor else { return self.serve_http(socket).await };
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(socket)).await {
            Ok(Ok(stream)) => self.serve_http(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake with the dashboard failed"),
            Err(_) => tracing::debug!("a TLS handshake with the dashboard did not end in time"),
        }
    }

    async fn serve_http(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = TowerToHyperService::new(self.router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(BUFFER_LEN_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection to the dashboard ended");
        }
    }
}
