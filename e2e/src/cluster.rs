//! A running server, whichever it is.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;

use crate::{
    kubeconfig::{self, Access},
    probe,
    process::Process,
};

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

    pub(crate) fn add(&mut self, process: Process) {
        self.processes.push(process);
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

    /// Kills a program of the cluster, `kube-apiserver`, `etcd` or `kube-controller-manager`, and waits
    /// until it has ended.
    pub fn kill(&mut self, program: &str) -> anyhow::Result<()> {
        self.process(program)?.kill().with_context(|| format!("killing {program}"))
    }

    /// Starts a program again that was killed, at its old address, and waits until the server is ready.
    pub fn start_again(&mut self, program: &str) -> anyhow::Result<()> {
        let (address, authority) = (self.address().to_owned(), self.authority.clone());
        let process = self.process(program)?;
        process.start_again().with_context(|| format!("starting {program} again"))?;
        let alive = || process.must_run();
        probe::wait_until_ready(&address, &authority, alive).with_context(|| program.to_owned())
    }

    /// Writes a kubeconfig for whoever has another token, beside the administrator's.
    pub fn kubeconfig_for(&self, name: &str, token: &str) -> anyhow::Result<PathBuf> {
        self.kubeconfig_via(name, token, &self.url)
    }

    /// The same for whoever reaches the server by a detour, at another address of the loopback.
    pub fn kubeconfig_via(&self, name: &str, token: &str, url: &str) -> anyhow::Result<PathBuf> {
        let path = self.kubeconfig.with_file_name(format!("{name}.kubeconfig"));
        let (url, token) = (url.to_owned(), token.to_owned());
        kubeconfig::write(&path, &Access { url, token, authority: self.authority.clone() })?;
        Ok(path)
    }

    fn process(&mut self, program: &str) -> anyhow::Result<&mut Process> {
        let process = self.processes.iter_mut().find(|process| process.is(program));
        process.with_context(|| format!("{program} is no part of this cluster"))
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
