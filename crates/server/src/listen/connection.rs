//! Serves one connection: TLS handshake, then HTTP/1.1 or HTTP/2 as agreed by ALPN.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum::body::Body;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::activity::ConnectionInfo;
use super::connection_table::ConnectionEntry;
use super::response_body::ResponseBody;
use super::stream_executor::{StreamExecutor, StreamProgress};
use super::timed_io::TimedIo;
use crate::auth::User;
use crate::http as api;
use crate::http::LongRunning;
use crate::pki::{RevokedSerials, wait_for_revocation};
use crate::server::Server;

/// Maximum size of the headers of an HTTP/1.1 request, and of its buffers.
const HTTP1_BUFFER_BYTES: usize = 128 << 10;
/// Maximum number of concurrent requests of an HTTP/2 connection.
const STREAMS_MAX: u32 = 250;
/// Maximum number of bytes that an HTTP/2 stream buffers.
const STREAM_BUFFER_BYTES: usize = 64 << 10;
/// Time for a connection to close after it was told to.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of a request that is no longer wanted is read before the connection is closed. A socket
/// that is closed with unread bytes would discard the response.
const GRACEFUL_CLOSE_BYTES_MAX: usize = 16 << 20;
const GRACEFUL_CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

type ApiFuture = BoxFuture<'static, Result<Response<ResponseBody>, Infallible>>;

/// What all connections share.
pub(super) struct ConnectionServer {
    pub(super) server: Server,
    pub(super) acceptor: TlsAcceptor,
    /// Cancelled when connections must end after their current requests.
    pub(super) stop: CancellationToken,
    pub(super) revoked: watch::Receiver<RevokedSerials>,
}

impl ConnectionServer {
    /// Serves a connection until it ends.
    pub(super) async fn serve(&self, socket: TcpStream, address: IpAddr, entry: ConnectionEntry) {
        let limits = self.server.state.limits.connections;
        let connection = ConnectionInfo::new(address, entry, limits);
        let socket = TimedIo::new(socket, connection.clone(), limits.write_timeout);
        let accepting = self.acceptor.accept(socket);
        let Ok(Ok(stream)) = tokio::time::timeout(limits.handshake_timeout, accepting).await else {
            return;
        };
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        connection.handshake_done(!is_http2);
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let user = certificate.and_then(|der| User::from_certificate(der));
        let certificate = certificate.map(|der| der.to_vec());
        let requests = RequestHandler { server: self.server.clone(), connection, user };
        let serving = async {
            if is_http2 {
                Box::pin(self.serve_http2(stream, requests)).await;
            } else {
                Box::pin(self.serve_http1(stream, requests)).await;
            }
        };
        tokio::select! {
            () = serving => {}
            // Also ends watches, which would otherwise show changes to a user who was locked out.
            () = self.revoked(certificate.as_deref()) => {
                tracing::info!(%address, "closed a connection whose client certificate was revoked");
            }
        }
    }

    /// Returns when the certificate of a connection is revoked; never without a certificate.
    async fn revoked(&self, certificate: Option<&[u8]>) {
        match certificate {
            Some(certificate) => wait_for_revocation(certificate, self.revoked.clone()).await,
            None => std::future::pending().await,
        }
    }

    async fn serve_http2(&self, stream: TlsStream<TimedIo>, requests: RequestHandler) {
        let limits = self.server.state.limits.connections;
        let mut builder =
            http2::Builder::new(StreamExecutor { write_timeout: limits.write_timeout });
        builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX);
        builder.max_send_buf_size(STREAM_BUFFER_BYTES);
        // Pings detect vanished clients, so that their watches end.
        builder.keep_alive_interval(Duration::from_secs(30));
        builder.keep_alive_timeout(Duration::from_secs(20));
        let connection = requests.connection.clone();
        let service = service_fn(move |request| requests.handle(request));
        let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut closing = pin!(self.closing(&connection));
        tokio::select! {
            result = serving.as_mut() => return log_failure(result),
            () = closing.as_mut() => serving.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            result = serving => log_failure(result),
            () = close_deadline(&connection) => {}
        }
    }

    async fn serve_http1(&self, stream: TlsStream<TimedIo>, requests: RequestHandler) {
        let mut builder = http1::Builder::new();
        // Deadlines are those of `ConnectionInfo`.
        builder.timer(TokioTimer::new()).header_read_timeout(None);
        builder.max_buf_size(HTTP1_BUFFER_BYTES);
        let connection = requests.connection.clone();
        let service = service_fn(move |request| requests.handle(request));
        let mut serving = builder.serve_connection(TokioIo::new(stream), service);
        let mut closing = pin!(self.closing(&connection));
        let is_done = {
            let mut done = std::future::poll_fn(|cx| serving.poll_without_shutdown(cx));
            tokio::select! {
                result = &mut done => Some(result),
                () = closing.as_mut() => None,
            }
        };
        let result = match is_done {
            Some(result) => result,
            None => {
                Pin::new(&mut serving).graceful_shutdown();
                let mut done = std::future::poll_fn(|cx| serving.poll_without_shutdown(cx));
                tokio::select! {
                    result = &mut done => result,
                    () = close_deadline(&connection) => return,
                }
            }
        };
        if result.is_ok() {
            close_gracefully(serving.into_parts().io.into_inner()).await;
        }
        log_failure(result);
    }

    /// Returns when a connection must be closed: it is idle or old, or the server stops.
    async fn closing(&self, connection: &ConnectionInfo) {
        let age_max = self.server.state.limits.connections.age_max;
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = connection.expired() => {}
            () = tokio::time::sleep_until(Instant::now() + age_max) => {}
        }
    }
}

/// Returns when a connection that was told to close has had no request for the time limit.
async fn close_deadline(connection: &ConnectionInfo) {
    loop {
        tokio::time::sleep(CLOSE_TIMEOUT).await;
        if connection.is_idle_since(CLOSE_TIMEOUT) {
            return;
        }
    }
}

fn log_failure(result: hyper::Result<()>) {
    // Disconnects and malformed requests are caused by the client, so they are logged at debug level
    // only.
    if let Err(error) = result {
        tracing::debug!(%error, "a client connection failed");
    }
}

/// Closes a connection after its last response. Reads what the client is still sending, within
/// bounds, so that the response is not discarded.
async fn close_gracefully(mut stream: TlsStream<TimedIo>) {
    let closing = async {
        let _ = stream.shutdown().await;
        let mut buffer = vec![0; 16 << 10];
        let mut total = 0;
        while total < GRACEFUL_CLOSE_BYTES_MAX {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => total += count,
            }
        }
    };
    let _ = tokio::time::timeout(GRACEFUL_CLOSE_TIMEOUT, closing).await;
}

/// Passes the requests of one connection to the API.
struct RequestHandler {
    server: Server,
    connection: ConnectionInfo,
    /// The user of the client certificate, if there is one.
    user: Option<User>,
}

impl RequestHandler {
    fn handle(&self, request: Request<Incoming>) -> ApiFuture {
        let in_progress = self.connection.start_request();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.connection.clone());
        if let Some(user) = &self.user {
            request.extensions_mut().insert(user.clone());
        }
        let server = self.server.clone();
        async move {
            let response = api::respond(server, request).await;
            let progress = StreamProgress::current();
            if let Some(progress) = &progress
                && response.extensions().get::<LongRunning>().is_some()
            {
                progress.set_long_running();
            }
            Ok(response.map(|body| ResponseBody::new(body, progress, in_progress)))
        }
        .boxed()
    }
}
