//! Changes of a list, as they come.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    Target,
    wire::{Come, Length, Wire},
};

/// Whoever watches may have other things to do after this.
const PATIENCE: Duration = Duration::from_millis(100);

/// A watch. Dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    wire: Wire,
    text: Vec<u8>,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// An event, with its `type` and `object`.
    Event(Value),
    /// Nothing for a while.
    Nothing,
    /// The watch is over: list and watch again.
    End,
}

impl Watch {
    pub(super) fn open(mut wire: Wire, target: &Target, path: &str) -> anyhow::Result<Watch> {
        let joint = if path.contains('?') { '&' } else { '?' };
        wire.write(&target.request("GET", &format!("{path}{joint}watch=true"), None))?;
        let head = wire.head()?;
        let is_watch = head.status == 200 && head.length == Length::Chunked;
        ensure!(is_watch, "watching {path}: {}", head.status);
        wire.set_patience(PATIENCE)?;
        Ok(Watch { wire, text: Vec::new() })
    }

    /// Waits for the next event, and not for long.
    pub fn see(&mut self) -> anyhow::Result<Seen> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Ok(Seen::Event(serde_json::from_slice(&line).context("an event")?));
            }
            match self.wire.chunk()? {
                Some(chunk) if chunk.is_empty() => return Ok(Seen::End),
                Some(chunk) => self.text.extend(chunk),
                None => match self.wire.read()? {
                    Come::Bytes => {}
                    Come::Nothing => return Ok(Seen::Nothing),
                    Come::End => return Ok(Seen::End),
                },
            }
        }
    }
}
