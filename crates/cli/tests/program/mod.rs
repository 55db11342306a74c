//! What the tests of the commands share.

#![allow(dead_code, reason = "not every test program uses every function")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the program with the bundled time zone data and a fixed environment.
pub(crate) fn punctual(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.env_remove("PUNCTUAL_TIME_ZONE").env("PUNCTUAL_TZDATA", "bundled").env("TZ", "UTC");
    command.args(args);
    command
}

/// Returns an empty directory for a test.
pub(crate) fn empty_directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}
