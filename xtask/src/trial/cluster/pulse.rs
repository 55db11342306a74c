//! How quick the server is for somebody whom nobody hurts.
//!
//! Machines are busy with other things at times. A small write, again and again and by the straight way,
//! tells when a controller cannot be asked for more than the machine can do.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use punctual_e2e::{Client, Cluster};
use serde_json::json;

use super::{ability::Span, fleet::NAMESPACE};
use punctual_e2e::load::clock;

const EVERY: Duration = Duration::from_millis(200);
/// A write that takes longer, or fails, was made in a slow spell.
const SLOW: SignedDuration = SignedDuration::from_millis(400);
/// Spells that are no farther apart are one.
const APART: SignedDuration = SignedDuration::from_millis(500);

/// A thread that writes until it is dropped.
pub(super) struct Pulse {
    spells: Arc<Mutex<Vec<Span>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Starts it.
    pub(super) fn start(cluster: &Cluster) -> anyhow::Result<Pulse> {
        let (spells, is_over) = (Arc::<Mutex<Vec<Span>>>::default(), Arc::<AtomicBool>::default());
        let mut client = Client::new(cluster)?;
        let list = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
        client.create(&list, &json!({"metadata": {"name": "pulse"}}))?;
        let (theirs, over) = (Arc::clone(&spells), Arc::clone(&is_over));
        let beat = move || {
            let path = format!("{list}/pulse");
            while !over.load(Ordering::Relaxed) {
                let from = clock::wall_time();
                let body = json!({"data": {"at": from.to_string()}});
                let answered = client.patch(&path, &body).is_ok();
                let to = clock::wall_time();
                if !answered || to.duration_since(from) > SLOW {
                    let mut spells = theirs.lock().unwrap_or_else(PoisonError::into_inner);
                    add(&mut spells, Span { from, to });
                }
                thread::park_timeout(EVERY);
            }
        };
        let thread = thread::Builder::new().name("pulse".to_owned());
        let thread = thread.spawn(beat).context("starting a thread")?;
        Ok(Pulse { spells, is_over, thread: Some(thread) })
    }

    /// When the server was slow, or not there.
    pub(super) fn spells(&self) -> Vec<Span> {
        self.spells.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A thread that panicked has said so already.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn add(spells: &mut Vec<Span>, spell: Span) {
    let near = |last: &&mut Span| spell.from.duration_since(last.to) <= APART;
    match spells.last_mut().filter(near) {
        Some(last) => last.to = spell.to,
        None => spells.push(spell),
    }
}

/// How many seconds of a span are in spells.
pub(super) fn seconds(spells: &[Span], from: Timestamp, to: Timestamp) -> f64 {
    let within = spells.iter().filter_map(|spell| spell.common(Span { from, to }));
    within.fold(0.0, |sum, spell| sum + spell.lasts().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_that_are_close_are_one() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let span = |from, to| Span { from: at(from), to: at(to) };
        let mut spells = Vec::new();
        for spell in [span(0, 500), span(700, 1_500), span(3_000, 3_500)] {
            add(&mut spells, spell);
        }
        assert_eq!(spells, [span(0, 1_500), span(3_000, 3_500)]);
        assert_eq!(seconds(&spells, at(1_000), at(3_100)), 0.6);
    }
}
