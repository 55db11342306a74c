//! Our own server, as a program.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::Context;

use crate::{Cluster, process::Process, programs};

/// A hundred thousand objects are read in far less; a debug build may be this slow.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// How to start `punctual serve`.
#[derive(Debug)]
pub struct Punctual {
    binary: PathBuf,
}

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
        let kubeconfig = folder.join("kubeconfig");
        let mut command = Command::new(&self.binary);
        command.arg("serve").arg("--data-dir").arg(folder.join("data"));
        command.args(["--listen", "127.0.0.1:0"]);
        command.arg("--kubeconfig-out").arg(&kubeconfig);
        let (process, _url) = Process::start_until(&mut command, folder, "serving ", READY_WITHIN)
            .context("punctual serve")?;
        Cluster::new("punctual", &kubeconfig, vec![process])
    }
}
