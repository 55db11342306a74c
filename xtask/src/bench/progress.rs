//! How far a server is: its revision, which every write moves on.

use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde::Deserialize;

use super::{clock, connection::Connection, create::PATH};

/// Often enough to tell a tenth of a second, and no work to speak of.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The revision of a server over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Vec<(Timestamp, u64)>);

#[derive(Deserialize)]
struct Listing {
    metadata: ListMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
}

impl Progress {
    /// When a revision was seen to be reached.
    pub(crate) fn reached(&self, revision: u64) -> Option<Timestamp> {
        self.0.iter().find(|(_, seen)| *seen >= revision).map(|(at, _)| *at)
    }

    /// When the latest write was seen, since the first look.
    pub(crate) fn last_moved(&self) -> Option<Timestamp> {
        self.reached(self.0.last()?.1)
    }

    /// What was seen afterwards.
    pub(crate) fn append(&mut self, mut later: Progress) {
        self.0.append(&mut later.0);
    }
}

/// The revision of a server at this moment.
pub(crate) async fn revision(connection: &mut Connection) -> anyhow::Result<u64> {
    let listing: Listing = connection.read(&format!("{PATH}?limit=1")).await?;
    listing.metadata.resource_version.parse().context("a version that is no number")
}

/// Looks until nothing was written for a while; an error if that is not so within a time.
pub(crate) async fn until_quiet(
    connection: &mut Connection,
    quiet: Duration,
    within: Duration,
) -> anyhow::Result<Progress> {
    let mut progress = Progress::default();
    let end = clock::wall() + within;
    loop {
        let revision = revision(connection).await?;
        let now = clock::wall();
        progress.0.push((now, revision));
        let moved = progress.last_moved().unwrap_or(now);
        if now.duration_since(moved).unsigned_abs() >= quiet {
            return Ok(progress);
        }
        ensure!(now < end, "it still writes after {within:?}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_when_a_revision_was_reached() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let progress = Progress(vec![(at(1), 5), (at(2), 9), (at(3), 9)]);
        assert_eq!(progress.reached(6), Some(at(2)));
        assert_eq!(progress.last_moved(), Some(at(2)));
        assert_eq!(progress.reached(10), None);
        assert_eq!(Progress::default().last_moved(), None);
    }
}
