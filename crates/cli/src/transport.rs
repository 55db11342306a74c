//! An HTTP/2 client that multiplexes calls and watches over few connections.
//!
//! kube's default client uses HTTP/1.1, which needs one connection per concurrent call, each with its own
//! handshake and buffers. API servers allow about 100 streams per HTTP/2 connection, so many watches get
//! separate connections. Pings detect a dead connection; its pending requests then fail.

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

use crate::cluster_config;
use crate::connection_error::ConnectionError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time without received data before a connection counts as dead. It matters only for
/// servers without HTTP/2, where no pings are sent. A watch receives a bookmark every minute, and calls
/// have a shorter deadline of their own.
const READ_TIMEOUT: Duration = Duration::from_secs(150);

/// The interval of pings on a connection with pending requests, and the deadline of each ping. Together
/// they are half of the default renew deadline, so a leader can still renew on a new connection.
const PING_INTERVAL: Duration = Duration::from_secs(2);
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// Up to this number, watches share the connection of the calls.
const SHARED_WATCHES_MAX: usize = 16;
/// The maximum number of watches on a separate connection.
const WATCHES_PER_CONNECTION: usize = 50;

type Connector = TimeoutConnector<HttpsConnector<HttpConnector>>;
type HttpClient = legacy::Client<Connector, Body>;

/// Builds a client for the expected number of watches. Sends no request.
pub(crate) fn build_client(config: Config, watches: usize) -> anyhow::Result<Client> {
    if let Some(proxy) = &config.proxy_url {
        let proxy = cluster_config::display_url(proxy);
        bail!(
            "the kubeconfig or HTTPS_PROXY sets the proxy {proxy}, but proxies are not supported; unset it \
             and connect directly"
        );
    }
    let url = cluster_config::display_url(&config.cluster_url);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(move |error: legacy::Error| -> BoxError {
            ConnectionError::new(&url, error.into()).into()
        })
        .service(ConnectionPool::new(&config, watches)?);
    Ok(Client::new(service, config.default_namespace))
}

/// One connection for calls, and separate connections for many watches.
///
/// Without them, watches could use up all streams of a connection, and calls would wait until one ends.
#[derive(Clone)]
struct ConnectionPool {
    calls: HttpClient,
    watches: Arc<[HttpClient]>,
    /// The number of watches opened, for round robin.
    opened: Arc<AtomicUsize>,
}

impl ConnectionPool {
    fn new(config: &Config, watches: usize) -> anyhow::Result<ConnectionPool> {
        let connections = if watches <= SHARED_WATCHES_MAX {
            0
        } else {
            watches.div_ceil(WATCHES_PER_CONNECTION)
        };
        let watches: anyhow::Result<_> = (0..connections).map(|_| http_client(config)).collect();
        Ok(ConnectionPool {
            calls: http_client(config)?,
            watches: watches?,
            opened: Arc::default(),
        })
    }

    /// Selects the connection of a request: round robin for watches.
    fn connection_for(&self, request: &Request<Body>) -> &HttpClient {
        let query = request.uri().query().unwrap_or_default();
        if !query.split('&').any(|parameter| parameter == "watch=true") {
            return &self.calls;
        }
        let opened = self.opened.fetch_add(1, Ordering::Relaxed);
        let index = opened.checked_rem(self.watches.len());
        index.and_then(|index| self.watches.get(index)).unwrap_or(&self.calls)
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

fn http_client(config: &Config) -> anyhow::Result<HttpClient> {
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
        let name = name
            .clone()
            .try_into()
            .with_context(|| format!("invalid tls-server-name {name:?} in the kubeconfig"))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut connector = TimeoutConnector::new(builder.enable_all_versions().wrap_connector(tcp));
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_read_timeout(Some(READ_TIMEOUT));
    // The read timeout must not count the time that a connection was idle in the pool.
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
    fn many_watches_use_separate_connections() {
        let pool = pool(120);
        let watch = get("/apis/batch/v1/jobs?allowWatchBookmarks=true&watch=true");
        for index in [0, 1, 2, 0] {
            assert!(std::ptr::eq(pool.connection_for(&watch), &pool.watches[index]));
        }
        assert!(std::ptr::eq(
            pool.connection_for(&get("/apis/batch/v1/jobs?limit=500")),
            &pool.calls
        ));
    }

    #[test]
    fn few_watches_share_the_connection_of_the_calls() {
        let pool = pool(6);
        assert!(std::ptr::eq(pool.connection_for(&get("/api/v1/pods?watch=true")), &pool.calls));
    }
}
