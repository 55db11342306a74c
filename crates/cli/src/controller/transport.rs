//! One connection to the server for all calls and watches: HTTP/2, as API servers speak it. They allow a hundred
//! streams on each, so many watches have connections of their own.
//!
//! kube's own client speaks HTTP/1.1, which takes a connection for every call that is under way, with a
//! handshake and buffers each. What is lost with them is told by pings instead: a connection that does not
//! answer is given up, and with it what waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Context as _, bail};
use http::Request;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::{BoxError, Service, ServiceBuilder};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Longer silence is a connection that is gone. A watch hears a bookmark every minute; calls have their own
/// end, which comes before this. It is for servers that speak HTTP/1.1 alone.
const READ_TIMEOUT: Duration = Duration::from_secs(150);

/// How often a connection is tried while something waits for it, and how long the answer may take. Together
/// they are half of what a leader has to renew its lease: there is time to do it on another connection.
const PING_INTERVAL: Duration = Duration::from_secs(2);
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// So many watches share the connection of the calls.
const SHARED_WATCHES_MAX: usize = 16;
/// So many watches share one of their own.
const WATCHES_PER_CONNECTION: usize = 50;

type Connector = TimeoutConnector<HttpsConnector<HttpConnector>>;
type HttpClient = legacy::Client<Connector, Body>;

/// A client as the configuration says, for so many watches and whatever calls. Nothing is sent yet.
pub(super) fn client(config: Config, watches: usize) -> anyhow::Result<Client> {
    if let Some(proxy) = &config.proxy_url {
        bail!(
            "the kubeconfig or the environment (HTTPS_PROXY) names the proxy {proxy}, and there is no way \
             through a proxy yet; start without it"
        );
    }
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(ConnectionPool::new(&config, watches)?);
    Ok(Client::new(service, config.default_namespace))
}

/// Connections: one for the calls, and more for watches where there are many. A stream that cannot be opened
/// would wait for a watch to end, and everything else behind it.
#[derive(Clone)]
struct ConnectionPool {
    calls: HttpClient,
    watches: Arc<[HttpClient]>,
    count: Arc<AtomicUsize>,
}

impl ConnectionPool {
    fn new(config: &Config, watches: usize) -> anyhow::Result<ConnectionPool> {
        let pool = if watches <= SHARED_WATCHES_MAX {
            0
        } else {
            watches.div_ceil(WATCHES_PER_CONNECTION)
        };
        let watches: anyhow::Result<_> = (0..pool).map(|_| http(config)).collect();
        Ok(ConnectionPool { calls: http(config)?, watches: watches?, count: Arc::default() })
    }

    fn connection_for(&self, request: &Request<Body>) -> &HttpClient {
        let query = request.uri().query().unwrap_or_default();
        if !query.split('&').any(|word| word == "watch=true") {
            return &self.calls;
        }
        let turn = self.count.fetch_add(1, Ordering::Relaxed).checked_rem(self.watches.len());
        turn.and_then(|turn| self.watches.get(turn)).unwrap_or(&self.calls)
    }
}

impl Service<Request<Body>> for ConnectionPool {
    type Response = <HttpClient as Service<Request<Body>>>::Response;
    type Error = <HttpClient as Service<Request<Body>>>::Error;
    type Future = <HttpClient as Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.connection_for(&request).request(request)
    }
}

fn http(config: &Config) -> anyhow::Result<HttpClient> {
    Ok(legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .http2_adaptive_window(true)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .build(connector(config)?))
}

fn connector(config: &Config) -> anyhow::Result<Connector> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let mut builder = HttpsConnectorBuilder::new()
        .with_tls_config(config.rustls_client_config()?)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().with_context(|| format!("tls-server-name {name}"))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut connector = TimeoutConnector::new(builder.enable_all_versions().wrap_connector(tcp));
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_read_timeout(Some(READ_TIMEOUT));
    // A connection may have rested in the pool for a while.
    connector.set_reset_reader_on_write(true);
    Ok(connector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(watches: usize) -> ConnectionPool {
        let config = Config::new("https://127.0.0.1:1".parse().unwrap());
        ConnectionPool::new(&config, watches).unwrap()
    }

    fn get(path: &str) -> Request<Body> {
        Request::get(path).body(Body::empty()).unwrap()
    }

    #[test]
    fn many_watches_leave_the_connection_of_the_calls_alone() {
        let pool = pool(120);
        let watch = get("/apis/batch/v1/jobs?allowWatchBookmarks=true&watch=true");
        for own in [0, 1, 2, 0] {
            assert!(std::ptr::eq(pool.connection_for(&watch), &pool.watches[own]));
        }
        assert!(std::ptr::eq(
            pool.connection_for(&get("/apis/batch/v1/jobs?limit=500")),
            &pool.calls
        ));
    }

    #[test]
    fn a_few_watches_share_it() {
        let pool = pool(6);
        assert!(std::ptr::eq(pool.connection_for(&get("/api/v1/pods?watch=true")), &pool.calls));
    }
}
