//! The events of a watch.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    ApiTarget,
    connection::{BodyLength, HttpConnection, SocketRead},
};

/// The longest time that one poll blocks, so that its caller can do other work.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// An open watch. Dropping it closes it.
#[derive(Debug)]
pub struct WatchStream {
    connection: HttpConnection,
    buffer: Vec<u8>,
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
    pub(super) fn open(
        mut connection: HttpConnection,
        target: &ApiTarget,
        path: &str,
    ) -> anyhow::Result<WatchStream> {
        let separator = if path.contains('?') { '&' } else { '?' };
        connection.write(&target.request("GET", &format!("{path}{separator}watch=true"), None))?;
        let head = connection.read_head()?;
        let is_watch = head.status == 200 && head.length == BodyLength::Chunked;
        ensure!(is_watch, "watching {path}: {}", head.status);
        connection.set_read_timeout(POLL_TIMEOUT)?;
        Ok(WatchStream { connection, buffer: Vec::new() })
    }

    /// Returns the next event, or `Timeout` after a short time without one.
    pub fn poll(&mut self) -> anyhow::Result<WatchPoll> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let event = serde_json::from_slice(&line).context("decoding an event")?;
                return Ok(WatchPoll::Event(event));
            }
            match self.connection.take_chunk()? {
                Some(chunk) if chunk.is_empty() => return Ok(WatchPoll::Closed),
                Some(chunk) => self.buffer.extend(chunk),
                None => match self.connection.read()? {
                    SocketRead::Received => {}
                    SocketRead::TimedOut => return Ok(WatchPoll::Timeout),
                    SocketRead::Closed => return Ok(WatchPoll::Closed),
                },
            }
        }
    }
}
