//! Which of the kinds that we are to look after the cluster serves.

use std::time::Duration;

use kube::Client;
use punctual_api::CronJobKind;
use tokio::time::{sleep, timeout};

use super::args::KindArg;

/// How often we look for a kind that is missing.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// How soon we ask again whoever did not answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The kinds, by whether the cluster serves them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServedKinds {
    pub(super) served: Vec<CronJobKind>,
    pub(super) missing: Vec<CronJobKind>,
}

impl ServedKinds {
    /// Asks the cluster until it answers, and serves one of the kinds at least.
    pub(super) async fn find(client: &Client, wanted: &[KindArg]) -> ServedKinds {
        loop {
            match ServedKinds::ask(client, wanted).await {
                Ok(kinds) => {
                    kinds.missing.iter().for_each(|flavor| warn_missing(*flavor));
                    if !kinds.served.is_empty() {
                        return kinds;
                    }
                }
                Err(why) => {
                    tracing::warn!(why, "the cluster cannot be asked what it serves");
                    sleep(RETRY_DELAY).await;
                    continue;
                }
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the cluster serves what was missing.
    pub(super) async fn changed(&self, client: &Client) {
        loop {
            sleep(POLL_INTERVAL).await;
            for flavor in &self.missing {
                if is_served(client, *flavor).await == Ok(true) {
                    return;
                }
            }
        }
    }

    async fn ask(client: &Client, wanted: &[KindArg]) -> Result<ServedKinds, String> {
        let mut kinds = ServedKinds { served: Vec::new(), missing: Vec::new() };
        for flavor in wanted.iter().map(|kind| kind.flavor()) {
            let list = match is_served(client, flavor).await? {
                true => &mut kinds.served,
                false => &mut kinds.missing,
            };
            if !list.contains(&flavor) {
                list.push(flavor);
            }
        }
        Ok(kinds)
    }
}

async fn is_served(client: &Client, flavor: CronJobKind) -> Result<bool, String> {
    let asked = client.list_api_group_resources(flavor.api_version());
    match timeout(DISCOVERY_TIMEOUT, asked).await {
        Ok(Ok(list)) => Ok(list.resources.iter().any(|kind| kind.name == flavor.plural())),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(false),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

fn warn_missing(flavor: CronJobKind) {
    match flavor {
        CronJobKind::ScheduledJob => tracing::warn!(
            "the cluster does not serve ScheduledJobs, so we wait for their definition; to install \
             it: punctual crd | kubectl apply --server-side -f -"
        ),
        CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => tracing::warn!(
            "the cluster does not serve {} {}",
            flavor.api_version(),
            flavor.plural()
        ),
    }
}
