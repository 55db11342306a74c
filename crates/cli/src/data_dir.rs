//! Finds and prepares the data directory of the server.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// What other users may do with the directory: pass through it, so that Pods of other users can reach
/// their own directories below it. All files in it are readable by their owner only.
const DIRECTORY_MODE_MAX: u32 = 0o711;
const FILE_MODE_MAX: u32 = 0o600;
/// The mode of the directory of Pods, which the runner creates with the same mode.
const PODS_MODE_MAX: u32 = 0o700;
const MODE_BITS: u32 = 0o7777;
/// An entry that a data directory has after the first start.
const OWN_ENTRIES: [&str; 2] = ["store", "pki"];

/// Returns the given directory, or `~/.local/share/punctual`.
pub(crate) fn resolve(data_dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(data_dir) = data_dir {
        return Ok(data_dir.to_owned());
    }
    let home =
        std::env::home_dir().context("could not find your home directory; set --data-dir")?;
    Ok(home.join(".local").join("share").join("punctual"))
}

/// Creates the directory if it does not exist. Removes permissions of other users from the directory,
/// its files and its certificates. Refuses a directory of another user, and a directory with other
/// files that other users can read.
pub(crate) fn prepare(data_dir: &Path) -> anyhow::Result<()> {
    let shown = data_dir.display();
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(data_dir).with_context(|| {
        format!("could not create the data directory {shown}; choose another one with --data-dir")
    })?;
    let metadata = fs::metadata(data_dir).with_context(|| format!("could not access {shown}"))?;
    check_owner(data_dir, &metadata)?;
    let is_loose = metadata.mode() & 0o777 & !DIRECTORY_MODE_MAX != 0;
    ensure!(
        !is_loose || is_own(data_dir)?,
        "{shown} has other files and is readable by other users; choose a directory of its own with \
         --data-dir, or run `chmod go-rwx {shown}`"
    );
    restrict_mode(data_dir, &metadata, DIRECTORY_MODE_MAX)?;
    restrict_file_modes(data_dir)?;
    let pki = data_dir.join("pki");
    if pki.is_dir() {
        restrict_mode(&pki, &fs::symlink_metadata(&pki)?, 0o700)?;
        restrict_file_modes(&pki)?;
    }
    prepare_pods(&data_dir.join("pods"))
}

/// Removes permissions of other users from the directory of Pods. Refuses it if another user has made an
/// entry of it, which could be a plan that this process would run.
fn prepare_pods(pods: &Path) -> anyhow::Result<()> {
    let metadata = match fs::symlink_metadata(pods) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.with_context(|| format!("could not access {}", pods.display()))?,
    };
    let shown = pods.display();
    ensure!(metadata.is_dir(), "{shown} is not a directory; remove it");
    check_owner(pods, &metadata)?;
    restrict_mode(pods, &metadata, PODS_MODE_MAX)?;
    for entry in fs::read_dir(pods).with_context(|| format!("could not read {shown}"))? {
        let entry = entry?;
        check_owner(&entry.path(), &entry.metadata()?).with_context(|| {
            format!("another user could write to {shown}; remove the entry if you do not know it")
        })?;
    }
    Ok(())
}

/// Whether the directory is empty or a data directory.
fn is_own(data_dir: &Path) -> io::Result<bool> {
    let is_used = OWN_ENTRIES.iter().any(|name| data_dir.join(name).exists());
    Ok(is_used || fs::read_dir(data_dir)?.next().is_none())
}

/// Refuses what belongs to another user, who could replace it. Root may own it.
fn check_owner(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    ensure!(
        metadata.uid() == user || metadata.uid() == 0,
        "{} belongs to the user with the ID {}, but this process runs as {user}; run it as that user, \
         or change the owner with chown",
        path.display(),
        metadata.uid()
    );
    Ok(())
}

