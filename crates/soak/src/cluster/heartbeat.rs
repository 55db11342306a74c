//! Measures whether the server is slow for a client into which no faults are injected.
//!
//! The machine may be busy with other work. A small write that is repeated all the time shows when a
//! controller cannot be expected to work.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use jiff::SignedDuration;
use punctual_e2e::{Client, Cluster, load::clock};
use serde_json::json;

use super::{background_thread::BackgroundThread, workload::NAMESPACE};
use crate::timing::TimeSpan;

const INTERVAL: Duration = Duration::from_millis(200);
/// A write that takes longer, or fails, is slow.
const SLOW: SignedDuration = SignedDuration::from_millis(400);
/// Slow writes that are at most this far apart belong to one slow period.
const GAP_MAX: SignedDuration = SignedDuration::from_millis(500);

/// A thread that writes until this is dropped.
pub(super) struct Heartbeat {
    slow: Arc<Mutex<Vec<TimeSpan>>>,
    _thread: BackgroundThread,
}

impl Heartbeat {
    pub(super) fn start(cluster: &Cluster) -> anyhow::Result<Heartbeat> {
        let slow = Arc::<Mutex<Vec<TimeSpan>>>::default();
        let mut client = Client::new(cluster)?;
        let collection = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
        client.create(&collection, &json!({"metadata": {"name": "heartbeat"}}))?;
        let path = format!("{collection}/heartbeat");
        let thread_slow = Arc::clone(&slow);
        let thread = BackgroundThread::start("heartbeat", move |stop| {
            while !stop.is_set() {
                let from = clock::wall_time();
                let body = json!({"data": {"at": from.to_string()}});
                let is_written = client.patch(&path, &body).is_ok();
                let span = TimeSpan { from, to: clock::wall_time() };
                if !is_written || span.duration() > SLOW {
                    let mut slow = thread_slow.lock().unwrap_or_else(PoisonError::into_inner);
                    add_span(&mut slow, span);
                }
                thread::park_timeout(INTERVAL);
            }
        })?;
        Ok(Heartbeat { slow, _thread: thread })
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
