//! Reads the events of a watch.

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    time::Duration,
};

use anyhow::Context;
use serde_json::Value;
use tokio::task::AbortHandle;

use crate::load::connection::{ConnectionTarget, WatchLines};

/// The longest time that one poll blocks, so that its caller can do other work.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// An open watch. Dropping it closes it.
#[derive(Debug)]
pub struct WatchStream {
    events: Receiver<anyhow::Result<Value>>,
    reader: AbortHandle,
}

/// The result of one poll.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchPoll {
    /// An event with its `type` and `object`.
    Event(Value),
    /// No event came within the poll's timeout.
    Timeout,
    /// The server closed the watch: list and watch again.
    Closed,
}

impl WatchStream {
    pub(super) fn open(target: &ConnectionTarget, path: &str) -> anyhow::Result<WatchStream> {
        let target = target.clone();
        let path = path.to_owned();
        let lines = super::wait(async move { WatchLines::open(&target, &path).await })?;
        let (sender, events) = mpsc::channel();
        let reader = super::runtime()?.spawn(read_events(lines, sender));
        Ok(WatchStream { events, reader: reader.abort_handle() })
    }

    /// Returns the next event, or `Timeout` after a short time without one.
    pub fn poll(&mut self) -> anyhow::Result<WatchPoll> {
        match self.events.recv_timeout(POLL_TIMEOUT) {
            Ok(event) => event.map(WatchPoll::Event),
            Err(RecvTimeoutError::Timeout) => Ok(WatchPoll::Timeout),
            Err(RecvTimeoutError::Disconnected) => Ok(WatchPoll::Closed),
        }
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Sends every event until the server closes the watch or is killed.
async fn read_events(mut lines: WatchLines, sender: Sender<anyhow::Result<Value>>) {
    while let Ok(Some(line)) = lines.next().await {
        let event = serde_json::from_slice(&line).context("decoding an event");
        if sender.send(event).is_err() {
            return;
        }
    }
}
