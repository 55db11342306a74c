//! A running server, whichever it is.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{kubeconfig, process::Process};

/// A running server and what a client needs to reach it. Dropping it ends its processes.
#[derive(Debug)]
pub struct Cluster {
    /// `kube-apiserver` or `punctual`.
    pub name: &'static str,
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    /// A file that kubectl understands, with the token of an administrator.
    pub kubeconfig: PathBuf,
    /// The token of an administrator.
    pub token: String,
    /// The authority that signed the server's certificate, as PEM.
    pub authority: String,
    processes: Vec<Process>,
}

impl Cluster {
    pub(crate) fn new(
        name: &'static str,
        kubeconfig: &Path,
        processes: Vec<Process>,
    ) -> anyhow::Result<Self> {
        let access = kubeconfig::read(kubeconfig)?;
        Ok(Cluster {
            name,
            url: access.url,
            kubeconfig: kubeconfig.to_path_buf(),
            token: access.token,
            authority: access.authority,
            processes,
        })
    }

    /// The processes of the server and its store; what they use together is what the server uses.
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(Process::pid).collect()
    }

    /// Asks the processes to end, one after the other, and waits until they have: an error if one does
    /// not within a time, or not well. Those that did not are killed.
    pub fn stop(mut self, within: Duration) -> anyhow::Result<()> {
        while let Some(process) = self.processes.pop() {
            process.stop(within)?;
        }
        Ok(())
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("https://").unwrap_or(&self.url)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The last one started first: a server without its store would fill its log with complaints.
        while let Some(process) = self.processes.pop() {
            drop(process);
        }
    }
}
