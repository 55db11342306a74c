//! Work queues, as client-go's counters show them: the queue itself knows most of it and is asked
//! when somebody wants to know.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use punctual_queue::Stats;

use super::Source;

/// The times that the keys of a queue take. Clones are handles to the same.
#[derive(Clone, Debug)]
pub(crate) struct QueueTimes {
    queued: Histogram,
    worked: Histogram,
}

impl QueueTimes {
    /// Ten nanoseconds, times ten for nine times.
    fn new() -> QueueTimes {
        let histogram = || Histogram::new(exponential_buckets(1e-8, 10.0, 10));
        QueueTimes { queued: histogram(), worked: histogram() }
    }

    /// A key stood in the queue so long after it was due.
    pub(crate) fn observe_queued(&self, time: Duration) {
        self.queued.observe(time.as_secs_f64());
    }

    /// A key was worked on for so long.
    pub(crate) fn observe_worked(&self, time: Duration) {
        self.worked.observe(time.as_secs_f64());
    }
}

/// Every queue of the process.
#[derive(Clone, Default)]
pub(super) struct Queues(Arc<Mutex<Vec<Known>>>);

struct Known {
    name: &'static str,
    stats: Source<Stats>,
    times: QueueTimes,
}

impl Queues {
    /// A queue of a name that is known takes the place of that one.
    pub(super) fn add(&self, name: &'static str, stats: Source<Stats>) -> QueueTimes {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = queues.iter().position(|known| known.name == name);
        let before = before.map(|at| queues.swap_remove(at));
        // Its times are those of the name, so that they never go back.
        let times = before.map_or_else(QueueTimes::new, |known| known.times);
        queues.push(Known { name, stats, times: times.clone() });
        queues.sort_by_key(|known| known.name);
        times
    }

    fn seen(&self) -> Vec<Seen> {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = |known: &Known| {
            let (name, times) = (known.name, known.times.clone());
            Some(Seen { name, stats: (known.stats)()?, times })
        };
        queues.iter().filter_map(seen).collect()
    }
}

/// A queue at the moment of a scrape.
struct Seen {
    name: &'static str,
    stats: Stats,
    times: QueueTimes,
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queues").finish_non_exhaustive()
    }
}

impl Collector for Queues {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page { encoder, seen: self.seen() };
        page.gauge("depth", "Keys that are due", |stats| stats.depth as f64)?;
        page.counter("adds", "Keys that came in", |stats| stats.adds)?;
        page.counter("retries", "Keys that came back after a failure", |stats| stats.retries)?;
        let help = "Time from when a key was due to when work on it began";
        page.histogram("queue_duration_seconds", help, |times| &times.queued)?;
        let help = "Time that work on a key took";
        page.histogram("work_duration_seconds", help, |times| &times.worked)?;
        let help = "Time spent so far on keys that are being worked on";
        page.gauge("unfinished_work_seconds", help, |stats| stats.unfinished.as_secs_f64())?;
        let help = "Time spent so far on the key that is worked on the longest";
        page.gauge("longest_running_processor_seconds", help, |stats| {
            stats.longest_running.as_secs_f64()
        })
    }
}

struct Page<'a> {
    encoder: DescriptorEncoder<'a>,
    seen: Vec<Seen>,
}

impl Page<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: fn(&Stats) -> f64) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, |seen, metric| {
            ConstGauge::new(value(&seen.stats)).encode(metric)
        })
    }

    fn counter(&mut self, name: &str, help: &str, value: fn(&Stats) -> u64) -> fmt::Result {
        self.family(name, help, MetricType::Counter, |seen, mut metric| {
            metric.encode_counter::<NoLabelSet, _, u64>(&value(&seen.stats), None)
        })
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        which: fn(&QueueTimes) -> &Histogram,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Histogram, |seen, metric| {
            which(&seen.times).encode(metric)
        })
    }

    fn family(
        &mut self,
        name: &str,
        help: &str,
        metric_type: MetricType,
        each: impl Fn(&Seen, prometheus_client::encoding::MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let name = format!("workqueue_{name}");
        let mut family = self.encoder.encode_descriptor(&name, help, None, metric_type)?;
        let label = |seen: &Seen| [("name", seen.name)];
        self.seen.iter().try_for_each(|seen| each(seen, family.encode_family(&label(seen))?))
    }
}
