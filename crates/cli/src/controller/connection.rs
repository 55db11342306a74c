//! The way to a cluster: which one, and who we are.

use anyhow::Context;
use http::{HeaderValue, header};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use punctual_controller::FIELD_MANAGER;

use super::args::ControllerArgs;
use super::transport;

/// A cluster.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Our own namespace there.
    pub(super) namespace: String,
}

impl Connection {
    /// Finds the cluster. Nothing is sent yet.
    pub(super) async fn open(args: &ControllerArgs) -> anyhow::Result<Connection> {
        let config = named(config(args).await?);
        let namespace = config.default_namespace.clone();
        let url = config.cluster_url.to_string();
        // Of Jobs and of each kind, in each place.
        let watches = args.namespaces.len().max(1) * (args.kinds.len() + 1);
        let client = transport::client(config, watches)
            .with_context(|| format!("there is no way to the cluster at {url}"))?;
        tracing::info!(url, namespace, "the cluster");
        Ok(Connection { client, namespace })
    }
}

async fn config(args: &ControllerArgs) -> anyhow::Result<Config> {
    let options =
        KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &args.kubeconfig {
        let shown = path.display();
        let file =
            Kubeconfig::read_from(path).with_context(|| format!("could not read {shown}"))?;
        let config = Config::from_custom_kubeconfig(file, &options).await;
        return config.with_context(|| format!("{shown} does not say how to reach the cluster"));
    }
    if args.context.is_some() {
        let config = Config::from_kubeconfig(&options).await;
        return config.context("the kubeconfig does not say how to reach the cluster");
    }
    Config::infer().await.context(
        "there is no cluster: this is no Pod with a service account, and there is no kubeconfig; \
         name one with --kubeconfig",
    )
}

/// The server keeps who wrote which field under the first part of it.
fn named(mut config: Config) -> Config {
    let agent = format!("{FIELD_MANAGER}/{}", env!("CARGO_PKG_VERSION"));
    config.headers.extend(HeaderValue::from_str(&agent).map(|agent| (header::USER_AGENT, agent)));
    config
}
