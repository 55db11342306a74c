//! The files that the measured programs create as their first action.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use jiff::{SignedDuration, Timestamp};
use punctual_e2e::load::{clock, latency::Latencies};

use super::super::report::Figures;

/// How often to look for missing files. They carry their times, so this does not change the result.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const TIMEOUT: Duration = Duration::from_secs(120);
/// The clock of the file system advances with the ticks of the kernel.
const CLOCK_DELAY_MAX: SignedDuration = SignedDuration::from_millis(20);

/// A folder with a file for each program that has run.
pub(super) struct MarkFolder {
    folder: PathBuf,
}

impl MarkFolder {
    pub(super) fn create(folder: PathBuf) -> anyhow::Result<MarkFolder> {
        fs::create_dir_all(folder.join("marks"))?;
        Ok(MarkFolder { folder })
    }

    /// A folder for other data of the measurement.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// The shell command of a program. The shell itself creates the file.
    pub(super) fn command(&self, number: usize) -> String {
        format!(": > {}", self.folder.join("marks").join(number.to_string()).display())
    }

    /// Waits until all programs have run.
    pub(super) async fn wait_for(&self, count: usize) -> anyhow::Result<()> {
        let end = clock::now() + TIMEOUT;
        loop {
            let present = fs::read_dir(self.folder.join("marks"))?.count();
            if present >= count {
                return Ok(());
            }
            ensure!(clock::now() < end, "{present} of {count} programs have run in {TIMEOUT:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Adds the times from a slot to the first instruction of each program.
    pub(super) fn add_starts(&self, slot: Timestamp, figures: &mut Figures) -> anyhow::Result<()> {
        let mut starts = Vec::new();
        for entry in fs::read_dir(self.folder.join("marks"))? {
            let at = Timestamp::try_from(entry?.metadata()?.modified()?)?;
            // The clock of the file system is some milliseconds late.
            ensure!(at + CLOCK_DELAY_MAX > slot, "a program has started before the slot, at {at}");
            starts.push(at.duration_since(slot).try_into().unwrap_or_default());
        }
        let starts = Latencies::new(starts);
        figures.add_latencies("slot to first instruction", &starts);
        figures.add("programs a second", "/s", starts.count() as f64 / starts.max().as_secs_f64());
        Ok(())
    }
}
