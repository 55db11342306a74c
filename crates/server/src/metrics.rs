//! Metrics, under the names of Kubernetes where they exist.

mod process;

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use punctual_store::Snapshot;

use self::process::ProcessCollector;

/// The labels of a request. All values come from static tables, which bounds the number of series.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub(crate) verb: &'static str,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) subresource: &'static str,
}

/// The labels of a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    verb: &'static str,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    subresource: &'static str,
    code: u16,
}

/// Appends metrics of other components in OpenMetrics text format, without the final `# EOF`.
pub type ExtraMetrics = dyn Fn(&mut String) + Send + Sync;

/// Histogram buckets in seconds, from half a millisecond to half a minute.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 15.0, 30.0];

/// The metrics of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<ResponseLabels, Counter>,
    durations: Family<RequestLabels, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    watches: Gauge,
    objects: Gauge,
    revision: Gauge,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let durations: fn() -> Histogram = || Histogram::new(BUCKETS);
        let mut metrics = Metrics {
            registry: Registry::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(durations),
            in_flight: Gauge::default(),
            watches: Gauge::default(),
            objects: Gauge::default(),
            revision: Gauge::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("apiserver_request", "Number of responses", self.requests.clone());
        registry.register(
            "apiserver_request_duration_seconds",
            "Response latency, except for watches",
            self.durations.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Number of requests being served, except for watches",
            self.in_flight.clone(),
        );
        registry.register(
            "apiserver_longrunning_requests",
            "Number of open watches",
            self.watches.clone(),
        );
        registry.register(
            "apiserver_storage_objects",
            "Number of stored objects",
            self.objects.clone(),
        );
        registry.register(
            "punctual_store_revision",
            "Latest revision of the store",
            self.revision.clone(),
        );
        register_process(registry);
    }

    /// Records a response, and its latency unless it is a watch.
    pub(crate) fn record_response(&self, request: &RequestLabels, code: u16, latency: Duration) {
        let RequestLabels { verb, group, version, resource, subresource } = request.clone();
        let labels = ResponseLabels { verb, group, version, resource, subresource, code };
        self.requests.get_or_create(&labels).inc();
        if verb != "watch" {
            self.durations.get_or_create(request).observe(latency.as_secs_f64());
        }
    }

    /// Counts a request as in flight until the guard is dropped.
    pub(crate) fn track_request(&self) -> GaugeGuard {
        GaugeGuard::new(&self.in_flight)
    }

    /// Counts a watch as open until the guard is dropped.
    pub(crate) fn track_watch(&self) -> GaugeGuard {
        GaugeGuard::new(&self.watches)
    }

    /// Encodes all metrics, with those of other components.
    pub(crate) fn encode(&self, snapshot: &Snapshot, extra: Option<&ExtraMetrics>) -> String {
        self.objects.set(i64::try_from(snapshot.len()).unwrap_or(i64::MAX));
        self.revision.set(i64::try_from(snapshot.revision()).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode_registry(&mut text, &self.registry);
        if let Some(extra) = extra {
            extra(&mut text);
        }
        let _ = encode_eof(&mut text);
        text
    }
}

/// The content type of OpenMetrics text.
pub(crate) const OPEN_METRICS_TYPE: &str =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Encodes the metrics of a process that has no server.
pub(crate) fn encode_process_metrics(extra: &ExtraMetrics) -> String {
    let mut registry = Registry::default();
    register_process(&mut registry);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = encode_registry(&mut text, &registry);
    extra(&mut text);
    let _ = encode_eof(&mut text);
    text
}

fn register_process(registry: &mut Registry) {
    let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("punctual_build", "Version of the program", build);
    registry.register_collector(Box::new(ProcessCollector));
}

/// Increments a gauge until it is dropped.
pub(crate) struct GaugeGuard {
    gauge: Gauge,
}

impl GaugeGuard {
    fn new(gauge: &Gauge) -> GaugeGuard {
        gauge.inc();
        GaugeGuard { gauge: gauge.clone() }
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}
