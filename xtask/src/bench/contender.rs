//! The servers that are measured, and how they start.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use punctual_e2e::{Cluster, Controllers, KubeApiServer, Programs, Punctual, probe, process_usage};

use super::clock;

/// A server that can be started again and again.
pub(super) enum Contender {
    KubeApiServer(Programs, Controllers),
    /// The server alone.
    Punctual(Punctual),
    /// `punctual up`: the server with controllers and a runner.
    Up(Punctual),
}

impl Contender {
    pub(super) fn kube_apiserver(controllers: Controllers) -> anyhow::Result<Self> {
        let programs = Programs::find();
        KubeApiServer { programs: &programs, folder: Path::new(""), controllers }.check()?;
        Ok(Contender::KubeApiServer(programs, controllers))
    }

    pub(super) fn punctual() -> anyhow::Result<Self> {
        Ok(Contender::Punctual(Punctual::find()?))
    }

    pub(super) fn up() -> anyhow::Result<Self> {
        Ok(Contender::Up(Punctual::find()?))
    }

    /// What runs, for those who read the numbers.
    pub(super) fn versions(&self) -> anyhow::Result<Vec<String>> {
        match self {
            Contender::KubeApiServer(programs, _) => {
                Ok(vec![version(&programs.path("kube-apiserver")?)?, version(&programs.etcd()?)?])
            }
            Contender::Punctual(punctual) | Contender::Up(punctual) => {
                Ok(vec![version(punctual.binary())?])
            }
        }
    }

    /// Starts with the data of a folder; the time is until it answers that it is ready.
    pub(super) fn start(&self, folder: &Path) -> anyhow::Result<(Cluster, Duration)> {
        let (cluster, took) = clock::timed(|| self.start_untimed(folder));
        Ok((cluster?, took))
    }

    fn start_untimed(&self, folder: &Path) -> anyhow::Result<Cluster> {
        let cluster = match self {
            // It is ready when it has started.
            Contender::KubeApiServer(programs, controllers) => {
                return KubeApiServer { programs, folder, controllers: *controllers }.start();
            }
            Contender::Punctual(punctual) => punctual.start(folder)?,
            Contender::Up(punctual) => punctual.up(folder, &[])?,
        };
        probe::wait_until_ready(cluster.address(), &cluster.authority, || Ok(()))?;
        Ok(cluster)
    }
}

/// The first line that a program says about itself.
fn version(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Memory of some processes.
pub(super) fn memory(pids: &[u32]) -> anyhow::Result<u64> {
    pids.iter().copied().map(process_usage::resident_bytes).sum()
}

/// The most memory that each of some processes has held, together.
pub(super) fn peak(pids: &[u32]) -> anyhow::Result<u64> {
    pids.iter().copied().map(process_usage::peak_bytes).sum()
}

/// Processor time of some processes.
pub(super) fn processor(pids: &[u32]) -> anyhow::Result<Duration> {
    pids.iter().copied().map(process_usage::processor_time).sum()
}

/// A new folder on the disk where the benchmark runs.
pub(super) fn fresh(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    std::fs::create_dir_all(&path)?;
    Ok(path)
}
