//! One server instance: its data directory, store, certificates and address.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use punctual_controller::{BurstGate, Context, Fence, Metrics, SystemClock};
use punctual_schedule::Zones;
use punctual_server::{
    ADMIN_GROUP, AuditLog, Config, Server, ServerIdentity, ServerLimits, SystemEnv, User,
};
use punctual_store::{Options, Store};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::args::InstanceArgs;
use crate::{clock, data_dir};

/// How often and how long to wait for the store's lock. A child process that a killed process was
/// starting holds the inherited lock until it has executed its own program.
const LOCK_TRIES: usize = 20;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(50);

/// An open data directory and a bound address. No other process can use either while this exists.
pub(crate) struct Instance<'a> {
    args: &'a InstanceArgs,
    pub(crate) data_dir: PathBuf,
    /// The certificate authority, certificates and tokens.
    pub(crate) identity: ServerIdentity,
    pub(crate) store: Store,
    listener: TcpListener,
    address: SocketAddr,
}

impl<'a> Instance<'a> {
    /// Opens the data directory and binds the address.
    pub(crate) async fn open(args: &'a InstanceArgs) -> anyhow::Result<Instance<'a>> {
        let data_dir = data_dir::resolve(args.data_dir.as_deref())?;
        // Also creates the data directory, readable only by its owner.
        let identity = ServerIdentity::open(&data_dir.join("pki"), &SystemEnv)?;
        let store = open_store(&data_dir).await?;
        let listener = TcpListener::bind(args.listen).await.with_context(|| {
            format!("could not listen on {}; choose another address with --listen", args.listen)
        })?;
        let address = listener.local_addr()?;
        Ok(Instance { args, data_dir, identity, store, listener, address })
    }

    /// Returns the server configuration that the command-line arguments determine.
    pub(crate) fn config(&self, zones: Zones) -> anyhow::Result<Config> {
        Ok(Config {
            zones,
            tokens: self.identity.tokens(),
            limits: limits(self.args),
            audit: audit(self.args, &self.data_dir)?,
            event_ttl: self.args.event_ttl,
            ..Config::new(self.store.clone())
        })
    }

    /// Returns the URL for clients on this machine.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", client_address(self.address))
    }

    /// Writes the kubeconfigs of the administrator and of a viewer, and returns the path of the first.
    pub(crate) fn write_kubeconfigs(&self) -> anyhow::Result<PathBuf> {
        let url = self.url();
        let path =
            self.args.kubeconfig_out.clone().unwrap_or_else(|| self.data_dir.join("kubeconfig"));
        self.identity.admin_kubeconfig(&url).write(&path)?;
        self.identity.view_kubeconfig(&url).write(&self.data_dir.join("kubeconfig-view"))?;
        Ok(path)
    }

    /// Serves requests over the network until `stop` is cancelled.
    pub(crate) fn serve(
        self,
        server: Server,
        stop: CancellationToken,
    ) -> anyhow::Result<impl Future<Output = ()> + Send + use<>> {
        let tls = self.identity.tls(&certificate_addresses(self.address), clock::now())?;
        Ok(punctual_server::serve(server, self.listener, Arc::new(tls), stop))
    }
}

/// Returns an in-process client for one component. The audit log shows the component's name.
pub(crate) fn client(server: &Server, component: &str) -> kube::Client {
    let user = User::new(&format!("system:serviceaccount:kube-system:{component}"), ADMIN_GROUP);
    kube::Client::new(server.local_router(user), "default")
}

/// Returns the context of a controller in this process.
pub(crate) fn controller_context(
    server: &Server,
    component: &str,
    shared: &SharedState,
) -> Context {
    let SharedState { metrics, burst_gate } = shared.clone();
    Context {
        client: client(server, component),
        clock: Arc::new(SystemClock),
        metrics,
        burst_gate,
        // The lock on the data directory excludes other processes, so no election is needed.
        fence: Fence::always_open(),
    }
}

/// State that all controllers of this process share.
#[derive(Clone, Default)]
pub(crate) struct SharedState {
    pub(crate) metrics: Metrics,
    /// Whether a burst of slots is being started.
    pub(crate) burst_gate: BurstGate,
}

/// Opens the store, and retries while another process holds its lock.
async fn open_store(data_dir: &Path) -> anyhow::Result<Store> {
    let path = data_dir.join("store");
    for _ in 0..LOCK_TRIES {
        match open_once(path.clone()).await? {
            Err(punctual_store::Error::Locked { .. }) => tokio::time::sleep(LOCK_RETRY_DELAY).await,
            opened => return Ok(opened?),
        }
    }
    Ok(open_once(path).await??)
}

/// Opens the store on a blocking thread, because opening reads the whole store.
async fn open_once(path: PathBuf) -> anyhow::Result<Result<Store, punctual_store::Error>> {
    Ok(tokio::task::spawn_blocking(move || Store::open(path, Options::default())).await?)
}

fn limits(args: &InstanceArgs) -> ServerLimits {
    ServerLimits {
        requests_max: args.max_requests,
        requests_per_second: args.max_requests_per_second,
        watches_max: args.max_watches,
        ..ServerLimits::default()
    }
}

fn audit(args: &InstanceArgs, data_dir: &Path) -> anyhow::Result<AuditLog> {
    if args.no_audit_log {
        return Ok(AuditLog::none());
    }
    let path = args.audit_log.clone().unwrap_or_else(|| data_dir.join("audit.log"));
    AuditLog::to_file(&path)
        .with_context(|| format!("could not open the audit log {}", path.display()))
}

/// Returns the addresses that the server certificate needs besides the loopback addresses.
fn certificate_addresses(address: SocketAddr) -> Vec<IpAddr> {
    match address.ip() {
        ip if ip.is_unspecified() || ip.is_loopback() => Vec::new(),
        ip => vec![ip],
    }
}

/// Returns the address at which a client on this machine reaches the server.
fn client_address(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => ([127, 0, 0, 1], v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, v6.port()).into()
        }
        other => other,
    }
}
