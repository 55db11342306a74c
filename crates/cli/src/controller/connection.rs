//! Builds the client for the cluster from a kubeconfig or a service account.

use anyhow::Context;
use kube::Client;
use punctual_controller::FIELD_MANAGER;

use super::args::ControllerArgs;
use crate::{cluster_config, transport};

/// A client for the cluster.
pub(super) struct Connection {
    pub(super) client: Client,
    /// The namespace of the kubeconfig's context, or of this Pod.
    pub(super) namespace: String,
}

impl Connection {
    /// Reads the configuration and builds the client. Sends no request.
    pub(super) async fn open(args: &ControllerArgs) -> anyhow::Result<Connection> {
        let config = cluster_config::load(&args.cluster, FIELD_MANAGER).await?;
        let namespace = config.default_namespace.clone();
        let url = cluster_config::display_url(&config.cluster_url);
        // One watch of Jobs and one of each kind, per namespace.
        let watches = args.namespaces.len().max(1) * (args.kinds.len() + 1);
        let client = transport::build_client(config, watches)
            .with_context(|| format!("could not create a client for the cluster at {url}"))?;
        tracing::info!(url, namespace, "using cluster");
        Ok(Connection { client, namespace })
    }
}
