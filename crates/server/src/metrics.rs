//! Metrics of the API server. A metric that Kubernetes has too has the same name.

mod process;
mod tzdata;

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use punctual_schedule::Zones;
use punctual_store::Snapshot;

use self::process::ProcessCollector;
use crate::audit::DroppedRecords;
use crate::registry::resource_prefix;
use crate::resource::RESOURCES;

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

/// The label of a resource, such as `jobs.batch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabel {
    resource: String,
}

/// Appends metrics of other components in OpenMetrics text format, without the final `# EOF`.
pub type AppendMetrics = dyn Fn(&mut String) + Send + Sync;

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
    refused_connections: Counter,
    objects: Family<ResourceLabel, Gauge>,
    revision: Gauge,
}

impl Metrics {
    /// Creates the metrics of a server that uses these time zones.
    pub(crate) fn new(zones: &Zones, dropped_audit_records: DroppedRecords) -> Metrics {
        let durations: fn() -> Histogram = || Histogram::new(BUCKETS);
        let mut metrics = Metrics {
            registry: Registry::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(durations),
            in_flight: Gauge::default(),
            watches: Gauge::default(),
            refused_connections: Counter::default(),
            objects: Family::default(),
            revision: Gauge::default(),
        };
        metrics.registry.register(
            "punctual_audit_records_dropped",
            "Number of requests missing in the audit log, by reason",
            dropped_audit_records,
        );
        metrics.register(zones);
        metrics
    }

    fn register(&mut self, zones: &Zones) {
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
            "punctual_refused_connections",
            "Number of connections closed at once, because a limit was reached and none was idle",
            self.refused_connections.clone(),
        );
        registry.register(
            "apiserver_storage_objects",
            "Number of stored objects by resource",
            self.objects.clone(),
        );
        registry.register(
            "punctual_store_revision",
            "Latest revision of the store",
            self.revision.clone(),
        );
        register_process(registry, zones);
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

    /// Counts a connection that was refused.
    pub(crate) fn count_refused_connection(&self) {
        self.refused_connections.inc();
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
    pub(crate) fn encode(&self, snapshot: &Snapshot, extra: Option<&AppendMetrics>) -> String {
        for resource in RESOURCES.into_iter().filter(|resource| !resource.is_read_only) {
            let prefix = resource_prefix(resource);
            let label = ResourceLabel { resource: prefix.trim_matches('/').to_owned() };
            let count = snapshot.segment_len(&label.resource);
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.objects.get_or_create(&label).set(count);
        }
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
pub(crate) fn encode_process_metrics(zones: &Zones, extra: &AppendMetrics) -> String {
    let mut registry = Registry::default();
    register_process(&mut registry, zones);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = encode_registry(&mut text, &registry);
    extra(&mut text);
    let _ = encode_eof(&mut text);
    text
}

fn register_process(registry: &mut Registry, zones: &Zones) {
    let tzdata = tzdata::version(zones);
    let version = env!("CARGO_PKG_VERSION");
    let build = Info::new([("version", version.to_owned()), ("tzdata", tzdata.to_owned())]);
    registry.register("punctual_build", "Versions of the program and of its time zone data", build);
    if let Some(released) = tzdata::released_by(tzdata) {
        registry.register(
            "punctual_tzdata_release_timestamp_seconds",
            "When the time zone data was released at the latest",
            ConstGauge::new(released.as_second()),
        );
    }
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
