//! The location of the data directory.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// Returns the given directory, or `~/.local/share/punctual`.
pub(crate) fn resolve(data_dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(data_dir) = data_dir {
        return Ok(data_dir.to_owned());
    }
    let home =
        std::env::home_dir().context("could not find your home directory; set --data-dir")?;
    Ok(home.join(".local").join("share").join("punctual"))
}
