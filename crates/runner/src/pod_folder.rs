//! The folder of a Pod, `pods/<uid>`.
//!
//! ```text
//! pod.json                  the plan, written once by the daemon; locked by the supervisor while it runs
//! stop                      the stop request, written by the daemon
//! state.json                the states, written by the supervisor
//! supervisor.log            errors of the supervisor
//! logs/<container>/<n>.log  the output of the n-th run; <n>.log.1 is the older part
//! run/<container>/          scratch folder, termination message, mount points
//! volumes/<name>/           volumes that are deleted with the Pod
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bounded_file;
use crate::pod_plan::PodPlan;
use crate::pod_state::PodState;
use crate::state_file::{self, StateFile};

/// The maximum size of a plan. It contains the values of config maps and secrets.
const PLAN_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The maximum size of a stop request.
const STOP_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The folder of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodFolder(PathBuf);

/// A request to stop a Pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StopRequest {
    pub(crate) grace_seconds: u64,
}

/// The exclusive right to run a Pod. Dropping it releases the right.
#[derive(Debug)]
pub(crate) struct SupervisorLock {
    _file: File,
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
        // Its readers wait for the record of the start, which follows.
        bounded_file::create(&self.0.join("pod.json"))?.write_all(&serde_json::to_vec(plan)?)
    }

    /// Whether the Pod was prepared. Returns an error if this is unknown: a Pod that may be running
    /// must not be taken for one that was never started.
    pub(crate) fn has_plan(&self) -> io::Result<bool> {
        self.0.join("pod.json").try_exists()
    }

    /// The state; `None` if no supervisor has ever written one. The error has the kind `InvalidData` if the
    /// file is unusable, because another process has replaced or damaged it.
    pub(crate) fn state(&self) -> io::Result<Option<PodState>> {
        state_file::read(&self.0.join("state.json"))
    }

    /// The file to write states to.
    pub(crate) fn state_file(&self) -> StateFile {
        StateFile::new(self.0.join("state.json"))
    }

    /// Makes the state durable.
    pub(crate) fn sync_state(&self) -> io::Result<()> {
        bounded_file::open(&self.0.join("state.json"))?.sync_data()?;
        sync_folder(&self.0)?;
        self.0.parent().map_or(Ok(()), sync_folder)
    }

    /// Removes a damaged plan and the state of its Pod.
    pub(crate) fn remove_plan_and_state(&self) -> io::Result<()> {
        for name in ["state.json", "pod.json"] {
            match fs::remove_file(self.0.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn stop_request(&self) -> io::Result<Option<StopRequest>> {
        read_json(&self.0.join("stop"), STOP_BYTES_MAX)
    }

    pub(crate) fn write_stop(&self, stop: &StopRequest) -> io::Result<()> {
        replace_json(&self.0, "stop", stop)
    }

    /// Takes the lock; `None` if another process holds it.
    pub(crate) fn lock(&self) -> io::Result<Option<SupervisorLock>> {
        // Supervisors of earlier versions, which may still run, lock a file of its own.
        let file = match bounded_file::open(&self.0.join("lock")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bounded_file::open(&self.0.join("pod.json"))?
            }
            file => file?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(SupervisorLock { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The process ID of the supervisor that wrote the last state, or of the holder of the lock if the state is
    /// unusable; `None` if there is none.
    pub(crate) fn last_supervisor(&self) -> io::Result<Option<i32>> {
        match self.state() {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => self.lock_holder(),
            state => Ok(state?.map(|state| state.supervisor_pid)),
        }
    }

    /// The process that holds the lock, according to the kernel's list of all locks.
    fn lock_holder(&self) -> io::Result<Option<i32>> {
        let plan = bounded_file::open(&self.0.join("pod.json"))?.metadata()?;
        let device = plan.dev();
        let [major, minor] = [libc::major(device), libc::minor(device)];
        let file = format!("{major:02x}:{minor:02x}:{}", plan.ino());
        let locks = fs::read_to_string("/proc/locks")?;
        // A line such as `1: FLOCK  ADVISORY  WRITE 123 fe:00:456 0 EOF`.
        Ok(locks.lines().find_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let is_lock = fields.next() == Some("FLOCK");
            let pid = fields.nth(2)?.parse().ok()?;
            (is_lock && fields.next() == Some(file.as_str())).then_some(pid)
        }))
    }

    /// Creates an empty folder for a Pod that was never started. An earlier try may have left one.
    pub(crate) fn create(&self) -> io::Result<()> {
        let create = || DirBuilder::new().mode(0o700).create(&self.0);
        match create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_dir_all(&self.0)?;
                create()
            }
            result => result,
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

/// Replaces a JSON file durably. Readers see the old or the new content, even after a crash.
fn replace_json<T: Serialize>(folder: &Path, name: &str, content: &T) -> io::Result<()> {
    let temporary = folder.join(format!(".{name}.new"));
    let mut file = bounded_file::create(&temporary)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    file.sync_data()?;
    fs::rename(&temporary, folder.join(name))?;
    sync_folder(folder)
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
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
