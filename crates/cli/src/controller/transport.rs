//! One connection to the server for all calls and watches: HTTP/2, as API servers speak it.
//!
//! kube's own client speaks HTTP/1.1, which takes a connection for every call that is under way, with a
//! handshake and buffers each. What is lost with them is told by pings instead: a connection that does not
//! answer is given up, and with it what waits for it.

use std::time::Duration;

use anyhow::Context;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Longer silence is a connection that is gone. A watch hears a bookmark every minute; calls have their own
/// end, which comes before this. It is for servers that speak HTTP/1.1 alone.
const SILENCE_MAX: Duration = Duration::from_secs(150);

/// How often a connection is tried while something waits for it, and how long the answer may take. Together
/// they are less than a lease lasts.
const PING_EVERY: Duration = Duration::from_secs(5);
const PONG_WITHIN: Duration = Duration::from_secs(5);

/// A client as the configuration says. Nothing is sent yet.
pub(super) fn client(config: Config) -> anyhow::Result<Client> {
    // What kube can do about proxies it can do with its own client alone.
    if config.proxy_url.is_some() {
        return Ok(Client::try_from(config)?);
    }
    let http: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .http2_adaptive_window(true)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PONG_WITHIN)
        .build(connector(&config)?);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

fn connector(config: &Config) -> anyhow::Result<TimeoutConnector<HttpsConnector<HttpConnector>>> {
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
    connector.set_connect_timeout(Some(CONNECT_MAX));
    connector.set_read_timeout(Some(SILENCE_MAX));
    // A connection may have rested in the pool for a while.
    connector.set_reset_reader_on_write(true);
    Ok(connector)
}
