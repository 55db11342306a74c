//! A running API server, kube-apiserver or ours, with the data that clients need to reach it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;

use crate::{
    ChildProcess,
    kubeconfig::{self, ClusterCredentials},
    probe,
};

/// A running server and the data that clients need to reach it. Dropping it ends its processes.
#[derive(Debug)]
pub struct Cluster {
    /// `kube-apiserver` or `punctual`.
    pub name: &'static str,
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    /// A kubeconfig file with the token of an administrator.
    pub kubeconfig: PathBuf,
    /// The token of an administrator.
    pub token: String,
    /// The authority that signed the server's certificate, as PEM.
    pub authority: String,
    processes: Vec<ChildProcess>,
}

impl Cluster {
    pub(crate) fn new(
        name: &'static str,
        kubeconfig: &Path,
        processes: Vec<ChildProcess>,
    ) -> anyhow::Result<Self> {
        let credentials = kubeconfig::read(kubeconfig)?;
        Ok(Cluster {
            name,
            url: credentials.url,
            kubeconfig: kubeconfig.to_path_buf(),
            token: credentials.token,
            authority: credentials.authority,
            processes,
        })
    }

    pub(crate) fn add(&mut self, process: ChildProcess) {
        self.processes.push(process);
    }

    /// The process IDs of the server, its store and its controllers.
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(ChildProcess::pid).collect()
    }

    /// Stops the processes one after the other, the last started first.
    ///
    /// Returns an error if one fails or does not end in time; the remaining ones are killed.
    pub fn stop(mut self, timeout: Duration) -> anyhow::Result<()> {
        while let Some(process) = self.processes.pop() {
            process.stop(timeout)?;
        }
        Ok(())
    }

    /// Kills a program of the cluster and waits until it has ended: `kube-apiserver`, `etcd` or
    /// `kube-controller-manager`.
    pub fn kill(&mut self, program: &str) -> anyhow::Result<()> {
        self.process(program)?.kill().with_context(|| format!("killing {program}"))
    }

    /// Starts a killed program again at its old address and waits until the server is ready.
    pub fn restart(&mut self, program: &str) -> anyhow::Result<()> {
        let address = self.address().to_owned();
        let authority = self.authority.clone();
        let process = self.process(program)?;
        process.restart().with_context(|| format!("restarting {program}"))?;
        probe::wait_until_ready(&address, &authority, || process.ensure_running())
            .with_context(|| program.to_owned())
    }

    /// Writes a kubeconfig with another token next to the administrator's.
    pub fn kubeconfig_for(&self, name: &str, token: &str) -> anyhow::Result<PathBuf> {
        self.kubeconfig_via(name, token, &self.url)
    }

    /// Like `kubeconfig_for`, with the URL of a proxy on the loopback interface.
    pub fn kubeconfig_via(&self, name: &str, token: &str, url: &str) -> anyhow::Result<PathBuf> {
        let path = self.kubeconfig.with_file_name(format!("{name}.kubeconfig"));
        let credentials = ClusterCredentials {
            url: url.to_owned(),
            token: token.to_owned(),
            authority: self.authority.clone(),
        };
        kubeconfig::write(&path, &credentials)?;
        Ok(path)
    }

    fn process(&mut self, program: &str) -> anyhow::Result<&mut ChildProcess> {
        let process = self.processes.iter_mut().find(|process| process.is_program(program));
        process.with_context(|| format!("this cluster has no {program}"))
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("https://").unwrap_or(&self.url)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The store was started first and ends last: a server without it fills its log with errors.
        while let Some(process) = self.processes.pop() {
            drop(process);
        }
    }
}
