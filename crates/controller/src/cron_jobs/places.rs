//! Where is watched, and what of it was listed: nothing is decided on half a namespace, and a kind or a
//! namespace that cannot be listed does not keep the others waiting.

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use punctual_api::CronJobKind;
use punctual_client::SyncTracker;

use super::CronJobOptions;
use crate::metrics::Metrics;

/// Everywhere, or one namespace, and what of it was listed.
pub(super) struct Place {
    pub(super) namespace: Option<String>,
    pub(super) jobs: SyncTracker,
    pub(super) kinds: Vec<(CronJobKind, SyncTracker)>,
}

/// A kind in a place, of which everything was listed that has to be known.
pub(super) struct Opened {
    pub(super) flavor: CronJobKind,
    pub(super) namespace: Option<String>,
}

/// All places.
pub(super) fn places(config: &CronJobOptions) -> Vec<Place> {
    let kinds = || config.kinds.iter().map(|flavor| (*flavor, SyncTracker::new())).collect();
    let place = |namespace| Place { namespace, jobs: SyncTracker::new(), kinds: kinds() };
    config.cluster.watched_namespaces().into_iter().map(place).collect()
}

/// What was not listed yet. How much that is is told, until this is dropped.
pub(super) struct Unlisted {
    waiting: FuturesUnordered<BoxFuture<'static, Opened>>,
    metrics: Metrics,
}

impl Unlisted {
    pub(super) fn new(places: &[Place], metrics: &Metrics) -> Unlisted {
        let waiting = places.iter().flat_map(|place| {
            place.kinds.iter().map(|(flavor, listed)| -> BoxFuture<'static, Opened> {
                let (jobs, listed) = (place.jobs.clone(), listed.clone());
                let opened = Opened { flavor: *flavor, namespace: place.namespace.clone() };
                Box::pin(async move {
                    listed.wait_for(1).await;
                    jobs.wait_for(1).await;
                    opened
                })
            })
        });
        let unlisted = Unlisted { waiting: waiting.collect(), metrics: metrics.clone() };
        unlisted.count();
        unlisted
    }

    /// The next that was listed; never, when everything was.
    pub(super) async fn next(&mut self) -> Opened {
        let Some(opened) = self.waiting.next().await else { return std::future::pending().await };
        self.count();
        opened
    }

    fn count(&self) {
        self.metrics.unlisted(self.waiting.len());
    }
}

impl Drop for Unlisted {
    fn drop(&mut self) {
        self.metrics.unlisted(0);
    }
}
