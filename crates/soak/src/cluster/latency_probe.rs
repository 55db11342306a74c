//! Measures the latency of the server from a client without injected faults, with repeated small writes.
//!
//! The machine may be busy with other work. A slot (scheduled time) that is late while the server is slow
//! is not a violation.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use jiff::SignedDuration;
use punctual_e2e::{BackgroundThread, Client, Cluster, load::clock};
use serde_json::json;

use super::workload::NAMESPACE;
use crate::timing::TimeSpan;

const INTERVAL: Duration = Duration::from_millis(200);
/// A write that takes longer, or fails, is slow.
const SLOW: SignedDuration = SignedDuration::from_millis(400);
/// Slow writes that are at most this far apart belong to one slow period.
const GAP_MAX: SignedDuration = SignedDuration::from_millis(500);

/// Writes in a background thread until it is dropped.
pub(super) struct LatencyProbe {
    slow: Arc<Mutex<Vec<TimeSpan>>>,
    _thread: BackgroundThread,
}

impl LatencyProbe {
    pub(super) fn start(cluster: &Cluster) -> anyhow::Result<LatencyProbe> {
        let slow = Arc::<Mutex<Vec<TimeSpan>>>::default();
        let mut client = Client::new(cluster)?;
        let collection = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
        client.create(&collection, &json!({"metadata": {"name": "latency-probe"}}))?;
        let path = format!("{collection}/latency-probe");
        let thread_slow = Arc::clone(&slow);
        let thread = BackgroundThread::start("latency-probe", move |stop| {
            while !stop.is_set() {
                let from = clock::wall_time();
                let body = json!({"data": {"at": from.to_string()}});
                let has_failed = client.patch(&path, &body).is_err();
                let span = TimeSpan { from, to: clock::wall_time() };
                if has_failed || span.duration() > SLOW {
                    let mut slow = thread_slow.lock().unwrap_or_else(PoisonError::into_inner);
                    add_span(&mut slow, span);
                }
                thread::park_timeout(INTERVAL);
            }
        })?;
        Ok(LatencyProbe { slow, _thread: thread })
    }

    /// When the server was slow or down.
    pub(super) fn slow_spans(&self) -> Vec<TimeSpan> {
        self.slow.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Appends a span or extends the last one.
fn add_span(spans: &mut Vec<TimeSpan>, span: TimeSpan) {
    let is_near = |last: &&mut TimeSpan| span.from.duration_since(last.to) <= GAP_MAX;
    match spans.last_mut().filter(is_near) {
        Some(last) => last.to = span.to,
        None => spans.push(span),
    }
}

/// The total duration of spans within another span, in seconds.
pub(super) fn seconds_within(spans: &[TimeSpan], whole: TimeSpan) -> f64 {
    let within = spans.iter().filter_map(|span| span.intersection(whole));
    within.fold(0.0, |sum, span| sum + span.seconds())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn spans_that_are_close_are_joined() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let span = |from, to| TimeSpan { from: at(from), to: at(to) };
        let mut spans = Vec::new();
        for found in [span(0, 500), span(700, 1_500), span(3_000, 3_500)] {
            add_span(&mut spans, found);
        }
        assert_eq!(spans, [span(0, 1_500), span(3_000, 3_500)]);
        assert_eq!(seconds_within(&spans, span(1_000, 3_100)), 0.6);
    }
}
