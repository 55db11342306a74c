//! Starts the servers that a benchmark compares: ours and kube-apiserver.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use punctual_e2e::{
    Cluster, Controllers, KubeApiServer, Programs, Punctual, load::clock, probe, process_usage,
};

/// A server that a benchmark can start several times.
pub(super) enum BenchServer {
    KubeApiServer(Programs, Controllers),
    /// `punctual serve`: the server only.
    Punctual(Punctual),
    /// `punctual up`: the server with controllers and a runner.
    Up(Punctual),
}

impl BenchServer {
    pub(super) fn kube_apiserver(controllers: Controllers) -> anyhow::Result<Self> {
        let programs = Programs::find();
        KubeApiServer { programs: &programs, folder: Path::new(""), controllers }.check()?;
        Ok(BenchServer::KubeApiServer(programs, controllers))
    }

    pub(super) fn punctual() -> anyhow::Result<Self> {
        Ok(BenchServer::Punctual(Punctual::find()?))
    }

    pub(super) fn up() -> anyhow::Result<Self> {
        Ok(BenchServer::Up(Punctual::find()?))
    }

    /// The versions of the programs, for the report.
    pub(super) fn versions(&self) -> anyhow::Result<Vec<String>> {
        match self {
            BenchServer::KubeApiServer(programs, _) => {
                Ok(vec![version(&programs.path("kube-apiserver")?)?, version(&programs.etcd()?)?])
            }
            BenchServer::Punctual(punctual) | BenchServer::Up(punctual) => {
                Ok(vec![version(punctual.binary())?])
            }
        }
    }

    /// Starts the server with the data of a folder; returns the time until it is ready.
    pub(super) fn start(&self, folder: &Path) -> anyhow::Result<(Cluster, Duration)> {
        self.start_with(folder, &[])
    }

    /// Starts the server in the same way, with flags for `punctual up`.
    pub(super) fn start_with(
        &self,
        folder: &Path,
        flags: &[String],
    ) -> anyhow::Result<(Cluster, Duration)> {
        let (cluster, took) = clock::timed(|| self.start_untimed(folder, flags));
        Ok((cluster?, took))
    }

    fn start_untimed(&self, folder: &Path, flags: &[String]) -> anyhow::Result<Cluster> {
        let cluster = match self {
            // Its start waits until it is ready.
            BenchServer::KubeApiServer(programs, controllers) => {
                return KubeApiServer { programs, folder, controllers: *controllers }.start();
            }
            BenchServer::Punctual(punctual) => punctual.start(folder)?,
            BenchServer::Up(punctual) => punctual.up(folder, flags)?,
        };
        probe::wait_until_ready(cluster.address(), &cluster.authority, || Ok(()))?;
        Ok(cluster)
    }
}

/// The first line of `--version`.
fn version(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// The resident memory of some processes.
pub(super) fn resident_memory(pids: &[u32]) -> anyhow::Result<u64> {
    pids.iter().copied().map(process_usage::resident_bytes).sum()
}

/// The sum of the peak memory of some processes.
pub(super) fn peak_memory(pids: &[u32]) -> anyhow::Result<u64> {
    pids.iter().copied().map(process_usage::peak_bytes).sum()
}

/// The processor time of some processes.
pub(super) fn processor_time(pids: &[u32]) -> anyhow::Result<Duration> {
    pids.iter().copied().map(process_usage::processor_time).sum()
}

/// The processor time of a process, and of those of its descendants that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessorTimes {
    pub(super) own: Duration,
    pub(super) children: Duration,
}

pub(super) fn processor_times(pid: u32) -> anyhow::Result<ProcessorTimes> {
    let own = process_usage::processor_time(pid)?;
    Ok(ProcessorTimes { own, children: process_usage::children_processor_time(pid)? })
}

/// The times of this process.
pub(super) fn own_processor_times() -> anyhow::Result<ProcessorTimes> {
    processor_times(std::process::id())
}

/// The sums of the times of some processes.
pub(super) fn processor_times_of(pids: &[u32]) -> anyhow::Result<ProcessorTimes> {
    let mut sum = ProcessorTimes::default();
    for pid in pids {
        let times = processor_times(*pid)?;
        sum.own += times.own;
        sum.children += times.children;
    }
    Ok(sum)
}

/// Creates a folder in the folder of the benchmark.
pub(super) fn create_folder(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    std::fs::create_dir_all(&path)?;
    Ok(path)
}
