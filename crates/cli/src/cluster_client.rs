//! A connection to a cluster, for commands that send a few requests.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use kube::Client;
use punctual_client::ApiError;
use tokio::time::timeout;

use crate::cluster_config::{self, ClusterArgs};
use crate::transport;

/// The deadline of each request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A client and the address of its cluster.
pub(crate) struct ClusterClient {
    pub(crate) client: Client,
    pub(crate) url: String,
}

/// Builds a client. Sends no request. The server uses `agent` as the field manager of written objects.
pub(crate) async fn connect(args: &ClusterArgs, agent: &str) -> anyhow::Result<ClusterClient> {
    client_of(cluster_config::load(args, agent).await?)
}

/// Builds a client for the cluster of the kubeconfig, or for the `punctual up` of a data directory if there is no
/// kubeconfig.
pub(crate) async fn connect_or_local(
    args: &ClusterArgs,
    data_dir: Option<&Path>,
    agent: &str,
) -> anyhow::Result<ClusterClient> {
    let config = cluster_config::load_or_local(args, data_dir, agent).await?;
    client_of(config)
}

fn client_of(config: kube::Config) -> anyhow::Result<ClusterClient> {
    let url = cluster_config::display_url(&config.cluster_url);
    let client = transport::build_client(config, 0)
        .with_context(|| format!("could not create a client for the cluster at {url}"))?;
    Ok(ClusterClient { client, url })
}

impl ClusterClient {
    /// Waits for a response until the deadline.
    pub(crate) async fn wait<T>(
        &self,
        response: impl Future<Output = kube::Result<T>>,
    ) -> anyhow::Result<kube::Result<T>> {
        let response = timeout(REQUEST_TIMEOUT, response).await;
        response
            .with_context(|| format!("the cluster at {} does not answer; is it running?", self.url))
    }

    /// Waits for a successful response until the deadline.
    pub(crate) async fn call<T>(
        &self,
        response: impl Future<Output = kube::Result<T>>,
    ) -> anyhow::Result<T> {
        self.wait(response).await?.map_err(describe_error)
    }
}

/// The server's message, or why there was no response.
pub(crate) fn describe_error(error: kube::Error) -> anyhow::Error {
    match error {
        kube::Error::Api(status) => anyhow!(status.message.clone()),
        error => ApiError::from(error).into(),
    }
}
