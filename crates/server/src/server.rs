//! The server as a value: objects, people and documents behind one router.

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
use crate::limits::{Gate, Limits};
use crate::logs::LogSource;
use crate::metrics::{ExtraMetrics, Metrics};
use crate::openapi::Documents;
use crate::registry::{Place, Registry, WriteContext};
use crate::resource::{NAMESPACES, View};

/// What a server is made of.
pub struct Config {
    /// The objects.
    pub store: Store,
    /// The time zones that exist.
    pub zones: Zones,
    /// What is accepted in Kubernetes' own kinds.
    pub dialect: Dialect,
    /// Whom to believe.
    pub tokens: Tokens,
    /// How much at a time.
    pub limits: Limits,
    /// Where requests are written down.
    pub audit: AuditLog,
    /// Whoever keeps what Pods write.
    pub logs: Option<Arc<dyn LogSource>>,
    /// The node of Pods that name none. With one machine there is nothing to choose.
    pub node: Option<String>,
    /// Time and chance.
    pub env: Arc<dyn ServerEnv>,
    /// What else this process counts: appends to the page at `/metrics`, in its format, without the
    /// `# EOF`.
    pub extra_metrics: Option<Arc<ExtraMetrics>>,
    /// How long Events are kept after their last write. The oldest go earlier where there are more
    /// than 100,000 of them.
    pub event_ttl: Duration,
}

/// As kube-apiserver's `--event-ttl` has it.
const EVENT_TTL: Duration = Duration::from_secs(60 * 60);

impl Config {
    /// A server of a store, with nobody to believe and nothing unusual.
    pub fn new(store: Store) -> Config {
        Config {
            store,
            zones: Zones::bundled(),
            dialect: Dialect::default(),
            tokens: Tokens::default(),
            limits: Limits::default(),
            audit: AuditLog::none(),
            logs: None,
            node: None,
            env: Arc::new(SystemEnv),
            extra_metrics: None,
            event_ttl: EVENT_TTL,
        }
    }
}

/// A running server. Clones are handles to the same one.
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) registry: Registry,
    pub(crate) tokens: Tokens,
    pub(crate) documents: Documents,
    pub(crate) limits: Limits,
    pub(crate) gate: Gate,
    pub(crate) audit: AuditLog,
    pub(crate) logs: Option<Arc<dyn LogSource>>,
    pub(crate) metrics: Metrics,
    pub(crate) extra_metrics: Option<Arc<ExtraMetrics>>,
    /// Ends watches, which would otherwise never end.
    pub(crate) ends: CancellationToken,
}

/// Goes with the requests of this very process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcess;

/// Namespaces that are always there.
const FIRST_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Server {
    /// Makes a server; what every cluster has is created if it is not there yet. To be called within
    /// a runtime of tokio, which from then on lets Events expire.
    pub async fn start(config: Config) -> Result<Server, Status> {
        let rules = ValidationOptions { zones: config.zones, dialect: config.dialect };
        let (store, env, node) = (config.store, config.env, config.node);
        let registry = Registry { store, rules, env, node };
        let shared = Shared {
            registry,
            tokens: config.tokens,
            documents: Documents::new(config.dialect),
            gate: Gate::new(&config.limits),
            limits: config.limits,
            audit: config.audit,
            logs: config.logs,
            metrics: Metrics::default(),
            extra_metrics: config.extra_metrics,
            ends: CancellationToken::new(),
        };
        let server = Server { shared: Arc::new(shared) };
        for name in FIRST_NAMESPACES {
            server.ensure_namespace(name).await?;
        }
        let (shared, ends) = (Arc::downgrade(&server.shared), server.shared.ends.clone());
        tokio::spawn(expire::expire(shared, config.event_ttl, ends));
        Ok(server)
    }

    async fn ensure_namespace(&self, name: &str) -> Result<(), Status> {
        let view = View { resource: &NAMESPACES, served: NAMESPACES.stored() };
        let place = Place { view, namespace: String::new() };
        if self.shared.registry.store.get(&place.key(name)).is_some() {
            return Ok(());
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let context = WriteContext { manager: "punctual".to_owned(), is_dry_run: false };
        self.shared.registry.create(&place, namespace, &context).await.map(|_| ())
    }

    /// The API for whoever shows who they are.
    pub fn router(&self) -> Router {
        Router::new().fallback(http::handle).with_state(self.clone())
    }

    /// The API for one user of this process: no token, no socket.
    ///
    /// The limits on how much is done at a time are for strangers: whoever is part of this process
    /// must not be kept out by them.
    pub fn local_router(&self, user: User) -> Router {
        self.router().layer(Extension(user)).layer(Extension(InProcess))
    }

    /// Ends all watches and takes no more requests that last. What is being written is finished.
    /// Events stay as they are.
    pub fn shutdown(&self) {
        self.shared.ends.cancel();
    }

    /// The longest that an ordinary request may take.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.shared.limits.request_timeout
    }
}
