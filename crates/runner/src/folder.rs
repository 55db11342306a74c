//! The folder of a Pod, `pods/<uid>`: what lies where, and how it is written.
//!
//! ```text
//! pod.json                  what to run, written once by the daemon
//! stop                      how to stop, written by the daemon
//! lock                      held by the supervisor for its whole life
//! state.json                what happened, written by the supervisor
//! logs/<container>/<n>.log  what the n-th run said, and <n>.log.1 before that
//! run/<container>/          scratch folder, termination message, mount points
//! volumes/<name>/           volumes that live as long as the Pod
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::plan::PodPlan;
use crate::state::PodState;

/// The folder of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder(PathBuf);

/// How a Pod is to be stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stop {
    pub(crate) grace_seconds: u64,
}

/// Whether what is written must survive a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    Durable,
    /// Readers see all of it or nothing of it, and that is enough.
    Whole,
}

/// The right to run a Pod, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
    }

    /// The folder of a Pod; none if the UID cannot be the name of one.
    pub(crate) fn of(data: &Path, uid: &str) -> Option<Folder> {
        is_name(uid).then(|| Folder(data.join("pods").join(uid)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn logs(&self, container: &str) -> PathBuf {
        self.0.join("logs").join(container)
    }

    pub(crate) fn run(&self, container: &str) -> PathBuf {
        self.0.join("run").join(container)
    }

    pub(crate) fn volume(&self, name: &str) -> PathBuf {
        self.0.join("volumes").join(name)
    }

    pub(crate) fn plan(&self) -> io::Result<PodPlan> {
        read(&self.0.join("pod.json"))?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn write_plan(&self, plan: &PodPlan) -> io::Result<()> {
        replace(&self.0, "pod.json", plan, Durability::Durable)
    }

    /// Whether the Pod was begun. That it cannot be told is an error: what runs must never be taken
    /// for what was never started.
    pub(crate) fn has_plan(&self) -> io::Result<bool> {
        self.0.join("pod.json").try_exists()
    }

    /// What happened; none if no supervisor ever was here.
    pub(crate) fn state(&self) -> io::Result<Option<PodState>> {
        read(&self.0.join("state.json"))
    }

    pub(crate) fn write_state(&self, state: &PodState, durability: Durability) -> io::Result<()> {
        replace(&self.0, "state.json", state, durability)
    }

    pub(crate) fn stop(&self) -> io::Result<Option<Stop>> {
        read(&self.0.join("stop"))
    }

    pub(crate) fn write_stop(&self, stop: &Stop) -> io::Result<()> {
        replace(&self.0, "stop", stop, Durability::Durable)
    }

    /// Takes the lock; none if somebody has it.
    pub(crate) fn lock(&self) -> io::Result<Option<Lock>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.0.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the folder anew for a Pod that was never started.
    pub(crate) fn create(&self) -> io::Result<()> {
        self.remove()?;
        create_private(&self.0)?;
        self.0.parent().map_or(Ok(()), sync)
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether a text is the name of one file: no way up, down or around.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.len() <= 255 && !text.starts_with('.') && text.bytes().all(is_plain)
}

/// Makes a folder that only its owner sees, and those above it.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Reads a document; none if it is not there.
fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a document: a reader sees the old or the new one, whatever happens.
fn replace<T: Serialize>(
    folder: &Path,
    name: &str,
    document: &T,
    durability: Durability,
) -> io::Result<()> {
    let temporary = folder.join(format!(".{name}.new"));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(&serde_json::to_vec(document)?)?;
    if durability == Durability::Durable {
        file.sync_data()?;
    }
    fs::rename(&temporary, folder.join(name))?;
    if durability == Durability::Durable { sync(folder) } else { Ok(()) }
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_looked_into_is_not_taken_for_one_without_a_plan() {
        let data = tempfile::tempdir().unwrap();
        let (missing, unusable) = (data.path().join("missing"), data.path().join("unusable"));
        std::os::unix::fs::symlink("unusable", &unusable).unwrap();
        assert!(!Folder::new(missing).has_plan().unwrap());
        assert!(Folder::new(unusable).has_plan().is_err());
    }
}
