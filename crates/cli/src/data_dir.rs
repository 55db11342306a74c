//! Where data lies.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The folder that was asked for, or the usual one of the user.
pub(crate) fn resolve(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(folder) = given {
        return Ok(folder.to_owned());
    }
    let home = std::env::home_dir().context("no home folder; say where with --data-dir")?;
    Ok(home.join(".local").join("share").join("punctual"))
}
