//! Runs by CronJob and how they ended. There may be any number of CronJobs, so only the first so
//! many have counters of their own.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// How many CronJobs have counters of their own.
pub(super) const CRON_JOBS_MAX: usize = 1_000;

/// The name of all others; no CronJob can have it.
const OTHER: &str = "_other";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// Its Job is complete.
    Succeeded,
    /// Its Job failed.
    Failed,
    /// It never began.
    Missed,
}

impl Outcome {
    const ALL: [Outcome; 3] = [Outcome::Succeeded, Outcome::Failed, Outcome::Missed];
}

impl EncodeLabelValue for Outcome {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let word = match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Missed => "missed",
        };
        word.encode(encoder)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Run {
    namespace: String,
    cronjob: String,
    outcome: Outcome,
}

/// The counters of runs.
#[derive(Default)]
pub(super) struct Runs {
    counters: Family<Run, Counter>,
    /// Namespaces and names of the CronJobs with counters of their own.
    known: Mutex<HashSet<(String, String)>>,
}

impl Runs {
    pub(super) fn counters(&self) -> Family<Run, Counter> {
        self.counters.clone()
    }

    pub(super) fn count(&self, namespace: &str, name: &str, outcome: Outcome, count: u64) {
        let key = (namespace.to_owned(), name.to_owned());
        // Held to the end, so that nobody is forgotten in between and stays.
        let mut known = self.known();
        let is_known = known.contains(&key) || known.len() < CRON_JOBS_MAX;
        let (namespace, cronjob) = match is_known {
            true => {
                // A counter that is born with its first failure looks to Prometheus as if nothing had failed.
                if known.insert(key.clone()) {
                    Outcome::ALL.into_iter().for_each(|outcome| self.show(&key, outcome));
                }
                key
            }
            false => (String::new(), OTHER.to_owned()),
        };
        self.counters.get_or_create(&Run { namespace, cronjob, outcome }).inc_by(count);
    }

    /// Has a counter seen before it counts.
    fn show(&self, (namespace, name): &(String, String), outcome: Outcome) {
        let (namespace, cronjob) = (namespace.clone(), name.clone());
        drop(self.counters.get_or_create(&Run { namespace, cronjob, outcome }));
    }

    pub(super) fn forget(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        let mut known = self.known();
        if !known.remove(&key) {
            return;
        }
        for outcome in Outcome::ALL {
            let (namespace, cronjob) = key.clone();
            self.counters.remove(&Run { namespace, cronjob, outcome });
        }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<(String, String)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
