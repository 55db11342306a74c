//! Metrics of work queues, with the names of client-go where it has them. Most values come from the queue at each scrape.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use punctual_queue::QueueStats;

use super::ScrapeSource;

/// The state of a queue when it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueState {
    pub(crate) stats: QueueStats,
    /// How many keys are reconciled at a time, at most.
    pub(crate) workers: usize,
    /// How often a reconcile was started or ended.
    pub(crate) moves: u64,
}

/// Histograms of the times of a queue's keys. Clones share the same values.
#[derive(Clone, Debug)]
pub(crate) struct QueueTimes {
    queued: Histogram,
    worked: Histogram,
}

impl QueueTimes {
    /// The buckets of client-go: ten nanoseconds, multiplied by ten nine times.
    fn new() -> QueueTimes {
        let histogram = || Histogram::new(exponential_buckets(1e-8, 10.0, 10));
        QueueTimes { queued: histogram(), worked: histogram() }
    }

    /// Observes the time from when a key was due to the start of its reconcile.
    pub(crate) fn observe_queued(&self, time: Duration) {
        self.queued.observe(time.as_secs_f64());
    }

    /// Observes the duration of a reconcile.
    pub(crate) fn observe_worked(&self, time: Duration) {
        self.worked.observe(time.as_secs_f64());
    }
}

/// All work queues of the process.
#[derive(Clone, Default)]
pub(super) struct QueueMetrics(Arc<Mutex<Vec<RegisteredQueue>>>);

struct RegisteredQueue {
    name: &'static str,
    state: ScrapeSource<QueueState>,
    times: QueueTimes,
}

impl QueueMetrics {
    /// Adds a queue, or replaces the queue with the same name.
    pub(super) fn add(&self, name: &'static str, state: ScrapeSource<QueueState>) -> QueueTimes {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = queues.iter().position(|queue| queue.name == name);
        let old = position.map(|position| queues.swap_remove(position));
        // The new queue continues the histograms of the old one, so that counters never decrease.
        let times = old.map_or_else(QueueTimes::new, |queue| queue.times);
        queues.push(RegisteredQueue { name, state, times: times.clone() });
        queues.sort_by_key(|queue| queue.name);
        times
    }

    /// Returns the states of all queues that still exist.
    pub(super) fn states(&self) -> Vec<(&'static str, QueueState)> {
        self.sample().into_iter().map(|sample| (sample.name, sample.state)).collect()
    }

    /// Asks all queues that still exist for their state.
    fn sample(&self) -> Vec<QueueSample> {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sample = |queue: &RegisteredQueue| {
            let state = (queue.state)()?;
            Some(QueueSample { name: queue.name, state, times: queue.times.clone() })
        };
        queues.iter().filter_map(sample).collect()
    }
}

/// The state of a queue at a scrape.
struct QueueSample {
    name: &'static str,
    state: QueueState,
    times: QueueTimes,
}

impl fmt::Debug for QueueMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueMetrics").finish_non_exhaustive()
    }
}

impl Collector for QueueMetrics {
    fn encode(&self, descriptors: DescriptorEncoder<'_>) -> fmt::Result {
        let mut encoder = QueueEncoder { descriptors, samples: self.sample() };
        encoder.gauge("workqueue_depth", "Keys that are due and wait for a worker", |queue| {
            queue.stats.depth as f64
        })?;
        encoder.counter("workqueue_adds", "Keys that were added", |stats| stats.adds)?;
        encoder.counter(
            "workqueue_retries",
            "Keys that were requeued after a failure",
            |stats| stats.retries,
        )?;
        let help = "Time from when a key was due to the start of its reconcile";
        encoder.histogram("workqueue_queue_duration_seconds", help, |times| &times.queued)?;
        let help = "Duration of a reconcile";
        encoder.histogram("workqueue_work_duration_seconds", help, |times| &times.worked)?;
        let help = "Total time so far of the reconciles that are running";
        encoder.gauge("workqueue_unfinished_work_seconds", help, |queue| {
            queue.stats.unfinished.as_secs_f64()
        })?;
        let help = "Time so far of the longest reconcile that is running";
        encoder.gauge("workqueue_longest_running_processor_seconds", help, |queue| {
            queue.stats.longest_running.as_secs_f64()
        })?;
        encoder.gauge("punctual_busy_workers", "Workers that reconcile a key", |queue| {
            queue.stats.in_flight as f64
        })?;
        encoder.gauge("punctual_workers", "Keys that are reconciled at a time, at most", |queue| {
            queue.workers as f64
        })
    }
}

struct QueueEncoder<'a> {
    descriptors: DescriptorEncoder<'a>,
    samples: Vec<QueueSample>,
}

impl QueueEncoder<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: fn(&QueueState) -> f64) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, |sample, metric| {
            ConstGauge::new(value(&sample.state)).encode(metric)
        })
    }

    fn counter(&mut self, name: &str, help: &str, value: fn(&QueueStats) -> u64) -> fmt::Result {
        self.family(name, help, MetricType::Counter, |sample, mut metric| {
            metric.encode_counter::<NoLabelSet, _, u64>(&value(&sample.state.stats), None)
        })
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        select: fn(&QueueTimes) -> &Histogram,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Histogram, |sample, metric| {
            select(&sample.times).encode(metric)
        })
    }

    fn family(
        &mut self,
        name: &str,
        help: &str,
        metric_type: MetricType,
        encode: impl Fn(&QueueSample, prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let mut family = self.descriptors.encode_descriptor(name, help, None, metric_type)?;
        for sample in &self.samples {
            let labels = [("name", sample.name)];
            encode(sample, family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
