//! Starts `punctual` for a test, as `serve`, `up` or `controller`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Context;

use crate::{ChildProcess, Cluster, environment, programs};

/// A debug build with a hundred thousand objects may take this long.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

/// Starts the program.
#[derive(Debug)]
pub struct Punctual {
    binary: PathBuf,
}

impl Punctual {
    /// Finds the program of this build, or `PUNCTUAL_BIN`. Fails if it is missing or has no `serve`.
    pub fn find() -> anyhow::Result<Self> {
        let test_program = std::env::current_exe().context("the path of this test program")?;
        let binary = programs::find_punctual(&test_program)?;
        let help = Command::new(&binary)
            .args(["serve", "--help"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let has_serve = help.is_ok_and(|status| status.success());
        anyhow::ensure!(has_serve, "the program punctual has no command `serve`");
        Ok(Punctual { binary })
    }

    /// The program of an earlier version, `PUNCTUAL_PREVIOUS_BIN`.
    pub fn previous() -> anyhow::Result<Self> {
        let binary = environment::previous_punctual();
        let binary = binary.context("PUNCTUAL_PREVIOUS_BIN does not name one")?;
        Ok(Punctual { binary })
    }

    /// The path of the program.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Runs `punctual serve` with its data in a folder and waits until it serves. The folder may have
    /// the data of an earlier run.
    pub fn start(&self, folder: &Path) -> anyhow::Result<Cluster> {
        self.start_server(self.command("serve", folder), folder).context("punctual serve")
    }

    /// Runs `punctual up` in the same way. Schedules are in UTC; `flags` come last.
    pub fn up(&self, folder: &Path, flags: &[String]) -> anyhow::Result<Cluster> {
        self.start_server(self.up_command(folder, flags), folder).context("punctual up")
    }

    /// Runs `punctual controller` on another cluster and waits until it listens.
    pub fn start_controller(
        &self,
        kubeconfig: &Path,
        folder: &Path,
        flags: &[&str],
    ) -> anyhow::Result<ChildProcess> {
        let mut command = Command::new(&self.binary);
        command.arg("controller").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--listen=127.0.0.1:0", "--time-zone=UTC"]).args(flags);
        let prefix = "listening http://";
        let (process, _address) =
            ChildProcess::start_and_wait_for(&mut command, folder, prefix, READY_TIMEOUT)?;
        Ok(process)
    }

    /// Runs `punctual up` and does not wait until it serves.
    pub fn spawn_up(&self, folder: &Path, flags: &[String]) -> anyhow::Result<ChildProcess> {
        ChildProcess::start(self.up_command(folder, flags), folder)
    }

    /// The data directory of a server that was started with a folder.
    pub fn data_dir(folder: &Path) -> PathBuf {
        folder.join("data")
    }

    fn start_server(&self, mut command: Command, folder: &Path) -> anyhow::Result<Cluster> {
        let (process, _url) =
            ChildProcess::start_and_wait_for(&mut command, folder, "serving ", READY_TIMEOUT)?;
        Cluster::new("punctual", &kubeconfig_path(folder), vec![process])
    }

    fn up_command(&self, folder: &Path, flags: &[String]) -> Command {
        let mut command = self.command("up", folder);
        // A variable, because earlier versions have no such flag.
        command.env("PUNCTUAL_DASHBOARD", "off");
        command.args(["--time-zone", "UTC"]).args(flags);
        command
    }

    fn command(&self, name: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg(name).arg("--data-dir").arg(Punctual::data_dir(folder));
        command.args(["--listen", "127.0.0.1:0"]);
        command.arg("--kubeconfig-out").arg(kubeconfig_path(folder));
        command
    }
}

fn kubeconfig_path(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}
