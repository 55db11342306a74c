//! Starts `punctual controller` and reads its log and HTTP pages.

use std::{ffi::OsStr, fs, path::PathBuf, process::Command, time::Duration};

use rustix::process::Signal;

use crate::{ChildProcess, client::get_page, probe};

const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);
const LOG: &str = "punctual.log";

/// Starts controllers on one cluster.
#[derive(Clone, Debug)]
pub struct ControllerLauncher {
    /// The path of the program.
    pub binary: PathBuf,
    /// The kubeconfig with the cluster and the controller's token.
    pub kubeconfig: PathBuf,
    /// The folder for logs. Each controller has a subfolder of its own.
    pub folder: PathBuf,
}

/// A running controller. Dropping it kills it.
#[derive(Debug)]
pub struct ControllerProcess {
    process: ChildProcess,
    address: String,
    log_path: PathBuf,
}

impl ControllerLauncher {
    /// Starts a controller and waits until it listens. `name` is that of its log folder.
    pub fn start(&self, name: &str, flags: &[&str]) -> anyhow::Result<ControllerProcess> {
        let fixed = ["controller", "--lease-namespace", super::OWN_NAMESPACE, "--time-zone", "UTC"];
        self.start_with_arguments(name, fixed.iter().chain(flags))
    }

    /// Starts a controller with no other arguments than these, the kubeconfig and the listen address.
    pub(crate) fn start_with_arguments(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> anyhow::Result<ControllerProcess> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        let mut command = Command::new(&self.binary);
        command.args(arguments).arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(["--listen", "127.0.0.1:0"]);
        let (process, address) = ChildProcess::start_and_wait_for(
            &mut command,
            &folder,
            "listening http://",
            LISTEN_TIMEOUT,
        )?;
        Ok(ControllerProcess { process, address, log_path: folder.join(LOG) })
    }

    /// The name and log of every controller.
    pub(super) fn logs(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut logs = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path().join(LOG);
            if path.exists() {
                let name = entry.file_name().to_string_lossy().into_owned();
                logs.push((name, fs::read_to_string(path)?));
            }
        }
        Ok(logs)
    }
}

impl ControllerProcess {
    /// Waits until `/readyz` returns 200.
    pub(crate) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        probe::wait_for("the controller is ready", || {
            self.process.ensure_running()?;
            Ok(self.get("/readyz")?.0 == 200)
        })
    }

    /// Whether its metrics report that it is the leader.
    pub(super) fn is_leader(&self) -> anyhow::Result<bool> {
        let (_, page) = self.get("/metrics")?;
        Ok(page.contains("leader_election_master_status{name=\"punctual\"} 1"))
    }

    /// Reads an HTTP page: its status and its text.
    pub(super) fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        get_page(&self.address, path)
    }

    /// Kills the process and waits until it has ended.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()
    }

    /// Suspends the process with SIGSTOP.
    pub fn pause(&mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Resumes a suspended process.
    pub fn resume(&mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::CONT)
    }

    /// Returns an error with the end of its log if it has ended.
    pub fn ensure_running(&mut self) -> anyhow::Result<()> {
        self.process.ensure_running()
    }

    /// Sends SIGTERM and waits for a successful exit.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        self.process.stop(Duration::from_secs(15))
    }

    /// Waits until it has exited on its own, and returns its log.
    pub(super) fn wait_until_exited(&mut self) -> anyhow::Result<String> {
        let process = &mut self.process;
        probe::wait_for("the controller has exited", || Ok(process.ensure_running().is_err()))?;
        self.log()
    }

    /// Its log, and that of earlier controllers of the same name.
    pub fn log(&self) -> anyhow::Result<String> {
        Ok(fs::read_to_string(&self.log_path)?)
    }

    /// Waits until its log contains a text.
    pub(super) fn wait_for_log(&self, text: &str) -> anyhow::Result<()> {
        probe::wait_for(text, || Ok(self.log()?.contains(text)))
    }
}
