//! kubectl, as strict as it can be told to be.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};

use crate::{Cluster, Programs};

/// kubectl with the rights of an administrator.
pub(super) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    pub(super) fn new(programs: &Programs, cluster: &Cluster) -> anyhow::Result<Kubectl> {
        Ok(Kubectl { program: programs.path("kubectl")?, kubeconfig: cluster.kubeconfig.clone() })
    }

    /// Applies a file. A field that is not known is an error, and so is anything that the server warns of.
    pub(super) fn apply(&self, file: &Path) -> anyhow::Result<()> {
        let flags = ["apply", "--server-side", "--validate=strict", "--warnings-as-errors", "-f"];
        self.run(&flags, file).map(drop)
    }

    /// What kustomize makes of a folder.
    pub(super) fn kustomize(&self, folder: &Path) -> anyhow::Result<String> {
        self.run(&["kustomize"], folder)
    }

    /// Whatever is said apart from the result is an error, too: that is where warnings go.
    fn run(&self, arguments: &[&str], path: &Path) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(arguments).arg(path);
        let output = command.output().context("kubectl")?;
        let why = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && why.is_empty(), "kubectl: {}\n{why}", output.status);
        String::from_utf8(output.stdout).context("kubectl")
    }
}
