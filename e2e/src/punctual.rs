//! Our own server, as a program.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Context;

use crate::{Beside, Cluster, process::Process, programs};

/// A hundred thousand objects are read in far less; a debug build may be this slow.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// How to start the server, alone or with everything else.
#[derive(Debug)]
pub struct Punctual {
    binary: PathBuf,
}

/// A server that nobody waited for: it may not serve yet. Dropping it kills it.
#[derive(Debug)]
pub struct Unready(#[expect(dead_code, reason = "held, not used")] Process);

impl Punctual {
    /// The program of this build, or `PUNCTUAL_BIN`; an error where it is missing or cannot serve.
    pub fn find() -> anyhow::Result<Self> {
        let this = std::env::current_exe().context("where this program is")?;
        let binary = programs::punctual(&this)?;
        let help = Command::new(&binary)
            .args(["serve", "--help"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let serves = help.is_ok_and(|status| status.success());
        anyhow::ensure!(serves, "the program punctual has no command `serve`");
        Ok(Punctual { binary })
    }

    /// Where the program is.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Starts the server with its data in a folder, which may hold those of an earlier run, and waits
    /// for the line that says where it serves.
    pub fn start(&self, folder: &Path) -> anyhow::Result<Cluster> {
        self.wait(self.command("serve", folder), folder).context("punctual serve")
    }

    /// Starts everything, `punctual up`, in the same way. Schedules are in UTC; `flags` come last.
    pub fn up(&self, folder: &Path, flags: &[String]) -> anyhow::Result<Cluster> {
        self.wait(self.up_command(folder, flags), folder).context("punctual up")
    }

    /// Starts the controller for somebody else's cluster, and waits until it says where its pages are.
    pub fn controller(
        &self,
        kubeconfig: &Path,
        folder: &Path,
        flags: &[&str],
    ) -> anyhow::Result<Beside> {
        let mut command = Command::new(&self.binary);
        command.arg("controller").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--listen=127.0.0.1:0", "--time-zone=UTC"]).args(flags);
        let word = "listening http://";
        let (process, _) = Process::start_until(&mut command, folder, word, READY_WITHIN)?;
        Ok(Beside::new(process))
    }

    /// Starts everything and does not wait.
    pub fn up_unready(&self, folder: &Path, flags: &[String]) -> anyhow::Result<Unready> {
        Process::start(self.up_command(folder, flags), folder).map(Unready)
    }

    /// Where the data are of a server that was started with a folder.
    pub fn data(folder: &Path) -> PathBuf {
        folder.join("data")
    }

    fn wait(&self, mut command: Command, folder: &Path) -> anyhow::Result<Cluster> {
        let (process, _url) = Process::start_until(&mut command, folder, "serving ", READY_WITHIN)?;
        Cluster::new("punctual", &kubeconfig(folder), vec![process])
    }

    fn up_command(&self, folder: &Path, flags: &[String]) -> Command {
        let mut command = self.command("up", folder);
        command.args(["--time-zone", "UTC"]).args(flags);
        command
    }

    fn command(&self, name: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg(name).arg("--data-dir").arg(Punctual::data(folder));
        command.args(["--listen", "127.0.0.1:0"]);
        command.arg("--kubeconfig-out").arg(kubeconfig(folder));
        command
    }
}

fn kubeconfig(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}
