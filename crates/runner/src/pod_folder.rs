//! The folder of a Pod, `pods/<uid>`.
//!
//! ```text
//! pod.json                  the plan, written once by the daemon
//! stop                      the stop request, written by the daemon
//! lock                      held by the supervisor while it runs, with its process ID
//! state.json                the state, written by the supervisor
//! supervisor.log            errors of the supervisor
//! logs/<container>/<n>.log  the output of the n-th run; <n>.log.1 is the older part
//! run/<container>/          scratch folder, termination message, mount points
//! volumes/<name>/           volumes that are deleted with the Pod
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Pid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bounded_file;
use crate::pod_plan::PodPlan;
use crate::pod_state::PodState;

/// The maximum size of a plan. It contains the values of config maps and secrets.
const PLAN_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The maximum size of the other files.
const STATE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The folder of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodFolder(PathBuf);

/// A request to stop a Pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StopRequest {
    pub(crate) grace_seconds: u64,
}

/// How safely a file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The new content survives a loss of power.
    Durable,
    /// Readers see the old or the new content. A loss of power may undo the change.
    Atomic,
}

/// The exclusive right to run a Pod. Dropping it releases the right.
#[derive(Debug)]
pub(crate) struct SupervisorLock(File);

impl SupervisorLock {
    /// Writes the process ID of the holder into the lock's file.
    pub(crate) fn write_pid(&self, pid: Pid) -> io::Result<()> {
        self.0.set_len(0)?;
        (&self.0).write_all(pid.as_raw_nonzero().to_string().as_bytes())
    }
}

impl PodFolder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> PodFolder {
        PodFolder(path.into())
    }

    /// The folder of the Pod with this UID; `None` if the UID is no valid file name.
    pub(crate) fn for_uid(data_dir: &Path, uid: &str) -> Option<PodFolder> {
        is_file_name(uid).then(|| PodFolder(data_dir.join("pods").join(uid)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The data directory that contains `pods/`.
    pub(crate) fn data_dir(&self) -> Option<&Path> {
        self.0.parent()?.parent()
    }

    pub(crate) fn log_folder(&self, container: &str) -> PathBuf {
        self.0.join("logs").join(container)
    }

    pub(crate) fn run_folder(&self, container: &str) -> PathBuf {
        self.0.join("run").join(container)
    }

    pub(crate) fn volume_folder(&self, name: &str) -> PathBuf {
        self.0.join("volumes").join(name)
    }

    pub(crate) fn plan(&self) -> io::Result<PodPlan> {
        read_json(&self.0.join("pod.json"), PLAN_BYTES_MAX)?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn write_plan(&self, plan: &PodPlan) -> io::Result<()> {
        replace_json(&self.0, "pod.json", plan, Durability::Durable)
    }

    /// Whether the Pod was prepared. Returns an error if this is unknown: a Pod that may be running
    /// must not be taken for one that was never started.
    pub(crate) fn has_plan(&self) -> io::Result<bool> {
        self.0.join("pod.json").try_exists()
    }

    /// The state; `None` if no supervisor has ever written one. The error has the kind `InvalidData` if the
    /// file is unusable, because another process has replaced or damaged it.
    pub(crate) fn state(&self) -> io::Result<Option<PodState>> {
        read_json(&self.0.join("state.json"), STATE_BYTES_MAX)
    }

    pub(crate) fn write_state(&self, state: &PodState, durability: Durability) -> io::Result<()> {
        replace_json(&self.0, "state.json", state, durability)
    }

    pub(crate) fn stop_request(&self) -> io::Result<Option<StopRequest>> {
        read_json(&self.0.join("stop"), STATE_BYTES_MAX)
    }

    pub(crate) fn write_stop(&self, stop: &StopRequest) -> io::Result<()> {
        replace_json(&self.0, "stop", stop, Durability::Durable)
    }

    /// Takes the lock; `None` if another process holds it.
    pub(crate) fn lock(&self) -> io::Result<Option<SupervisorLock>> {
        let file = bounded_file::open_append(&self.0.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(SupervisorLock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The process ID of the supervisor that holds the lock; `None` if it has not written it yet.
    pub(crate) fn lock_holder(&self) -> io::Result<Option<i32>> {
        let text = bounded_file::read(&self.0.join("lock"), STATE_BYTES_MAX)?;
        Ok(std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()))
    }

    /// Creates an empty folder for a Pod that was never started.
    pub(crate) fn create(&self) -> io::Result<()> {
        self.remove()?;
        create_private(&self.0)?;
        self.0.parent().map_or(Ok(()), sync_folder)
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether a text is a plain file name that does not lead to another folder.
pub(crate) fn is_file_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.len() <= 255 && !text.starts_with('.') && text.bytes().all(is_plain)
}

/// Creates a folder and its parents, accessible only to their owner.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Reads a JSON file; `None` if it does not exist.
fn read_json<T: DeserializeOwned>(path: &Path, bytes_max: u64) -> io::Result<Option<T>> {
    let unusable = |why: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
    };
    match bounded_file::read(path, bytes_max) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| unusable(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(unusable(&error)),
        Err(error) => Err(error),
    }
}

/// Replaces a JSON file. Readers see the old or the new content, even after a crash.
fn replace_json<T: Serialize>(
    folder: &Path,
    name: &str,
    content: &T,
    durability: Durability,
) -> io::Result<()> {
    let temporary = folder.join(format!(".{name}.new"));
    let mut file = bounded_file::create(&temporary)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    if durability == Durability::Durable {
        file.sync_data()?;
    }
    fs::rename(&temporary, folder.join(name))?;
    if durability == Durability::Durable {
        sync_folder(folder)?;
    }
    Ok(())
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_folder_is_not_taken_for_one_without_a_plan() {
        let data = tempfile::tempdir().unwrap();
        let missing = data.path().join("missing");
        let unusable = data.path().join("unusable");
        std::os::unix::fs::symlink("unusable", &unusable).unwrap();
        assert!(!PodFolder::new(missing).has_plan().unwrap());
        assert!(PodFolder::new(unusable).has_plan().is_err());
    }
}
