//! Where a server of ours lives: its folder, its store, its identity, its address.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use punctual_controller::{BurstGate, Context, Fence, Metrics, RealClock};
use punctual_schedule::Zones;
use punctual_server::{
    ADMIN_GROUP, AuditLog, Config, Limits, Server, ServerIdentity, SystemEnv, User,
};
use punctual_store::{Options, Store};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::args::InstanceArgs;
use crate::{clock, data_dir};

/// A process that was killed while it started another leaves its lock to that one, until it has become
/// the other program.
const LOCK_TRIES: usize = 20;
const LOCK_REST: Duration = Duration::from_millis(50);

/// An open data folder and a free address. While it lives nobody else can have either.
pub(crate) struct Instance<'a> {
    args: &'a InstanceArgs,
    /// The data folder.
    pub(crate) folder: PathBuf,
    /// Who the server is.
    pub(crate) identity: ServerIdentity,
    /// The objects.
    pub(crate) store: Store,
    listener: TcpListener,
    address: SocketAddr,
}

impl<'a> Instance<'a> {
    /// Opens the data folder and takes the address.
    pub(crate) async fn open(args: &'a InstanceArgs) -> anyhow::Result<Instance<'a>> {
        let folder = data_dir::resolve(args.data_dir.as_deref())?;
        // Makes the folder too, for its owner alone.
        let identity = ServerIdentity::open(&folder.join("pki"), &SystemEnv)?;
        let store = open_store(&folder).await?;
        let listener = TcpListener::bind(args.listen).await.with_context(|| {
            format!("could not listen on {}; choose another address with --listen", args.listen)
        })?;
        let address = listener.local_addr()?;
        Ok(Instance { args, folder, identity, store, listener, address })
    }

    /// A server of this place, to be completed.
    pub(crate) fn config(&self, zones: Zones) -> anyhow::Result<Config> {
        Ok(Config {
            zones,
            tokens: self.identity.tokens(),
            limits: limits(self.args),
            audit: audit(self.args, &self.folder)?,
            event_ttl: self.args.event_ttl,
            ..Config::new(self.store.clone())
        })
    }

    /// How clients of this machine reach the server.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", shown(self.address))
    }

    /// Writes the files that clients need; where the administrator's is.
    pub(crate) fn write_kubeconfigs(&self) -> anyhow::Result<PathBuf> {
        let url = self.url();
        let path =
            self.args.kubeconfig_out.clone().unwrap_or_else(|| self.folder.join("kubeconfig"));
        self.identity.admin_kubeconfig(&url).write(&path)?;
        self.identity.view_kubeconfig(&url).write(&self.folder.join("kubeconfig-view"))?;
        Ok(path)
    }

    /// Everybody else's way to the server, until told to stop.
    pub(crate) fn serve(
        self,
        server: Server,
        stop: CancellationToken,
    ) -> anyhow::Result<impl Future<Output = ()> + Send + use<>> {
        let tls = self.identity.tls(&reached_at(self.address), clock::now())?;
        Ok(punctual_server::serve(server, self.listener, Arc::new(tls), stop))
    }
}

/// A client of a server in this process, for one of its parts; the audit log tells them apart.
pub(crate) fn client(server: &Server, part: &str) -> kube::Client {
    let user = User::new(&format!("system:serviceaccount:kube-system:{part}"), ADMIN_GROUP);
    kube::Client::new(server.local_router(user), "default")
}

/// What a controller in this process works with.
pub(crate) fn controller_context(server: &Server, part: &str, shared: &SharedState) -> Context {
    let SharedState { metrics, burst_gate } = shared.clone();
    Context {
        client: client(server, part),
        clock: Arc::new(RealClock),
        metrics,
        burst_gate,
        // Whoever has the data folder is alone.
        fence: Fence::open(),
    }
}

/// What the controllers of this process have in common.
#[derive(Clone, Default)]
pub(crate) struct SharedState {
    /// Their counters.
    pub(crate) metrics: Metrics,
    /// Whether slots wait.
    pub(crate) burst_gate: BurstGate,
}

/// Opening reads everything, so it is done where waiting hurts nobody.
async fn open_store(folder: &Path) -> anyhow::Result<Store> {
    let path = folder.join("store");
    for _ in 0..LOCK_TRIES {
        match open_once(path.clone()).await? {
            Err(punctual_store::Error::Locked { .. }) => tokio::time::sleep(LOCK_REST).await,
            opened => return Ok(opened?),
        }
    }
    Ok(open_once(path).await??)
}

async fn open_once(path: PathBuf) -> anyhow::Result<Result<Store, punctual_store::Error>> {
    Ok(tokio::task::spawn_blocking(move || Store::open(path, Options::default())).await?)
}

fn limits(args: &InstanceArgs) -> Limits {
    Limits {
        requests_max: args.max_requests,
        requests_per_second: args.max_requests_per_second,
        watches_max: args.max_watches,
        ..Limits::default()
    }
}

fn audit(args: &InstanceArgs, folder: &Path) -> anyhow::Result<AuditLog> {
    if args.no_audit_log {
        return Ok(AuditLog::none());
    }
    let path = args.audit_log.clone().unwrap_or_else(|| folder.join("audit.log"));
    AuditLog::to_file(&path).with_context(|| format!("could not open {}", path.display()))
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
