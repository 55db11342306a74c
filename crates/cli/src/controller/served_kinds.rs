//! Discovers which of the requested kinds the cluster serves, and whether it serves RunRequests.

use std::time::Duration;

use anyhow::anyhow;
use kube::Client;
use punctual_api::CronJobKind;
use punctual_client::ApiError;
use punctual_client::resources::RUN_REQUESTS;
use tokio::time::{sleep, timeout};

use super::args::KindArg;

/// How often to check for a kind that the cluster does not serve yet.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The delay after a failed discovery request.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The requested kinds, split by whether the cluster serves them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServedKinds {
    pub(super) served: Vec<CronJobKind>,
    pub(super) missing: Vec<CronJobKind>,
    /// Whether it serves RunRequests.
    pub(super) run_requests: bool,
}

impl ServedKinds {
    /// Waits until the cluster answers and serves at least one of the kinds.
    pub(super) async fn wait_for_any(client: &Client, wanted: &[KindArg]) -> ServedKinds {
        loop {
            match ServedKinds::discover(client, wanted).await {
                Ok(kinds) => {
                    for kind in &kinds.missing {
                        warn_missing(*kind);
                    }
                    if !kinds.run_requests {
                        warn_missing_requests();
                    }
                    if !kinds.served.is_empty() {
                        return kinds;
                    }
                }
                Err(error) => {
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "could not discover the kinds that the cluster serves; retrying"
                    );
                    sleep(RETRY_DELAY).await;
                    continue;
                }
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Whether the cluster lacks a kind that it may serve later.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.missing.is_empty() || !self.run_requests
    }

    /// Waits until the cluster serves one of the missing kinds.
    pub(super) async fn wait_for_missing(&self, client: &Client) {
        loop {
            sleep(POLL_INTERVAL).await;
            for kind in &self.missing {
                if matches!(is_served(client, *kind).await, Ok(true)) {
                    return;
                }
            }
            if !self.run_requests && matches!(serves_run_requests(client).await, Ok(true)) {
                return;
            }
        }
    }

    async fn discover(client: &Client, wanted: &[KindArg]) -> anyhow::Result<ServedKinds> {
        let run_requests = serves_run_requests(client).await?;
        let mut kinds = ServedKinds { served: Vec::new(), missing: Vec::new(), run_requests };
        for kind in wanted.iter().map(|kind| kind.kind()) {
            let list =
                if is_served(client, kind).await? { &mut kinds.served } else { &mut kinds.missing };
            if !list.contains(&kind) {
                list.push(kind);
            }
        }
        Ok(kinds)
    }
}

async fn is_served(client: &Client, kind: CronJobKind) -> anyhow::Result<bool> {
    is_resource_served(client, kind.api_version(), kind.plural()).await
}

async fn serves_run_requests(client: &Client) -> anyhow::Result<bool> {
    is_resource_served(client, &RUN_REQUESTS.api_version(), RUN_REQUESTS.plural).await
}

async fn is_resource_served(
    client: &Client,
    api_version: &str,
    plural: &str,
) -> anyhow::Result<bool> {
    let request = client.list_api_group_resources(api_version);
    match timeout(DISCOVERY_TIMEOUT, request).await {
        Ok(Ok(list)) => Ok(list.resources.iter().any(|found| found.name == plural)),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(false),
        Ok(Err(error)) => Err(ApiError::from(error).into()),
        Err(_) => Err(anyhow!("no response within {DISCOVERY_TIMEOUT:?}")),
    }
}

fn warn_missing_requests() {
    tracing::warn!(
        "the cluster does not serve RunRequests, so runs cannot be requested; waiting for their \
         CustomResourceDefinition; install it with: punctual crd | kubectl apply --server-side -f -"
    );
}

fn warn_missing(kind: CronJobKind) {
    match kind {
        CronJobKind::ScheduledJob => tracing::warn!(
            "the cluster does not serve ScheduledJobs; waiting for their CustomResourceDefinition; \
             install it with: punctual crd | kubectl apply --server-side -f -"
        ),
        CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => tracing::warn!(
            "the cluster does not serve {} {}; waiting for it",
            kind.api_version(),
            kind.plural()
        ),
    }
}
