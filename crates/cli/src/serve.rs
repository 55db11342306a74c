//! `punctual serve`: the API server alone.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use punctual_api::Dialect;
use punctual_controller::RealClock;
use punctual_schedule::Zones;
use punctual_server::{ADMIN_GROUP, Audit, Config, Identity, Limits, RealWorld, Server, User};
use punctual_store::{Options, Store};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::args::{self, Serve};
use crate::{clock, data, log, output};

pub(crate) fn run(serve: &Serve, zones: Zones) -> anyhow::Result<()> {
    log::start(&serve.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serving(serve, zones))
}

async fn serving(serve: &Serve, zones: Zones) -> anyhow::Result<()> {
    let folder = data::folder(serve.data_dir.as_deref())?;
    // Makes the folder too, for its owner alone.
    let identity = Identity::open(&folder.join("pki"), &RealWorld)?;
    let store = open_store(&folder).await?;
    let listener = TcpListener::bind(serve.listen)
        .await
        .with_context(|| format!("could not listen on {}", serve.listen))?;
    let address = listener.local_addr()?;
    let tls = identity.tls(&reached_at(address), clock::now())?;
    let config = Config {
        zones,
        dialect: dialect(serve.dialect),
        tokens: identity.tokens(),
        limits: limits(serve),
        audit: audit(serve, &folder)?,
        ..Config::new(store.clone())
    };
    let server = Server::start(config).await?;
    let url = format!("https://{}", shown(address));
    let kubeconfig = write_kubeconfigs(serve, &folder, &identity, &url)?;
    let stop = stop_on_signal()?;
    output::print(&format!("serving {url}\nkubeconfig {}\n", kubeconfig.display()))?;
    let collecting = tokio::spawn(collect(&server, stop.clone()));
    punctual_server::serve(server, listener, Arc::new(tls), stop).await;
    collecting.await.context("the collector did not end cleanly")?;
    tracing::info!("stopped; closing the store");
    store.close().await.context("the store could not be closed cleanly")
}

/// Deletions that do not happen at once are carried on by us: dependents, namespaces.
fn collect(server: &Server, stop: CancellationToken) -> impl Future<Output = ()> + use<> {
    let user = User::new("system:serviceaccount:kube-system:punctual-collector", ADMIN_GROUP);
    let client = kube::Client::new(server.local(user), "default");
    punctual_controller::collect(client, Arc::new(RealClock), stop)
}

/// Opening reads everything, so it is done where waiting hurts nobody.
async fn open_store(folder: &Path) -> anyhow::Result<Store> {
    let path = folder.join("store");
    let store = tokio::task::spawn_blocking(move || Store::open(path, Options::default())).await?;
    Ok(store?)
}

fn dialect(dialect: args::Dialect) -> Dialect {
    match dialect {
        args::Dialect::Kubernetes => Dialect::Strict,
        args::Dialect::Punctual => Dialect::Punctual,
    }
}

fn limits(serve: &Serve) -> Limits {
    Limits {
        requests_max: serve.max_requests,
        requests_per_second: serve.max_requests_per_second,
        watches_max: serve.max_watches,
        ..Limits::default()
    }
}

fn audit(serve: &Serve, folder: &Path) -> anyhow::Result<Audit> {
    if serve.no_audit_log {
        return Ok(Audit::none());
    }
    let path = serve.audit_log.clone().unwrap_or_else(|| folder.join("audit.log"));
    Audit::to_file(&path).with_context(|| format!("could not open {}", path.display()))
}

/// Addresses besides the local ones that clients reach the server at.
fn reached_at(address: SocketAddr) -> Vec<IpAddr> {
    match address.ip() {
        ip if ip.is_unspecified() || ip.is_loopback() => Vec::new(),
        ip => vec![ip],
    }
}

/// The address as a client of this machine uses it.
fn shown(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => ([127, 0, 0, 1], v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, v6.port()).into()
        }
        other => other,
    }
}

/// Writes the files that clients need; where the administrator's is.
fn write_kubeconfigs(
    serve: &Serve,
    folder: &Path,
    identity: &Identity,
    url: &str,
) -> anyhow::Result<PathBuf> {
    let path = serve.kubeconfig_out.clone().unwrap_or_else(|| folder.join("kubeconfig"));
    identity.admin_kubeconfig(url).write(&path)?;
    identity.view_kubeconfig(url).write(&folder.join("kubeconfig-view"))?;
    Ok(path)
}

/// A token that is cancelled when somebody wants us to stop.
fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = CancellationToken::new();
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stopping.cancel();
    });
    Ok(stop)
}
