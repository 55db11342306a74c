//! The server as a value: objects, people and documents behind one router.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use punctual_api::validate::Rules;
use punctual_api::{Dialect, Status};
use punctual_schedule::Zones;
use punctual_store::Store;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::audit::Audit;
use crate::auth::{Tokens, User};
use crate::http;
use crate::limits::{Gate, Limits};
use crate::logs::LogSource;
use crate::metrics::Metrics;
use crate::openapi::Documents;
use crate::registry::{Hand, Place, Registry};
use crate::resource::{NAMESPACES, View};
use crate::world::{RealWorld, World};

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
    pub audit: Audit,
    /// Whoever keeps what Pods write.
    pub logs: Option<Arc<dyn LogSource>>,
    /// The node of Pods that name none. With one machine there is nothing to choose.
    pub node: Option<String>,
    /// Time and chance.
    pub world: Arc<dyn World>,
}

impl Config {
    /// A server of a store, with nobody to believe and nothing unusual.
    pub fn new(store: Store) -> Config {
        Config {
            store,
            zones: Zones::bundled(),
            dialect: Dialect::default(),
            tokens: Tokens::default(),
            limits: Limits::default(),
            audit: Audit::none(),
            logs: None,
            node: None,
            world: Arc::new(RealWorld),
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
    pub(crate) audit: Audit,
    pub(crate) logs: Option<Arc<dyn LogSource>>,
    pub(crate) metrics: Metrics,
    /// Ends watches, which would otherwise never end.
    pub(crate) ends: CancellationToken,
}

/// Namespaces that are always there.
const FIRST_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Server {
    /// Makes a server; what every cluster has is created if it is not there yet.
    pub async fn start(config: Config) -> Result<Server, Status> {
        let rules = Rules { zones: config.zones, dialect: config.dialect };
        let (store, world, node) = (config.store, config.world, config.node);
        let registry = Registry { store, rules, world, node };
        let shared = Shared {
            registry,
            tokens: config.tokens,
            documents: Documents::new(config.dialect),
            gate: Gate::new(&config.limits),
            limits: config.limits,
            audit: config.audit,
            logs: config.logs,
            metrics: Metrics::default(),
            ends: CancellationToken::new(),
        };
        let server = Server { shared: Arc::new(shared) };
        for name in FIRST_NAMESPACES {
            server.ensure_namespace(name).await?;
        }
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
        let hand = Hand { manager: "punctual".to_owned(), is_dry_run: false };
        self.shared.registry.create(&place, namespace, &hand).await.map(|_| ())
    }

    /// The API for whoever shows who they are.
    pub fn router(&self) -> Router {
        Router::new().fallback(http::handle).with_state(self.clone())
    }

    /// The API for one user of this process: no token, no socket.
    pub fn local(&self, user: User) -> Router {
        self.router().layer(Extension(user))
    }

    /// Ends all watches and takes no more requests that last. What is being written is finished.
    pub fn end(&self) {
        self.shared.ends.cancel();
    }

    /// The longest that an ordinary request may take.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.shared.limits.request_timeout
    }
}
