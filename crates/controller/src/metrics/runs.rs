//! Runs by CronJob and outcome. The number of CronJobs is unbounded, so only the first
//! [`CRON_JOBS_MAX`] have their own counters.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// How many CronJobs have their own counters.
pub(super) const CRON_JOBS_MAX: usize = 1_000;

/// The label of all other CronJobs. It is not a valid name of a CronJob.
const OTHER: &str = "_other";

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RunOutcome {
    /// The Job is complete.
    Succeeded,
    /// The Job failed.
    Failed,
    /// The slot was missed, so there is no Job.
    Missed,
    /// A later slot started instead, so there is no Job.
    Skipped,
}

impl RunOutcome {
    const ALL: [RunOutcome; 4] =
        [RunOutcome::Succeeded, RunOutcome::Failed, RunOutcome::Missed, RunOutcome::Skipped];
}

impl EncodeLabelValue for RunOutcome {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let label = match self {
            RunOutcome::Succeeded => "succeeded",
            RunOutcome::Failed => "failed",
            RunOutcome::Missed => "missed",
            RunOutcome::Skipped => "skipped",
        };
        label.encode(encoder)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RunLabels {
    namespace: String,
    cronjob: String,
    outcome: RunOutcome,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct LabelledCronJob {
    namespace: String,
    name: String,
}

impl LabelledCronJob {
    fn new(namespace: &str, name: &str) -> LabelledCronJob {
        LabelledCronJob { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    fn other() -> LabelledCronJob {
        LabelledCronJob::new("", OTHER)
    }

    fn labels(&self, outcome: RunOutcome) -> RunLabels {
        RunLabels { namespace: self.namespace.clone(), cronjob: self.name.clone(), outcome }
    }
}

/// The counters of runs.
#[derive(Default)]
pub(super) struct RunCounters {
    counters: Family<RunLabels, Counter>,
    /// The CronJobs with their own counters.
    labelled: Mutex<HashSet<LabelledCronJob>>,
}

impl RunCounters {
    pub(super) fn counters(&self) -> Family<RunLabels, Counter> {
        self.counters.clone()
    }

    pub(super) fn count(&self, namespace: &str, name: &str, outcome: RunOutcome, count: u64) {
        let mut cron_job = LabelledCronJob::new(namespace, name);
        // The lock is held to the end, so that a concurrent `remove` does not miss the new counters.
        let mut labelled = self.labelled();
        if !labelled.contains(&cron_job) {
            if labelled.len() < CRON_JOBS_MAX {
                // Prometheus sees no increase in a counter that first appears with the value 1, so all
                // counters of the CronJob are created with 0.
                for outcome in RunOutcome::ALL {
                    drop(self.counters.get_or_create(&cron_job.labels(outcome)));
                }
                labelled.insert(cron_job.clone());
            } else {
                cron_job = LabelledCronJob::other();
            }
        }
        self.counters.get_or_create(&cron_job.labels(outcome)).inc_by(count);
    }

    pub(super) fn remove(&self, namespace: &str, name: &str) {
        let cron_job = LabelledCronJob::new(namespace, name);
        let mut labelled = self.labelled();
        if !labelled.remove(&cron_job) {
            return;
        }
        for outcome in RunOutcome::ALL {
            self.counters.remove(&cron_job.labels(outcome));
        }
    }

    fn labelled(&self) -> MutexGuard<'_, HashSet<LabelledCronJob>> {
        self.labelled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
