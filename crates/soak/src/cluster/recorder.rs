//! Records a collection with a watch that bypasses the injected faults and resumes after a break.
//!
//! A restarted server may not have the version at which the watch would resume. Then a list closes the
//! gap. It does not show objects that were created and deleted within the gap, but without a server no
//! object is created, and no Job can run and be deleted in the moment before the server is killed.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use punctual_e2e::{
    BackgroundThread, Client, Cluster, StopFlag,
    client::{WatchPoll, WatchStream},
    load::clock,
};
use serde_json::Value;

use super::recorded_jobs::{ObservedAt, WatchState};
use crate::objects::{items, number, text};

const RETRY_DELAY: Duration = Duration::from_millis(50);
/// The status code for a version that the server no longer has.
const GONE: usize = 410;

/// A thread that records until this is dropped.
pub(super) struct WatchRecorder<S> {
    recorded: Arc<Mutex<WatchRecording<S>>>,
    _thread: BackgroundThread,
}

#[derive(Debug, Default)]
pub(super) struct WatchRecording<S> {
    pub(super) value: S,
    /// How often a list had to close a gap.
    pub(super) gaps: usize,
    /// Events that could not be read. Each is an error of the server or of this test.
    pub(super) errors: Vec<String>,
}

impl<S: WatchState + Default + Send + 'static> WatchRecorder<S> {
    /// Records a collection from now on.
    pub(super) fn start(cluster: &Cluster, path: &str) -> anyhow::Result<Self> {
        let recorded = Arc::default();
        let mut task = RecorderTask {
            client: Client::new(cluster)?,
            path: path.to_owned(),
            recorded: Arc::clone(&recorded),
        };
        let version = task.list()?;
        let thread = BackgroundThread::start("recorder", move |stop| task.run(version, &stop))?;
        Ok(WatchRecorder { recorded, _thread: thread })
    }
}

impl<S> WatchRecorder<S> {
    /// The state so far.
    pub(super) fn recorded(&self) -> MutexGuard<'_, WatchRecording<S>> {
        lock(&self.recorded)
    }
}

struct RecorderTask<S> {
    client: Client,
    path: String,
    recorded: Arc<Mutex<WatchRecording<S>>>,
}

/// Where the recorder resumes.
enum WatchPosition {
    /// After this version.
    Version(String),
    /// The server no longer has the version, so a list is necessary.
    Expired,
}

impl<S: WatchState> RecorderTask<S> {
    fn run(mut self, mut version: String, stop: &StopFlag) {
        while !stop.is_set() {
            match self.watch(&version, stop) {
                Ok(WatchPosition::Version(last)) => version = last,
                Ok(WatchPosition::Expired) => match self.list() {
                    Ok(listed) => {
                        version = listed;
                        lock(&self.recorded).gaps += 1;
                    }
                    Err(_) => thread::park_timeout(RETRY_DELAY),
                },
                // The server is down.
                Err(_) => thread::park_timeout(RETRY_DELAY),
            }
        }
    }

    /// Lists all objects and returns the version of the list.
    fn list(&mut self) -> anyhow::Result<String> {
        let list = self.client.get(&self.path)?;
        let version = text(&list, "/metadata/resourceVersion").to_owned();
        let now = ObservedAt { version: version.parse()?, at: clock::wall_time() };
        lock(&self.recorded).value.replace(items(&list, "/items"), now);
        Ok(version)
    }

    fn watch(&self, version: &str, stop: &StopFlag) -> anyhow::Result<WatchPosition> {
        let path = format!("{}?resourceVersion={version}", self.path);
        let mut watch = match self.client.watch(&path) {
            Err(error) if error.to_string().ends_with(&GONE.to_string()) => {
                return Ok(WatchPosition::Expired);
            }
            opened => opened?,
        };
        let mut last = version.to_owned();
        // A watch that breaks resumes after its last event.
        let end = self.record_events(&mut watch, &mut last, stop);
        Ok(end.unwrap_or(WatchPosition::Version(last)))
    }

    fn record_events(
        &self,
        watch: &mut WatchStream,
        last: &mut String,
        stop: &StopFlag,
    ) -> anyhow::Result<WatchPosition> {
        while !stop.is_set() {
            match watch.poll()? {
                WatchPoll::Event(event) => match self.record_event(&event) {
                    Ok(WatchPosition::Version(version)) => *last = version,
                    Ok(WatchPosition::Expired) => return Ok(WatchPosition::Expired),
                    Err(error) => lock(&self.recorded).errors.push(format!("{error:#}: {event}")),
                },
                WatchPoll::Timeout => {}
                WatchPoll::Closed => break,
            }
        }
        Ok(WatchPosition::Version(last.clone()))
    }

    fn record_event(&self, event: &Value) -> anyhow::Result<WatchPosition> {
        let object = event.get("object").context("an event without an object")?;
        let event_type = text(event, "/type");
        if event_type == "ERROR" && number(object, "/code") == GONE {
            return Ok(WatchPosition::Expired);
        }
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let version = version.context("an object without a version")?.to_owned();
        let at = clock::wall_time();
        let mut recorded = lock(&self.recorded);
        match event_type {
            "ADDED" | "MODIFIED" => recorded.value.apply(object, at),
            "DELETED" => recorded.value.delete(object, at),
            other => bail!("an event of type {other}"),
        }
        Ok(WatchPosition::Version(version))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
