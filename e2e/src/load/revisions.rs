//! Records the revision of a server over time. Every write increases it.

use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde_json::Value;

use crate::json;

use super::{clock, connection::Connection, create::CRON_JOBS};

/// Gives a resolution of a tenth of a second at little cost.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Revisions with the times at which they were read.
#[derive(Clone, Debug, Default)]
pub struct RevisionLog(Vec<(Timestamp, u64)>);

impl RevisionLog {
    /// The time at which a revision was first read or exceeded.
    pub fn reached(&self, revision: u64) -> Option<Timestamp> {
        self.0.iter().find(|(_, seen)| *seen >= revision).map(|(at, _)| *at)
    }

    /// The time of the latest write.
    pub fn last_write(&self) -> Option<Timestamp> {
        self.reached(self.0.last()?.1)
    }

    /// Appends later revisions.
    pub fn append(&mut self, mut later: RevisionLog) {
        self.0.append(&mut later.0);
    }
}

/// The current revision of a server.
pub async fn current_revision(connection: &mut Connection) -> anyhow::Result<u64> {
    let list: Value = connection.get_json(&format!("{CRON_JOBS}?limit=1")).await?;
    let version = json::text(&list, "/metadata/resourceVersion");
    version.parse().context("a resourceVersion that is not a number")
}

/// Waits until no write has occurred for `quiet`. Fails after `timeout`.
pub async fn wait_until_quiet(
    connection: &mut Connection,
    quiet: Duration,
    timeout: Duration,
) -> anyhow::Result<RevisionLog> {
    let mut log = RevisionLog::default();
    let end = clock::wall_time() + timeout;
    loop {
        let revision = current_revision(connection).await?;
        let now = clock::wall_time();
        log.0.push((now, revision));
        let last_write = log.last_write().unwrap_or(now);
        if now.duration_since(last_write).unsigned_abs() >= quiet {
            return Ok(log);
        }
        ensure!(now < end, "the server still writes after {timeout:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_the_time_of_each_revision() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let log = RevisionLog(vec![(at(1), 5), (at(2), 9), (at(3), 9)]);
        assert_eq!(log.reached(6), Some(at(2)));
        assert_eq!(log.last_write(), Some(at(2)));
        assert_eq!(log.reached(10), None);
        assert_eq!(RevisionLog::default().last_write(), None);
    }
}
