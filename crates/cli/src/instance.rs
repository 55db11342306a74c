//! One server instance of `punctual up` or `punctual serve`: its data directory, store,
//! certificates and address.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use http::{HeaderValue, Request, header};
use punctual_controller::{BurstGate, Context, Fence, Metrics, SharedWatches, SystemClock};
use punctual_schedule::Zones;
use punctual_server::{
    ADMIN_GROUP, AuditLevel, AuditLog, Config, ConnectionLimits, LedgerLimits, SecretEncryption,
    Server, ServerIdentity, ServerLimits, SystemEnv, User, find_encrypted,
};
use punctual_store::{Options, Store, ValueCodec, damaged_path};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;

use crate::args::{self, InstanceArgs};
use crate::authority_renewal::{AuthorityRenewal, KubeconfigFiles};
use crate::descriptors::Descriptors;
use crate::{check, clock, data_dir, service_manager};

/// The folder of certificates, keys and tokens in the data directory.
const PKI_FOLDER: &str = "pki";

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
    pub(crate) descriptors: Descriptors,
}

impl<'a> Instance<'a> {
    /// Opens the data directory and binds the address.
    pub(crate) async fn open(args: &'a InstanceArgs) -> anyhow::Result<Instance<'a>> {
        let descriptors = Descriptors::raise_limit();
        let data_dir = data_dir::resolve(args.data_dir.as_deref())?;
        data_dir::prepare(&data_dir)?;
        let identity = ServerIdentity::open(&data_dir.join(PKI_FOLDER), &SystemEnv)?;
        let key_file = encryption_key_file(args);
        let store = open_store(&data_dir, encryption(key_file.as_deref())?).await?;
        for warning in secrecy_warnings(key_file.as_deref(), &data_dir) {
            tracing::warn!("{warning}");
        }
        report_damage(&store, &data_dir);
        check_encryption(&store, args)?;
        let listener = TcpListener::bind(args.listen).await.with_context(|| {
            format!("could not listen on {}; choose another address with --listen", args.listen)
        })?;
        let address = listener.local_addr()?;
        Ok(Instance { args, data_dir, identity, store, listener, address, descriptors })
    }

    /// Returns the server configuration that the command-line arguments determine. File descriptors
    /// for this number of Pods are kept from clients.
    pub(crate) fn config(&self, zones: Zones, max_pods: u32) -> anyhow::Result<Config> {
        Ok(Config {
            zones,
            tokens: self.identity.tokens(),
            limits: limits(self.args, self.descriptors.for_clients(max_pods)),
            audit: audit(self.args, &self.data_dir)?,
            event_ttl: self.args.event_ttl,
            ledger: ledger_limits(self.args),
            revocations: Some(self.identity.revocations()),
            ..Config::new(self.store.clone())
        })
    }

    /// Returns the URL for clients on this machine.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", client_address(self.address))
    }

    /// Writes the kubeconfigs of the administrator and of a viewer, and returns the path of the first.
    pub(crate) fn write_kubeconfigs(&self) -> anyhow::Result<PathBuf> {
        let files = self.kubeconfig_files();
        files.write(&self.identity)?;
        Ok(files.admin)
    }

    fn kubeconfig_files(&self) -> KubeconfigFiles {
        let admin = self.args.kubeconfig_out.clone();
        KubeconfigFiles {
            url: self.url(),
            admin: admin.unwrap_or_else(|| self.data_dir.join("kubeconfig")),
            view: self.data_dir.join("kubeconfig-view"),
        }
    }

    /// Serves requests over the network until `stop` is cancelled, and renews the certificates meanwhile.
    pub(crate) fn serve(
        self,
        server: Server,
        stop: CancellationToken,
    ) -> anyhow::Result<impl Future<Output = ()> + Send + use<>> {
        let tls = self.identity.tls(&certificate_addresses(self.address), clock::now())?;
        let renewal = AuthorityRenewal {
            pki: self.data_dir.join(PKI_FOLDER),
            ca_pem: self.identity.ca_pem.clone(),
            kubeconfigs: self.kubeconfig_files(),
        };
        let serving = punctual_server::serve(server, self.listener, Arc::new(tls), stop);
        Ok(async move {
            tokio::select! {
                () = serving => {}
                () = renewal.run() => {}
            }
        })
    }
}

