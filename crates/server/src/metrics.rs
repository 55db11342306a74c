//! What the server counts, under Kubernetes' names where there are any.

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

use self::process::Process;

/// What a request was about. Every value comes out of a table of ours, so there are few of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Request {
    pub(crate) verb: &'static str,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) subresource: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    verb: &'static str,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    subresource: &'static str,
    code: u16,
}

/// Appends what others of this process count, without an end.
pub type ExtraMetrics = dyn Fn(&mut String) + Send + Sync;

/// Seconds from half a millisecond to half a minute.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 15.0, 30.0];

/// The counters of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Request, Histogram, fn() -> Histogram>,
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
        registry.register("apiserver_request", "Requests answered", self.requests.clone());
        registry.register(
            "apiserver_request_duration_seconds",
            "Time to the answer, watches excepted",
            self.durations.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Requests being answered, watches excepted",
            self.in_flight.clone(),
        );
        registry.register(
            "apiserver_longrunning_requests",
            "Watches that are open",
            self.watches.clone(),
        );
        registry.register("apiserver_storage_objects", "Objects stored", self.objects.clone());
        registry.register("punctual_store_revision", "Changes so far", self.revision.clone());
        register_process(registry);
    }

    /// Counts an answer, and its time unless it was a watch.
    pub(crate) fn answered(&self, request: &Request, code: u16, took: Duration) {
        let Request { verb, group, version, resource, subresource } = request.clone();
        let answered = Answered { verb, group, version, resource, subresource, code };
        self.requests.get_or_create(&answered).inc();
        if verb != "watch" {
            self.durations.get_or_create(request).observe(took.as_secs_f64());
        }
    }

    /// Counts a request as being answered until the result is dropped.
    pub(crate) fn in_flight(&self) -> InFlight {
        InFlight::new(&self.in_flight)
    }

    /// Counts a watch as open until the result is dropped.
    pub(crate) fn watching(&self) -> InFlight {
        InFlight::new(&self.watches)
    }

    /// The page that Prometheus reads; others of this process may have something to add.
    pub(crate) fn page(&self, snapshot: &Snapshot, others: Option<&ExtraMetrics>) -> String {
        self.objects.set(i64::try_from(snapshot.len()).unwrap_or(i64::MAX));
        self.revision.set(i64::try_from(snapshot.revision()).unwrap_or(i64::MAX));
        let mut page = String::new();
        // Writing to a text cannot fail.
        let _ = encode_registry(&mut page, &self.registry);
        if let Some(others) = others {
            others(&mut page);
        }
        let _ = encode_eof(&mut page);
        page
    }
}

/// How a page says that it is in the format of OpenMetrics.
pub(crate) const OPEN_METRICS_TYPE: &str =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The page of a process without a server: what it is, what it uses, and what others of it count.
pub(crate) fn encode_process_metrics(others: &ExtraMetrics) -> String {
    let (mut registry, mut page) = (Registry::default(), String::new());
    register_process(&mut registry);
    // Writing to a text cannot fail.
    let _ = encode_registry(&mut page, &registry);
    others(&mut page);
    let _ = encode_eof(&mut page);
    page
}

fn register_process(registry: &mut Registry) {
    let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("punctual_build", "What this is", build);
    registry.register_collector(Box::new(Process));
}

/// Something that goes on.
pub(crate) struct InFlight {
    gauge: Gauge,
}

impl InFlight {
    fn new(gauge: &Gauge) -> InFlight {
        gauge.inc();
        InFlight { gauge: gauge.clone() }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}
