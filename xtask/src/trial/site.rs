//! A place where `punctual up` lives, is killed and comes back.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use punctual_e2e::{ChildProcess, Cluster, Punctual, probe};
use tempfile::TempDir;

use super::processes;
use punctual_e2e::load::clock;

/// A folder with everything in it. Dropping it ends all processes that belong to it, and removes it.
pub(super) struct Site {
    punctual: Punctual,
    flags: Vec<String>,
    folder: TempDir,
    /// The folder's full name: processes are known by it.
    path: PathBuf,
}

impl Site {
    /// A new folder inside another; `flags` are for `punctual up`.
    pub(super) fn new(parent: &Path, flags: &[String]) -> anyhow::Result<Self> {
        fs::create_dir_all(parent)?;
        let folder = tempfile::Builder::new().prefix("trial-").rand_bytes(12).tempdir_in(parent)?;
        let path = folder.path().canonicalize()?;
        Ok(Site { punctual: Punctual::find()?, flags: flags.to_vec(), folder, path })
    }

    /// Starts it; the time is until it answers that it is ready. Dropping what it gives is `kill -9`.
    pub(super) fn start(&self) -> anyhow::Result<(Cluster, Duration)> {
        let (cluster, took) = clock::timed(|| {
            let cluster = self.punctual.up(&self.path, &self.flags)?;
            probe::wait_until_ready(cluster.address(), &cluster.authority, || Ok(()))?;
            anyhow::Ok(cluster)
        });
        Ok((cluster?, took))
    }

    /// Starts it and does not wait.
    pub(super) fn start_unready(&self) -> anyhow::Result<ChildProcess> {
        self.punctual.spawn_up(&self.path, &self.flags)
    }

    /// The folder itself, for what the trial writes.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The data folder of the server.
    pub(super) fn data(&self) -> PathBuf {
        Punctual::data_folder(&self.path)
    }

    /// The processes that look after Pods.
    pub(super) fn supervisors(&self) -> Vec<u32> {
        processes::supervisors(&self.path)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        processes::end_all(&self.path);
        // What cannot be removed is in a folder of builds.
        let _removed = fs::remove_dir_all(self.folder.path());
    }
}
