//! A store that forgets when it ends, and what this process takes.

use std::path::Path;

use anyhow::Context;
use punctual_store::{Batch, Error, Loaded, Log};

/// A log that keeps nothing: the store's own memory is enough for a while.
pub(super) struct Forgetful;

impl Log for Forgetful {
    fn path(&self) -> &Path {
        Path::new("nowhere")
    }

    fn load(&mut self) -> Result<Loaded, Error> {
        Ok(Loaded::default())
    }

    fn commit(&mut self, _: &Batch<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Memory of this process, in KiB.
pub(super) fn resident_kib() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory cannot be read")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).context("memory cannot be read")
}
