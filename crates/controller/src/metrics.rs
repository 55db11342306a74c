//! The metrics of the controllers, with Kubernetes' names where Kubernetes has the same metric.
//!
//! The number of series is bounded, however many objects there are. A scrape only reads counters and asks the
//! work queues for their state.

mod queues;
mod runs;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeLabelValue, EncodeMetric, LabelValueEncoder,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use punctual_client::ClientMetrics;

use self::queues::QueueMetrics;
pub(crate) use self::queues::{QueueState, QueueTimes};
use self::runs::RunCounters;
pub(crate) use self::runs::RunOutcome;

/// The metrics of the controllers of one process. Clones share the same values.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    api_errors: Family<ApiErrorLabels, Counter>,
    creation_skew: Histogram,
    start_skew: Histogram,
    pod_start: Histogram,
    pod_creation: Histogram,
    job_start: Histogram,
    runs: RunCounters,
    missed: Counter,
    cron_jobs: Gauge,
    future_schedules: Gauge,
    unsynced_scopes: Gauge,
    unreadable_objects: Family<UnreadableLabels, Counter>,
    events_dropped: Counter,
    leaders: Family<LeaderLabels, Gauge>,
    queues: QueueMetrics,
    next_due: NextDue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ApiErrorLabels {
    verb: &'static str,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaderLabels {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UnreadableLabels {
    kind: UnreadableKind,
}

/// The kind of a cached object that could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UnreadableKind {
    CronJob,
    Job,
}

impl EncodeLabelValue for UnreadableKind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let kind = match self {
            UnreadableKind::CronJob => "CronJob",
            UnreadableKind::Job => "Job",
        };
        kind.encode(encoder)
    }
}

/// Seconds from a millisecond to an hour, with a bucket at the objective of 15 seconds: between two buckets a
/// quantile is only an estimate.
const SKEW_BUCKETS: [f64; 19] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0,
    300.0, 900.0, 3600.0,
];

/// Seconds from five milliseconds to ten minutes.
const POD_START_BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0];

/// Buckets for times of objects, which have whole seconds: one second, doubled nine times. Kubernetes uses
/// them for the creation skew.
fn whole_second_buckets() -> impl Iterator<Item = f64> {
    exponential_buckets(1.0, 2.0, 10)
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut inner = Inner {
            registry: Registry::default(),
            api_errors: Family::default(),
            creation_skew: Histogram::new(whole_second_buckets()),
            start_skew: Histogram::new(SKEW_BUCKETS),
            pod_start: Histogram::new(POD_START_BUCKETS),
            pod_creation: Histogram::new(whole_second_buckets()),
            job_start: Histogram::new(whole_second_buckets()),
            runs: RunCounters::default(),
            missed: Counter::default(),
            cron_jobs: Gauge::default(),
            future_schedules: Gauge::default(),
            unsynced_scopes: Gauge::default(),
            unreadable_objects: Family::default(),
            events_dropped: Counter::default(),
            leaders: Family::default(),
            queues: QueueMetrics::default(),
            next_due: NextDue::default(),
        };
        inner.register();
        // Prometheus sees no increase in a counter that first appears with the value 1.
        for kind in [UnreadableKind::CronJob, UnreadableKind::Job] {
            drop(inner.unreadable_objects.get_or_create(&UnreadableLabels { kind }));
        }
        Metrics { inner: Arc::new(inner) }
    }
}

impl Inner {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("punctual_api_errors", "API calls that failed", self.api_errors.clone());
        registry.register(
            "cronjob_controller_job_creation_skew_duration_seconds",
            "Time from the effective time of a slot (the slot plus its jitter) to the creation of its Job",
            self.creation_skew.clone(),
        );
        registry.register(
            "punctual_start_skew_seconds",
            "Time from when a run may start (its slot plus its jitter) to the creation of its Job, with buckets \
             from a millisecond to an hour",
            self.start_skew.clone(),
        );
        registry.register(
            "punctual_pod_start_seconds",
            "Time from the first observation of a Pod to its start",
            self.pod_start.clone(),
        );
        registry.register(
            "punctual_job_pod_creation_seconds",
            "Time from the creation of a Job to the creation of its first Pod",
            self.pod_creation.clone(),
        );
        registry.register(
            "punctual_job_start_seconds",
            "Time from the creation of a Job of a CronJob to its status.startTime",
            self.job_start.clone(),
        );
        registry.register("punctual_runs", "Runs by outcome", self.runs.counters());
        registry.register("punctual_missed", "Slots that were missed", self.missed.clone());
        registry.register("punctual_cron_jobs", "CronJobs in the cache", self.cron_jobs.clone());
        registry.register(
            "punctual_future_schedules",
            "CronJobs that wait because a recorded time lies in the future",
            self.future_schedules.clone(),
        );
        registry.register(
            "punctual_unsynced_scopes",
            "Pairs of kind and configured namespace whose first list has not succeeded yet",
            self.unsynced_scopes.clone(),
        );
        registry.register(
            "punctual_unreadable_objects",
            "Reconciles that failed because the cached object could not be parsed, by kind",
            self.unreadable_objects.clone(),
        );
        registry.register(
            "punctual_events_dropped",
            "Events that were dropped before they were written",
            self.events_dropped.clone(),
        );
        registry.register(
            "leader_election_master_status",
            "1 if this process is the leader, otherwise 0",
            self.leaders.clone(),
        );
        registry.register_collector(Box::new(self.queues.clone()));
        registry.register_collector(Box::new(self.next_due.clone()));
    }
}

