//! Builds the client for the cluster from a kubeconfig or a service account.

use anyhow::Context;
use http::{HeaderValue, header};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use punctual_controller::FIELD_MANAGER;

use super::args::ControllerArgs;
use super::transport;

/// A client for the cluster.
pub(super) struct Connection {
    pub(super) client: Client,
    /// The namespace of the kubeconfig's context, or of this Pod.
    pub(super) namespace: String,
}

impl Connection {
    /// Reads the configuration and builds the client. Sends no request.
    pub(super) async fn open(args: &ControllerArgs) -> anyhow::Result<Connection> {
        let config = set_user_agent(load_config(args).await?);
        let namespace = config.default_namespace.clone();
        let url = config.cluster_url.to_string();
        // One watch of Jobs and one of each kind, per namespace.
        let watches = args.namespaces.len().max(1) * (args.kinds.len() + 1);
        let client = transport::build_client(config, watches)
            .with_context(|| format!("could not create a client for the cluster at {url}"))?;
        tracing::info!(url, namespace, "using cluster");
        Ok(Connection { client, namespace })
    }
}

async fn load_config(args: &ControllerArgs) -> anyhow::Result<Config> {
    let options =
        KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &args.kubeconfig {
        let shown = path.display();
        let file =
            Kubeconfig::read_from(path).with_context(|| format!("could not read {shown}"))?;
        let config = Config::from_custom_kubeconfig(file, &options).await;
        return config
            .with_context(|| format!("{shown} has no usable cluster or user for the context"));
    }
    if args.context.is_some() {
        let config = Config::from_kubeconfig(&options).await;
        return config.context("the kubeconfig has no usable cluster or user for the context");
    }
    Config::infer().await.context(
        "no cluster found: there is no kubeconfig, and this is not a Pod with a service account; set \
         --kubeconfig",
    )
}

/// Sets the User-Agent header. The server uses its first part as the field manager.
fn set_user_agent(mut config: Config) -> Config {
    let agent = format!("{FIELD_MANAGER}/{}", env!("CARGO_PKG_VERSION"));
    config.headers.extend(HeaderValue::from_str(&agent).map(|agent| (header::USER_AGENT, agent)));
    config
}
