//! Where data lies.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The folder that was asked for, or the usual one of the user.
pub(crate) fn folder(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(folder) = given {
        return Ok(folder.to_owned());
    }
    let home = std::env::home_dir().context("no home folder; say where with --data-dir")?;
    Ok(home.join(".local").join("share").join("punctual"))
}

/// Makes a folder that only its owner may enter.
pub(crate) fn make_private(folder: &Path) -> anyhow::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("could not make {}", folder.display()))
}