impl Metrics {
    /// Appends all metrics in the OpenMetrics text format, without the final `# EOF`.
    pub fn encode(&self, page: &mut String) {
        // Writing to a string cannot fail.
        let _ = encode_registry(page, &self.inner.registry);
    }

    /// Sets whether this process leads the election with this name.
    pub fn set_leader(&self, name: &'static str, is_leader: bool) {
        self.inner.leaders.get_or_create(&LeaderLabels { name }).set(is_leader.into());
    }

    /// Observes the time from the first observation of a Pod to its start.
    pub fn observe_pod_start(&self, after: Duration) {
        self.inner.pod_start.observe(after.as_secs_f64());
    }

    /// Observes the time from the creation of a Job to the creation of its first Pod.
    pub(crate) fn observe_pod_creation(&self, after: Duration) {
        self.inner.pod_creation.observe(after.as_secs_f64());
    }

    /// Observes the time from the creation of a Job to its `status.startTime`.
    pub(crate) fn observe_job_start(&self, after: Duration) {
        self.inner.job_start.observe(after.as_secs_f64());
    }

    /// Observes the time from the effective time of a slot to the creation of its Job.
    pub(crate) fn observe_start_skew(&self, skew: Duration) {
        self.inner.creation_skew.observe(skew.as_secs_f64());
        self.inner.start_skew.observe(skew.as_secs_f64());
    }

    /// Counts runs of a CronJob that ended, were missed or were skipped.
    pub(crate) fn count_runs(&self, namespace: &str, name: &str, outcome: RunOutcome, count: u64) {
        if count == 0 {
            return;
        }
        self.inner.runs.count(namespace, name, outcome, count);
        if outcome == RunOutcome::Missed {
            self.inner.missed.inc_by(count);
        }
    }

    /// Removes the counters of a CronJob that was deleted.
    pub(crate) fn remove_cron_job(&self, namespace: &str, name: &str) {
        self.inner.runs.remove(namespace, name);
    }

    /// Sets the number of CronJobs with a recorded time in the future.
    pub(crate) fn set_future_schedules(&self, count: usize) {
        self.inner.future_schedules.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the number of cached CronJobs.
    pub(crate) fn set_cron_jobs(&self, count: usize) {
        self.inner.cron_jobs.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Counts a cached object that could not be parsed.
    pub(crate) fn count_unreadable(&self, kind: UnreadableKind) {
        self.inner.unreadable_objects.get_or_create(&UnreadableLabels { kind }).inc();
    }

    /// Sets how many pairs of kind and namespace have not been listed yet.
    pub(crate) fn set_unsynced_scopes(&self, count: usize) {
        self.inner.unsynced_scopes.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the source of the next due time. It is asked at each scrape.
    pub(crate) fn set_next_due_source(
        &self,
        source: impl Fn() -> Option<Timestamp> + Send + Sync + 'static,
    ) {
        *self.inner.next_due.source() = Some(Box::new(source));
    }

    /// Returns the states of all work queues.
    pub(crate) fn queue_states(&self) -> Vec<(&'static str, QueueState)> {
        self.inner.queues.states()
    }

    /// Exports the state of a work queue. `state` is asked at each scrape and returns `None` after the queue was
    /// dropped. Report the times of the queue's keys to the result.
    pub(crate) fn add_queue(
        &self,
        name: &'static str,
        state: impl Fn() -> Option<QueueState> + Send + Sync + 'static,
    ) -> QueueTimes {
        self.inner.queues.add(name, Box::new(state))
    }
}

impl ClientMetrics for Metrics {
    fn call_failed(&self, method: &str, code: Option<u16>) {
        let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        self.inner.api_errors.get_or_create(&ApiErrorLabels { verb: verb(method), code }).inc();
    }

    fn events_dropped(&self, count: u64) {
        self.inner.events_dropped.inc_by(count);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The Kubernetes verb of an HTTP method.
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

/// A value that is computed at each scrape.
type ScrapeSource<T> = Box<dyn Fn() -> Option<T> + Send + Sync>;

/// Exports when the next slot is due.
#[derive(Clone, Default)]
struct NextDue(Arc<Mutex<Option<ScrapeSource<Timestamp>>>>);

impl NextDue {
    fn source(&self) -> MutexGuard<'_, Option<ScrapeSource<Timestamp>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for NextDue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextDue").finish_non_exhaustive()
    }
}

impl Collector for NextDue {
    /// Exports no value if nothing is due.
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(at) = self.source().as_ref().and_then(|source| source()) else {
            return Ok(());
        };
        let metric = encoder.encode_descriptor(
            "punctual_next_due_timestamp_seconds",
            "When the next slot is due",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(at.as_millisecond() as f64 / 1_000.0).encode(metric)
    }
}

#[cfg(test)]
mod tests;
