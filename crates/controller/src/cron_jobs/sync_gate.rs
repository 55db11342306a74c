//! Holds CronJobs back until everything that matters for them was listed.
//!
//! A CronJob is reconciled only after its kind and the Jobs and RunRequests of its namespace were listed. Scopes become
//! ready one by one, so a kind or namespace that cannot be listed does not block the others.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use punctual_api::CronJobKind;
use punctual_client::SyncTracker;

use super::key::CronJobName;
use super::options::CronJobOptions;
use crate::metrics::Metrics;

/// One namespace or all of them, with the sync state of each watch.
pub(super) struct Scope {
    pub(super) namespace: Option<String>,
    pub(super) jobs: SyncTracker,
    /// The RunRequests; `None` if the server has none.
    pub(super) requests: Option<SyncTracker>,
    pub(super) kinds: Vec<ScopedKind>,
}

/// A kind of CronJob in a scope, with the sync state of its watch.
pub(super) struct ScopedKind {
    pub(super) kind: CronJobKind,
    pub(super) cron_jobs: SyncTracker,
}

/// All scopes of the controller.
pub(super) fn scopes(options: &CronJobOptions) -> Vec<Scope> {
    let new_kind = |kind: &CronJobKind| ScopedKind { kind: *kind, cron_jobs: SyncTracker::new() };
    let new_scope = |namespace| Scope {
        namespace,
        jobs: SyncTracker::new(),
        requests: options.run_requests.then(SyncTracker::new),
        kinds: options.kinds.iter().map(new_kind).collect(),
    };
    options.cluster.watched_namespaces().into_iter().map(new_scope).collect()
}

/// A kind of CronJob in a scope, after the first list of it and of the Jobs there.
pub(super) struct Synced {
    pub(super) kind: CronJobKind,
    pub(super) namespace: Option<String>,
}

/// Waits for the first lists, and exports how many scopes still wait.
pub(super) struct PendingSync {
    waiting: FuturesUnordered<BoxFuture<'static, Synced>>,
    metrics: Metrics,
}

impl PendingSync {
    pub(super) fn new(scopes: &[Scope], metrics: &Metrics) -> PendingSync {
        let waiting = FuturesUnordered::new();
        for scope in scopes {
            for kind in &scope.kinds {
                waiting.push(wait_for_sync(scope, kind));
            }
        }
        let pending = PendingSync { waiting, metrics: metrics.clone() };
        pending.export();
        pending
    }

    /// Waits for the next scope. Never returns after the last one.
    pub(super) async fn next(&mut self) -> Synced {
        let Some(synced) = self.waiting.next().await else { return std::future::pending().await };
        self.export();
        synced
    }

    fn export(&self) {
        self.metrics.set_unsynced_scopes(self.waiting.len());
    }
}

impl Drop for PendingSync {
    fn drop(&mut self) {
        self.metrics.set_unsynced_scopes(0);
    }
}

fn wait_for_sync(scope: &Scope, kind: &ScopedKind) -> BoxFuture<'static, Synced> {
    let synced = Synced { kind: kind.kind, namespace: scope.namespace.clone() };
    let jobs = scope.jobs.clone();
    let requests = scope.requests.clone();
    let cron_jobs = kind.cron_jobs.clone();
    Box::pin(async move {
        cron_jobs.wait_for(1).await;
        jobs.wait_for(1).await;
        if let Some(requests) = requests {
            requests.wait_for(1).await;
        }
        synced
    })
}

/// Which scopes are synced, and which CronJobs wait for theirs.
#[derive(Default)]
pub(super) struct SyncGate {
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    synced: HashMap<CronJobKind, SyncedNamespaces>,
    deferred: BTreeSet<Arc<CronJobName>>,
}

#[derive(Default)]
struct SyncedNamespaces {
    all: bool,
    names: BTreeSet<String>,
}

impl SyncGate {
    /// Opens the gate for a scope. Returns the deferred CronJobs of the scope, which must be queued.
    pub(super) fn open(&self, scope: &Synced) -> BTreeSet<Arc<CronJobName>> {
        let mut state = self.state();
        let namespaces = state.synced.entry(scope.kind).or_default();
        match &scope.namespace {
            Some(namespace) => {
                namespaces.names.insert(namespace.clone());
            }
            None => namespaces.all = true,
        }
        let deferred = std::mem::take(&mut state.deferred);
        let (ready, deferred) = deferred.into_iter().partition(|name| state.is_synced(name));
        state.deferred = deferred;
        ready
    }

    /// Returns true if the scope of a CronJob is not synced, and defers the CronJob until it is.
    pub(super) fn defer_if_unsynced(&self, name: &Arc<CronJobName>) -> bool {
        let mut state = self.state();
        let is_unsynced = !state.is_synced(name);
        if is_unsynced {
            state.deferred.insert(name.clone());
        }
        is_unsynced
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateState {
    fn is_synced(&self, name: &CronJobName) -> bool {
        self.synced
            .get(&name.kind)
            .is_some_and(|namespaces| namespaces.all || namespaces.names.contains(&name.namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(kind: CronJobKind, namespace: &str) -> Arc<CronJobName> {
        Arc::new(CronJobName { kind, namespace: namespace.to_owned(), name: "a".to_owned() })
    }

    #[test]
    fn a_scope_releases_only_its_own_deferred_cron_jobs() {
        let gate = SyncGate::default();
        let first = name(CronJobKind::BatchV1, "first");
        let second = name(CronJobKind::BatchV1, "second");
        let other_kind = name(CronJobKind::ScheduledJob, "first");
        for name in [&first, &second, &other_kind] {
            assert!(gate.defer_if_unsynced(name));
        }
        let scope = Synced { kind: CronJobKind::BatchV1, namespace: Some("first".to_owned()) };
        assert_eq!(gate.open(&scope), BTreeSet::from([first.clone()]));
        assert!(!gate.defer_if_unsynced(&first));
        let all_namespaces = Synced { kind: CronJobKind::BatchV1, namespace: None };
        assert_eq!(gate.open(&all_namespaces), BTreeSet::from([second]));
        assert!(gate.defer_if_unsynced(&other_kind));
    }
}