/// Removes the permissions of other users from all files of a directory.
fn restrict_file_modes(directory: &Path) -> anyhow::Result<()> {
    let shown = directory.display();
    for entry in fs::read_dir(directory).with_context(|| format!("could not read {shown}"))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            check_owner(&entry.path(), &metadata)?;
            restrict_mode(&entry.path(), &metadata, FILE_MODE_MAX)?;
        }
    }
    Ok(())
}

/// Removes permissions beyond the given mode.
fn restrict_mode(path: &Path, metadata: &Metadata, mode_max: u32) -> anyhow::Result<()> {
    let mode = metadata.mode() & MODE_BITS;
    let tight = mode & mode_max;
    if mode == tight {
        return Ok(());
    }
    let shown = path.display();
    fs::set_permissions(path, Permissions::from_mode(tight)).with_context(|| {
        format!("other users can read {shown} (mode {mode:o}), and its mode cannot be changed")
    })?;
    tracing::warn!("other users could access {shown}; changed its mode from {mode:o} to {tight:o}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & MODE_BITS
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_data_directory_with_loose_modes_is_tightened() {
        let home = tempfile::tempdir().unwrap();
        let data_dir = home.path().join("a/data");
        prepare(&data_dir).unwrap();
        assert_eq!(mode(&data_dir), 0o700);
        fs::create_dir(data_dir.join("pki")).unwrap();
        let files =
            ["store", "store.lock", "audit.log", "pki/ca.key"].map(|name| data_dir.join(name));
        for file in &files {
            fs::write(file, "").unwrap();
            set_mode(file, 0o644);
        }
        set_mode(&data_dir, 0o777);
        set_mode(&data_dir.join("pki"), 0o755);
        prepare(&data_dir).unwrap();
        assert_eq!(mode(&data_dir), 0o711);
        assert_eq!(mode(&data_dir.join("pki")), 0o700);
        for file in &files {
            assert_eq!(mode(file), 0o600, "{}", file.display());
        }
    }

    #[test]
    fn a_loose_directory_with_other_files_is_refused_and_not_changed() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("other"), "").unwrap();
        set_mode(home.path(), 0o755);
        let error = prepare(home.path()).unwrap_err().to_string();
        assert!(error.contains("--data-dir"), "{error}");
        assert_eq!(mode(home.path()), 0o755);
        set_mode(home.path(), 0o700);
        prepare(home.path()).unwrap();
    }

    #[test]
    fn other_users_cannot_add_pods() {
        let home = tempfile::tempdir().unwrap();
        let data_dir = home.path().join("data");
        prepare(&data_dir).unwrap();
        let pods = data_dir.join("pods");
        fs::create_dir_all(pods.join("uid")).unwrap();
        set_mode(&pods, 0o777);
        prepare(&data_dir).unwrap();
        assert_eq!(mode(&pods), 0o700);
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can make an entry of another user");
            return;
        }
        std::os::unix::fs::chown(pods.join("uid"), Some(65_534), None).unwrap();
        let error = format!("{:#}", prepare(&data_dir).unwrap_err());
        assert!(error.contains("pods/uid belongs to the user with the ID 65534"), "{error}");
        fs::remove_dir(pods.join("uid")).unwrap();
        prepare(&data_dir).unwrap();
        fs::remove_dir(&pods).unwrap();
        std::os::unix::fs::symlink(home.path(), &pods).unwrap();
        let error = format!("{:#}", prepare(&data_dir).unwrap_err());
        assert!(error.contains("is not a directory"), "{error}");
    }

    #[test]
    fn links_are_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("outside");
        fs::write(&outside, "").unwrap();
        set_mode(&outside, 0o644);
        let data_dir = home.path().join("data");
        prepare(&data_dir).unwrap();
        std::os::unix::fs::symlink(&outside, data_dir.join("store")).unwrap();
        prepare(&data_dir).unwrap();
        assert_eq!(mode(&outside), 0o644);
    }
}
