//! Who writes the record: a watch that goes straight to the server, and on where it was when it ends.
//!
//! A server that was killed may have forgotten where we were. Then a list makes sure: what was created
//! and deleted between the last word of the old server and the list is not in it, but while there is no
//! server nothing is, and no Job can run and be removed in the instant before.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, bail};
use punctual_e2e::{
    Client, Cluster,
    client::{WatchPoll, WatchStream},
};
use serde::Deserialize;
use serde_json::Value;

use super::record::{Follows, Moment};
use punctual_e2e::load::clock;

const PAUSE: Duration = Duration::from_millis(50);
/// What a server says that has forgotten.
const GONE: u64 = 410;

/// A thread that keeps a record until it is dropped.
pub(super) struct Recorder<R> {
    kept: Arc<Mutex<Kept<R>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What was recorded.
#[derive(Debug, Default)]
pub(super) struct Kept<R> {
    pub(super) record: R,
    /// How often a list had to make sure.
    pub(super) gaps: usize,
    /// What was told and could not be understood; nothing may be.
    pub(super) errors: Vec<String>,
}

impl<R: Follows + Default + Send + 'static> Recorder<R> {
    /// Records a list from now on.
    pub(super) fn start(cluster: &Cluster, path: &str) -> anyhow::Result<Self> {
        let (kept, is_over) = (Arc::default(), Arc::<AtomicBool>::default());
        let mut scribe = Scribe {
            client: Client::new(cluster)?,
            path: path.to_owned(),
            kept: Arc::clone(&kept),
            is_over: Arc::clone(&is_over),
        };
        let version = scribe.list()?;
        let thread = thread::Builder::new().name("recorder".to_owned());
        let thread = thread.spawn(move || scribe.live(version)).context("starting a thread")?;
        Ok(Recorder { kept, is_over, thread: Some(thread) })
    }
}

impl<R> Recorder<R> {
    /// What was recorded so far.
    pub(super) fn kept(&self) -> MutexGuard<'_, Kept<R>> {
        lock(&self.kept)
    }
}

impl<R> Drop for Recorder<R> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A thread that panicked has said so already.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Scribe<R> {
    client: Client,
    path: String,
    kept: Arc<Mutex<Kept<R>>>,
    is_over: Arc<AtomicBool>,
}

/// Why a watch is over.
enum Over {
    /// Go on from here.
    At(String),
    /// The server does not know any more what was there.
    Forgotten,
}

impl<R: Follows> Scribe<R> {
    fn live(mut self, mut version: String) {
        while !self.is_over() {
            match self.follow(&version) {
                Ok(Over::At(last)) => version = last,
                Ok(Over::Forgotten) => match self.list() {
                    Ok(listed) => {
                        version = listed;
                        lock(&self.kept).gaps += 1;
                    }
                    Err(_) => thread::park_timeout(PAUSE),
                },
                // The server is down.
                Err(_) => thread::park_timeout(PAUSE),
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Lists everything; the version of the list.
    fn list(&mut self) -> anyhow::Result<String> {
        let list = self.client.get(&self.path)?;
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let version = version.context("a list without a version")?.to_owned();
        let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
        let objects = items.map(R::Object::deserialize).collect::<Result<Vec<_>, _>>()?;
        let now = Moment { version: version.parse()?, at: clock::wall_time() };
        lock(&self.kept).record.resume(&objects, now);
        Ok(version)
    }

    fn follow(&self, version: &str) -> anyhow::Result<Over> {
        let path = format!("{}?resourceVersion={version}", self.path);
        let mut watch = match self.client.watch(&path) {
            Err(error) if error.to_string().ends_with(&GONE.to_string()) => {
                return Ok(Over::Forgotten);
            }
            opened => opened?,
        };
        let mut last = version.to_owned();
        // What fails halfway goes on where it was, not where it began.
        Ok(self.hear_all(&mut watch, &mut last).unwrap_or(Over::At(last)))
    }

    fn hear_all(&self, watch: &mut WatchStream, last: &mut String) -> anyhow::Result<Over> {
        while !self.is_over() {
            match watch.poll()? {
                WatchPoll::Event(event) => match self.hear(&event) {
                    Ok(Over::At(version)) => *last = version,
                    Ok(Over::Forgotten) => return Ok(Over::Forgotten),
                    Err(error) => lock(&self.kept).errors.push(format!("{error:#}: {event}")),
                },
                WatchPoll::Timeout => {}
                WatchPoll::Closed => break,
            }
        }
        Ok(Over::At(last.clone()))
    }

    fn hear(&self, event: &Value) -> anyhow::Result<Over> {
        let object = event.get("object").context("an event without an object")?;
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "ERROR" && object.get("code").and_then(Value::as_u64) == Some(GONE) {
            return Ok(Over::Forgotten);
        }
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let version = version.context("an object without a version")?.to_owned();
        let (object, at) = (R::Object::deserialize(object)?, clock::wall_time());
        let mut kept = lock(&self.kept);
        match kind {
            "ADDED" | "MODIFIED" => kept.record.see(&object, at),
            "DELETED" => kept.record.lose(&object, at),
            other => bail!("an event of type {other}"),
        }
        Ok(Over::At(version))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