/// Returns an in-process client for one component. The audit log shows the component's name, and the
/// objects that it writes have this name as field manager.
pub(crate) fn client(server: &Server, component: &str) -> kube::Client {
    let user = User::new(&format!("system:serviceaccount:kube-system:{component}"), ADMIN_GROUP);
    client_as(server, user, component)
}

/// Returns an in-process client that acts as a user. The objects that it writes have `agent` as field manager.
pub(crate) fn client_as(server: &Server, user: User, agent: &str) -> kube::Client {
    let agent = format!("{agent}/{}", env!("CARGO_PKG_VERSION"));
    let agent = HeaderValue::from_str(&agent).ok();
    let service = ServiceBuilder::new()
        .map_request(move |mut request: Request<kube::client::Body>| {
            if let Some(agent) = &agent {
                let headers = request.headers_mut();
                headers.entry(header::USER_AGENT).or_insert_with(|| agent.clone());
            }
            request
        })
        .service(server.local_router(user));
    kube::Client::new(service, "default")
}

/// Whether the server in this process handles requests and its store accepts writes.
pub(crate) async fn is_ready(client: &kube::Client) -> bool {
    match Request::get("/readyz").body(Vec::new()) {
        Ok(request) => client.request_text(request).await.is_ok(),
        Err(_) => false,
    }
}

/// Returns the context of a controller in this process.
pub(crate) fn controller_context(
    server: &Server,
    component: &str,
    shared: &SharedState,
) -> Context {
    let SharedState { metrics, burst_gate, watches } = shared.clone();
    Context {
        client: client(server, component),
        shared_watches: Some(watches),
        clock: Arc::new(SystemClock),
        metrics,
        burst_gate,
        // The lock on the data directory excludes other processes, so no election is needed.
        fence: Fence::always_open(),
    }
}

/// State that all components of this process share.
#[derive(Clone)]
pub(crate) struct SharedState {
    pub(crate) metrics: Metrics,
    pub(crate) watches: SharedWatches,
    /// Whether a burst of slots is being started.
    pub(crate) burst_gate: BurstGate,
}

impl SharedState {
    pub(crate) fn new(server: &Server, metrics: Metrics) -> SharedState {
        let watches = SharedWatches::new(client(server, "punctual-watches"));
        SharedState { metrics, watches, burst_gate: BurstGate::default() }
    }
}

/// Opens the store, and retries while another process holds its lock.
async fn open_store(data_dir: &Path, codec: Codec) -> anyhow::Result<Store> {
    let path = data_dir.join("store");
    for _ in 0..LOCK_TRIES {
        match open_once(path.clone(), codec.clone()).await? {
            Err(punctual_store::Error::Locked { .. }) => tokio::time::sleep(LOCK_RETRY_DELAY).await,
            opened => return Ok(opened?),
        }
    }
    Ok(open_once(path, codec).await??)
}

/// The encryption of Secrets, if it is enabled.
type Codec = Option<Arc<dyn ValueCodec>>;

/// Returns the given file of encryption keys, or the systemd credential.
fn encryption_key_file(args: &InstanceArgs) -> Option<PathBuf> {
    let credential = service_manager::credential("punctual-encryption-key");
    args.encryption_key_file.clone().or(credential)
}

fn encryption(key_file: Option<&Path>) -> anyhow::Result<Codec> {
    let Some(path) = key_file else { return Ok(None) };
    Ok(Some(Arc::new(SecretEncryption::read(path)?)))
}

