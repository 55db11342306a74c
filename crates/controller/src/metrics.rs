//! What controllers count, under Kubernetes' names where there are any.
//!
//! Everything has few series, however many objects there are: a scrape writes them and asks nobody
//! but the queues.

mod queues;
mod runs;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use punctual_client::ClientMetrics;
use punctual_queue::Stats;

pub(crate) use self::queues::QueueTimes;
use self::queues::Queues;
pub(crate) use self::runs::Outcome;
use self::runs::Runs;

/// The counters of the controllers of one process. Clones are handles to the same.
#[derive(Clone)]
pub struct Metrics {
    shared: Arc<Shared>,
}

struct Shared {
    registry: Registry,
    errors: Family<Failed, Counter>,
    creation_skew: Histogram,
    start_skew: Histogram,
    pod_start: Histogram,
    runs: Runs,
    missed: Counter,
    cron_jobs: Gauge,
    unlisted: Gauge,
    events_dropped: Counter,
    leaders: Family<Named, Gauge>,
    queues: Queues,
    next_due: NextDue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failed {
    verb: &'static str,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    name: &'static str,
}

/// Seconds from a millisecond to an hour.
const SKEW_BUCKETS: [f64; 18] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0,
    900.0, 3600.0,
];

/// Seconds from five milliseconds to ten minutes.
const POD_START_BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0];

impl Default for Metrics {
    fn default() -> Metrics {
        let mut shared = Shared {
            registry: Registry::default(),
            errors: Family::default(),
            // As Kubernetes has it: a second, doubled nine times.
            creation_skew: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            start_skew: Histogram::new(SKEW_BUCKETS),
            pod_start: Histogram::new(POD_START_BUCKETS),
            runs: Runs::default(),
            missed: Counter::default(),
            cron_jobs: Gauge::default(),
            unlisted: Gauge::default(),
            events_dropped: Counter::default(),
            leaders: Family::default(),
            queues: Queues::default(),
            next_due: NextDue::default(),
        };
        shared.register();
        Metrics { shared: Arc::new(shared) }
    }
}

impl Shared {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("punctual_api_errors", "Calls that failed", self.errors.clone());
        registry.register(
            "cronjob_controller_job_creation_skew_duration_seconds",
            "Time from when the slot of a run takes effect to the creation of its Job",
            self.creation_skew.clone(),
        );
        registry.register(
            "punctual_start_skew_seconds",
            "Time from when the slot of a run takes effect to the creation of its Job, finely",
            self.start_skew.clone(),
        );
        registry.register(
            "punctual_pod_start_seconds",
            "Time from the first sight of a Pod to its start",
            self.pod_start.clone(),
        );
        registry.register("punctual_runs", "Runs by how they ended", self.runs.counters());
        registry.register("punctual_missed", "Slots that were missed", self.missed.clone());
        registry.register("punctual_cron_jobs", "CronJobs that are known", self.cron_jobs.clone());
        registry.register(
            "punctual_unlisted",
            "Kinds to be looked after that could not be listed yet, in each namespace that was named",
            self.unlisted.clone(),
        );
        registry.register(
            "punctual_events_dropped",
            "Events that were not written",
            self.events_dropped.clone(),
        );
        registry.register(
            "leader_election_master_status",
            "Whether this process leads, 1 if it does",
            self.leaders.clone(),
        );
        registry.register_collector(Box::new(self.queues.clone()));
        registry.register_collector(Box::new(self.next_due.clone()));
    }
}

impl Metrics {
    /// Appends all counters in the text format of OpenMetrics, without its end.
    pub fn encode(&self, page: &mut String) {
        // Writing to a text cannot fail.
        let _ = encode_registry(page, &self.shared.registry);
    }

    /// Whether this process leads in an election.
    pub fn set_leader(&self, name: &'static str, leads: bool) {
        self.shared.leaders.get_or_create(&Named { name }).set(leads.into());
    }

    /// A Pod was seen so long before it was started.
    pub fn pod_started(&self, after: Duration) {
        self.shared.pod_start.observe(after.as_secs_f64());
    }

    /// A run was started so long after its slot.
    pub(crate) fn started(&self, skew: Duration) {
        self.shared.creation_skew.observe(skew.as_secs_f64());
        self.shared.start_skew.observe(skew.as_secs_f64());
    }

    /// So many runs of a CronJob came to an end, or never began.
    pub(crate) fn runs(&self, namespace: &str, name: &str, outcome: Outcome, count: u64) {
        if count == 0 {
            return;
        }
        self.shared.runs.count(namespace, name, outcome, count);
        if outcome == Outcome::Missed {
            self.shared.missed.inc_by(count);
        }
    }

    /// A CronJob is no more, and nor are its counters.
    pub(crate) fn forget(&self, namespace: &str, name: &str) {
        self.shared.runs.forget(namespace, name);
    }

    /// So many CronJobs are known.
    pub(crate) fn set_cron_jobs(&self, total: usize) {
        self.shared.cron_jobs.set(i64::try_from(total).unwrap_or(i64::MAX));
    }

    /// So many kinds, in each namespace that was named, are to be looked after and were not listed yet.
    pub(crate) fn unlisted(&self, count: usize) {
        self.shared.unlisted.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Whom to ask, at each scrape, when the next slot is due.
    pub(crate) fn next_due(&self, source: impl Fn() -> Option<Timestamp> + Send + Sync + 'static) {
        *self.shared.next_due.source() = Some(Box::new(source));
    }

    /// A queue, which is asked how it is at each scrape; until it says that it is gone. The result
    /// takes the times of its keys.
    pub(crate) fn add_queue(
        &self,
        name: &'static str,
        stats: impl Fn() -> Option<Stats> + Send + Sync + 'static,
    ) -> QueueTimes {
        self.shared.queues.add(name, Box::new(stats))
    }
}

impl ClientMetrics for Metrics {
    fn call_failed(&self, method: &str, code: Option<u16>) {
        let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        self.shared.errors.get_or_create(&Failed { verb: verb(method), code }).inc();
    }

    fn events_dropped(&self, count: u64) {
        self.shared.events_dropped.inc_by(count);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Kubernetes' word for a method.
fn verb(method: &str) -> &'static str {
    match method {
        "GET" => "get",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "other",
    }
}

type Source<T> = Box<dyn Fn() -> Option<T> + Send + Sync>;

/// When the next slot is due, as somebody knows.
#[derive(Clone, Default)]
struct NextDue(Arc<Mutex<Option<Source<Timestamp>>>>);

impl NextDue {
    fn source(&self) -> std::sync::MutexGuard<'_, Option<Source<Timestamp>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for NextDue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextDue").finish_non_exhaustive()
    }
}

impl Collector for NextDue {
    /// Nothing is due: nothing is said.
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(at) = self.source().as_ref().and_then(|source| source()) else {
            return Ok(());
        };
        let (name, help) = ("punctual_next_due_timestamp_seconds", "When the next slot is due");
        let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(at.as_millisecond() as f64 / 1_000.0).encode(metric)
    }
}

#[cfg(test)]
mod tests;
