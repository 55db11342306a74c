//! The paths of this crate and of the repository, and a function that copies files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// The folder of this crate.
pub fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The root folder of the repository.
pub fn repository_root() -> PathBuf {
    crate_folder().join("..")
}

/// Copies the files of a folder, without its subfolders.
pub fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
