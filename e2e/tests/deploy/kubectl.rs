//! Runs kubectl with strict validation and the administrator's kubeconfig.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use punctual_e2e::{Cluster, Programs};

/// kubectl with the administrator's kubeconfig.
pub(super) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    pub(super) fn new(programs: &Programs, cluster: &Cluster) -> anyhow::Result<Kubectl> {
        Ok(Kubectl { program: programs.path("kubectl")?, kubeconfig: cluster.kubeconfig.clone() })
    }

    /// Applies a file. Unknown fields and warnings of the server are errors.
    pub(super) fn apply(&self, file: &Path) -> anyhow::Result<()> {
        let flags = ["apply", "--server-side", "--validate=strict", "--warnings-as-errors", "-f"];
        self.run(&flags, file).map(drop)
    }

    /// The output of kustomize for a folder.
    pub(super) fn kustomize(&self, folder: &Path) -> anyhow::Result<String> {
        self.run(&["kustomize"], folder)
    }

    /// Runs kubectl. Any text on standard error fails the call, since warnings go there.
    fn run(&self, arguments: &[&str], path: &Path) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(arguments).arg(path);
        let output = command.output().context("kubectl")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success() && errors.is_empty(),
            "kubectl: {}\n{errors}",
            output.status
        );
        String::from_utf8(output.stdout).context("kubectl")
    }
}
