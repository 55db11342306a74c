//! [`Server`]: its configuration, the state that all requests share, and its router.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use punctual_api::validate::ValidationOptions;
use punctual_api::{Dialect, Status};
use punctual_schedule::Zones;
use punctual_store::Store;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::audit::AuditLog;
use crate::auth::{Tokens, User};
use crate::env::{ServerEnv, SystemEnv};
use crate::expire;
use crate::http;
use crate::ledger::{self, Ledger, LedgerLimits};
use crate::limits::{RequestLimiter, ServerLimits};
use crate::logs::LogSource;
use crate::metrics::{AppendMetrics, Metrics};
use crate::openapi::Documents;
use crate::pki::Revocations;
use crate::quota;
use crate::registry::{CollectionRef, Registry, WriteContext};
use crate::resource::{NAMESPACES, ServedResource};
use crate::stored_check;

/// The configuration of a server.
pub struct Config {
    /// The store that holds the objects.
    pub store: Store,
    /// The known time zones.
    pub zones: Zones,
    /// Which extensions of the Kubernetes kinds are accepted.
    pub dialect: Dialect,
    /// The accepted bearer tokens.
    pub tokens: Tokens,
    /// The limits on requests.
    pub limits: ServerLimits,
    /// The audit log.
    pub audit: AuditLog,
    /// The source of Pod logs, if Pods run here.
    pub logs: Option<Arc<dyn LogSource>>,
    /// The node to which Pods without a `nodeName` are assigned, if any.
    pub node: Option<String>,
    /// The clock and the source of randomness.
    pub env: Arc<dyn ServerEnv>,
    /// Appends the metrics of other components of this process to the response of `/metrics`, in
    /// OpenMetrics text format without the final `# EOF`.
    pub extra_metrics: Option<Arc<AppendMetrics>>,
    /// The list of revoked client certificates, whose open connections are closed.
    pub revocations: Option<Revocations>,
    /// How long Events are kept after their last write. The oldest Events are deleted earlier if
    /// there are more than 100,000.
    pub event_ttl: Duration,
    /// How long slot records are kept.
    pub ledger: LedgerLimits,
}

/// Default of kube-apiserver's `--event-ttl`.
const EVENT_TTL: Duration = Duration::from_secs(60 * 60);

impl Config {
    /// Returns the default configuration: no tokens, no audit log, no Pod logs.
    pub fn new(store: Store) -> Config {
        Config {
            store,
            zones: Zones::bundled(),
            dialect: Dialect::default(),
            tokens: Tokens::default(),
            limits: ServerLimits::default(),
            audit: AuditLog::none(),
            logs: None,
            node: None,
            env: Arc::new(SystemEnv),
            extra_metrics: None,
            revocations: None,
            event_ttl: EVENT_TTL,
            ledger: LedgerLimits::default(),
        }
    }
}

/// A running server. Clones share the same state.
#[derive(Clone)]
pub struct Server {
    pub(crate) state: Arc<ServerState>,
}

pub(crate) struct ServerState {
    pub(crate) registry: Registry,
    pub(crate) tokens: Tokens,
    pub(crate) documents: Documents,
    pub(crate) limits: ServerLimits,
    pub(crate) limiter: RequestLimiter,
    pub(crate) audit: AuditLog,
    pub(crate) logs: Option<Arc<dyn LogSource>>,
    pub(crate) metrics: Metrics,
    pub(crate) extra_metrics: Option<Arc<AppendMetrics>>,
    pub(crate) revocations: Option<Revocations>,
    /// Cancelled on shutdown, to end watches and followed logs.
    pub(crate) shutdown: CancellationToken,
}

/// Marks requests that come from this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcess;

/// Namespaces that the server creates at start.
const INITIAL_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Server {
    /// Starts a server and creates the initial namespaces. Must be called within a tokio runtime,
    /// since it spawns the tasks that delete expired Events and old slot records, update the statuses of quotas and move
    /// unreadable objects aside.
    pub async fn start(config: Config) -> Result<Server, Status> {
        let metrics = Metrics::new(&config.zones, config.audit.dropped());
        let validation = ValidationOptions { zones: config.zones, dialect: config.dialect };
        let ledger = Arc::new(Ledger::new(config.store.revision()));
        let registry = Registry {
            store: config.store,
            validation,
            env: config.env,
            node: config.node,
            usage: Arc::default(),
            ledger,
        };
        let state = ServerState {
            registry,
            tokens: config.tokens,
            documents: Documents::new(config.dialect),
            limiter: RequestLimiter::new(&config.limits),
            limits: config.limits,
            audit: config.audit,
            logs: config.logs,
            metrics,
            extra_metrics: config.extra_metrics,
            revocations: config.revocations,
            shutdown: CancellationToken::new(),
        };
        let server = Server { state: Arc::new(state) };
        for name in INITIAL_NAMESPACES {
            server.ensure_namespace(name).await?;
        }
        let snapshot = server.state.registry.store.snapshot();
        let state = Arc::downgrade(&server.state);
        let checked = state.clone();
        tokio::spawn(stored_check::move_unreadable(snapshot, move || {
            checked.upgrade().map(|state| state.registry.store.clone())
        }));
        let shutdown = server.state.shutdown.clone();
        tokio::spawn(expire::expire_events(state.clone(), config.event_ttl, shutdown.clone()));
        tokio::spawn(ledger::prune(state.clone(), config.ledger, shutdown.clone()));
        tokio::spawn(quota::update_quota_statuses(state, shutdown));
        Ok(server)
    }

    async fn ensure_namespace(&self, name: &str) -> Result<(), Status> {
        let served =
            ServedResource { resource: &NAMESPACES, group_version: NAMESPACES.storage_version() };
        let collection = CollectionRef { served, namespace: String::new() };
        if self.state.registry.store.get(&collection.key(name)).is_some() {
            return Ok(());
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let context = WriteContext { manager: "punctual".to_owned(), is_dry_run: false };
        self.state.registry.create(&collection, namespace, &context).await.map(|_| ())
    }

    /// Returns the API for remote clients, which authenticate with a token or a certificate.
    pub fn router(&self) -> Router {
        Router::new().fallback(http::handle).with_state(self.clone())
    }

    /// Returns the API for one user of this process. It needs neither a token nor a socket, and the
    /// request limits do not apply, since components of this process must not be locked out.
    pub fn local_router(&self, user: User) -> Router {
        self.router().layer(Extension(user)).layer(Extension(InProcess))
    }

    /// Ends all watches and followed logs, and makes the server report that it is not ready.
    /// Running writes finish. Events no longer expire.
    pub fn shutdown(&self) {
        self.state.shutdown.cancel();
    }
}
