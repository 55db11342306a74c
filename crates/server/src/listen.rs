//! Accepts TLS connections and serves HTTP/1.1 or HTTP/2 on them.
//!
//! A connection without a request has a deadline in each of its phases: handshake, first request,
//! headers, idle. A connection that does not accept bytes has one, too. At the limits the connection
//! that has been idle for the longest time makes room for a new one ([`connection_table`]).

mod activity;
mod connection;
mod connection_table;
mod response_body;
mod stream_executor;
mod timed_io;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::activity::ConnectionInfo;
use self::connection::ConnectionServer;
pub(crate) use self::connection_table::{ConnectionEntry, ConnectionTable};
use crate::pki::RevokedSerials;
use crate::server::Server;

/// Time limit for requests to finish during a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Delay after a failed accept, for example when the process has no free file descriptor.
pub(crate) const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Serves the API until `stop` is cancelled. Then it lets running requests finish.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    stop: CancellationToken,
) {
    let table = ConnectionTable::new(server.state.limits.connections);
    let tasks = TaskTracker::new();
    let (published, revoked) = watch::channel(RevokedSerials::Listed(HashSet::new()));
    if let Some(revocations) = server.state.revocations.clone() {
        tokio::spawn(revocations.publish_changes(published));
    }
    let abort = CancellationToken::new();
    let connection_server = Arc::new(ConnectionServer {
        server: server.clone(),
        acceptor: TlsAcceptor::from(tls),
        stop: stop.clone(),
        revoked,
    });
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &table) => accepted,
        };
        let Some((socket, address)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let Some(entry) = table.add(address.ip()) else {
            server.state.metrics.count_refused_connection();
            continue;
        };
        let connection_server = connection_server.clone();
        let abort = abort.clone();
        tasks.spawn(async move {
            let evicted = entry.evicted();
            let serving = connection_server.serve(socket, address.ip(), entry);
            tokio::select! {
                () = serving => {}
                () = evicted.cancelled() => {}
                () = abort.cancelled() => {}
            }
        });
    }
    drop(listener);
    server.shutdown();
    tasks.close();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, tasks.wait()).await.is_err() {
        tracing::warn!("some connections did not close within the shutdown timeout; closing them");
        abort.cancel();
    }
}

/// Accepts a connection once few connections are closing. Returns `None` if that failed.
pub(crate) async fn accept(
    listener: &TcpListener,
    table: &ConnectionTable,
) -> Option<(TcpStream, SocketAddr)> {
    table.wait_for_evictions().await;
    match listener.accept().await {
        Ok((socket, address)) => {
            // Responses must not wait for more data, and vanished clients must be noticed.
            let _ = socket.set_nodelay(true);
            let _ = SockRef::from(&socket).set_tcp_keepalive(&keep_alive());
            Some((socket, address))
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