/// Returns what other users may read although Secrets are encrypted.
fn secrecy_warnings(key_file: Option<&Path>, data_dir: &Path) -> Vec<String> {
    let Some(key_file) = key_file else { return Vec::new() };
    let mut warnings = Vec::new();
    let mode = std::fs::metadata(key_file).map_or(0, |metadata| metadata.mode() & 0o777);
    if mode & 0o077 != 0 {
        let shown = key_file.display();
        warnings.push(format!(
            "other users can access the encryption keys in {shown} (mode {mode:o}); run `chmod go= {shown}`"
        ));
    }
    let damaged = damaged_path(&data_dir.join("store"));
    if damaged.exists() {
        let shown = damaged.display();
        warnings.push(format!(
            "{shown} may contain Secrets that are not encrypted; remove it when you no longer need it"
        ));
    }
    warnings
}

/// Refuses a store with encrypted Secrets if there is no key: clients would see wrong values.
fn check_encryption(store: &Store, args: &InstanceArgs) -> anyhow::Result<()> {
    match find_encrypted(&store.snapshot()) {
        Some(key) => bail!(
            "the Secret {key} is encrypted, and there is no key{}; set --encryption-key-file to the file \
             with the key",
            if args.encryption_key_file.is_some() { " for it" } else { "" }
        ),
        None => Ok(()),
    }
}

/// Opens the store on a blocking thread, because opening reads the whole store.
async fn open_once(
    path: PathBuf,
    codec: Codec,
) -> anyhow::Result<Result<Store, punctual_store::Error>> {
    let open = move || Store::open_with_codec(path, Options::default(), codec);
    Ok(tokio::task::spawn_blocking(open).await?)
}

/// Logs the objects that were lost because their stored values are damaged.
fn report_damage(store: &Store, data_dir: &Path) {
    for line in check::describe(store.damage()) {
        tracing::error!(
            "the store was damaged and is repaired: {line}; create lost objects again or restore a \
             backup; the damaged file is {}",
            damaged_path(&data_dir.join("store")).display()
        );
    }
}

/// Returns the limits of the server. Each connection and each open log needs a file descriptor.
fn limits(args: &InstanceArgs, descriptors: usize) -> ServerLimits {
    let defaults = ServerLimits::default();
    let log_streams_max = defaults.log_streams_max.min(descriptors / 4);
    let connections_max = args.max_connections.min(descriptors - log_streams_max);
    ServerLimits {
        requests_max: args.max_requests,
        requests_per_second: args.max_requests_per_second,
        cron_job_requests_per_second: args.max_cronjob_requests_per_second,
        job_requests_per_second: args.max_job_requests_per_second,
        watches_max: args.max_watches,
        log_streams_max,
        connections: ConnectionLimits::with_total(connections_max),
        ..defaults
    }
}

/// Returns how long slot records are kept.
fn ledger_limits(args: &InstanceArgs) -> LedgerLimits {
    LedgerLimits {
        age_max: Duration::from_secs(u64::from(args.ledger_days) * 24 * 60 * 60),
        records_max: usize::try_from(args.ledger_records).unwrap_or(usize::MAX),
    }
}

fn audit(args: &InstanceArgs, data_dir: &Path) -> anyhow::Result<AuditLog> {
    if args.no_audit_log {
        return Ok(AuditLog::none());
    }
    let level = match args.audit_level {
        args::AuditLevel::Writes => AuditLevel::Writes,
        args::AuditLevel::Requests => AuditLevel::Requests,
        args::AuditLevel::All => AuditLevel::All,
    };
    let path = args.audit_log.clone().unwrap_or_else(|| data_dir.join("audit.log"));
    AuditLog::to_file(&path, level).context("could not open the audit log")
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn readable_encryption_keys_and_a_damaged_store_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("key");
        fs::write(&key_file, "").unwrap();
        fs::set_permissions(&key_file, Permissions::from_mode(0o600)).unwrap();
        let warnings = || secrecy_warnings(Some(&key_file), folder.path());
        assert_eq!(warnings(), [""; 0]);
        fs::set_permissions(&key_file, Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(&warnings()[..], [key] if key.contains("mode 644")), "{:?}", warnings());
        fs::write(folder.path().join("store.damaged"), "").unwrap();
        assert!(warnings()[1].contains("store.damaged may contain Secrets"), "{:?}", warnings());
        assert_eq!(secrecy_warnings(None, folder.path()), [""; 0]);
    }
}
