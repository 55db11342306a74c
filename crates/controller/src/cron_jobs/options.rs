//! The options of the CronJob controller: which CronJobs it reconciles, and the properties of the
//! cluster.

use std::time::Duration;

use punctual_api::CronJobKind;
use punctual_engine::cronjob::{FeatureGates, RecordRetention};
use punctual_schedule::Zone;

use super::signals::Signals;

/// Which CronJobs the controller reconciles, and how.
#[derive(Clone, Debug)]
pub struct CronJobOptions {
    /// The kinds.
    pub kinds: Vec<CronJobKind>,
    /// The time zone of schedules that name none.
    pub default_zone: Zone,
    /// The features that are on.
    pub gates: FeatureGates,
    /// Whether the server has RunRequests.
    pub run_requests: bool,
    /// How many CronJobs are reconciled at a time.
    pub workers: usize,
    /// The properties of the cluster.
    pub cluster: ClusterOptions,
}

/// Properties of the cluster. The default fits our own server: it stores every field, no create arrives
/// late, and all namespaces are reconciled.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// The namespaces to reconcile; empty means all.
    pub namespaces: Vec<String>,
    /// The kinds of which the server drops status fields that Kubernetes does not define. Their missed
    /// slots are recorded in an annotation, and their status is watched for competing controllers.
    pub pruned_kinds: Vec<CronJobKind>,
    /// How long a create may still reach the server after its sender gave up. Finished Jobs are kept for this
    /// time after the start and after each unconfirmed create, so that a late create finds its name taken.
    pub late_create_window: Duration,
    /// How many slot records the status of a CronJob keeps. A pruned kind keeps none.
    pub record_retention: RecordRetention,
    /// Where the controller reports its state.
    pub signals: Signals,
}

impl ClusterOptions {
    /// How many slot records the status of a kind keeps.
    pub(super) fn retention(&self, kind: CronJobKind) -> RecordRetention {
        if self.pruned_kinds.contains(&kind) {
            RecordRetention::Newest(0)
        } else {
            self.record_retention
        }
    }

    /// Whether manual Jobs count for the concurrency policy, and `Replace` waits for the replaced Pods. Clients
    /// that know the built-in controller do not expect it, so a kind that it reconciles too needs the annotations.
    pub(super) fn extends_policies(&self, kind: CronJobKind) -> bool {
        !self.pruned_kinds.contains(&kind)
    }

    /// The scopes to watch: all namespaces (`None`), or each of the configured ones.
    pub(super) fn watched_namespaces(&self) -> Vec<Option<String>> {
        if self.namespaces.is_empty() {
            vec![None]
        } else {
            self.namespaces.iter().cloned().map(Some).collect()
        }
    }
}
