//! `punctual up` in a folder of its own. It can be killed and restarted on the same data.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use punctual_e2e::{ChildProcess, Cluster, Punctual, load::clock, probe};
use tempfile::TempDir;

use crate::processes;

/// A folder with the data of `punctual up`. Dropping it kills all processes that use the folder, and
/// deletes it.
pub(crate) struct UpInstance {
    punctual: Punctual,
    flags: Vec<String>,
    folder: TempDir,
    /// The canonical path, by which processes are found.
    path: PathBuf,
}

impl UpInstance {
    /// Creates a folder inside `parent`. `flags` are for `punctual up`.
    pub(crate) fn new(parent: &Path, flags: &[String]) -> anyhow::Result<Self> {
        fs::create_dir_all(parent)?;
        let folder = tempfile::Builder::new().prefix("soak-").rand_bytes(12).tempdir_in(parent)?;
        let path = folder.path().canonicalize()?;
        Ok(UpInstance { punctual: Punctual::find()?, flags: flags.to_vec(), folder, path })
    }

    /// Starts `punctual up`, waits until it is ready, and returns how long that took. Dropping the cluster
    /// kills the process with SIGKILL.
    pub(crate) fn start(&self) -> anyhow::Result<(Cluster, Duration)> {
        let (cluster, duration) = clock::timed(|| {
            let cluster = self.punctual.up(&self.path, &self.flags)?;
            probe::wait_until_ready(cluster.address(), &cluster.authority, || Ok(()))?;
            anyhow::Ok(cluster)
        });
        Ok((cluster?, duration))
    }

    /// Starts `punctual up` without waiting until it is ready.
    pub(crate) fn spawn(&self) -> anyhow::Result<ChildProcess> {
        self.punctual.spawn_up(&self.path, &self.flags)
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The data directory of the server.
    pub(crate) fn data_dir(&self) -> PathBuf {
        Punctual::data_dir(&self.path)
    }

    /// The number of Pod supervisors that run.
    pub(crate) fn supervisor_count(&self) -> usize {
        processes::count_supervisors(&self.path)
    }
}

impl Drop for UpInstance {
    fn drop(&mut self) {
        processes::kill_all(&self.path);
        // A folder that cannot be deleted stays in the build folder.
        let _result = fs::remove_dir_all(self.folder.path());
    }
}
