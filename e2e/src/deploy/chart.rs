//! The chart, as Helm sees it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, ensure};

use crate::Programs;

/// The chart, and the Helm that is asked about it.
pub(super) struct Chart {
    helm: PathBuf,
    /// A folder for what Helm keeps, so that it finds nobody's settings.
    home: PathBuf,
}

/// What of the chart is asked for.
#[derive(Clone, Debug)]
pub(super) struct Release<'a> {
    name: &'a str,
    arguments: Vec<String>,
}

impl<'a> Release<'a> {
    /// A release in the namespace of the same name, with the defaults of the chart.
    pub(super) fn new(name: &'a str) -> Self {
        let arguments = ["--namespace", name].map(str::to_owned).to_vec();
        Release { name, arguments }
    }

    pub(super) fn values(self, file: &Path) -> Self {
        self.with(["--values".to_owned(), file.display().to_string()])
    }

    pub(super) fn set(self, value: &str) -> Self {
        self.with(["--set".to_owned(), value.to_owned()])
    }

    /// The CustomResourceDefinitions, too.
    pub(super) fn with_definitions(self) -> Self {
        self.with(["--include-crds".to_owned()])
    }

    fn with<const N: usize>(mut self, arguments: [String; N]) -> Self {
        self.arguments.extend(arguments);
        self
    }
}

impl Chart {
    pub(super) fn find(programs: &Programs, home: &Path) -> anyhow::Result<Chart> {
        Ok(Chart { helm: programs.path("helm")?, home: home.join("helm") })
    }

    /// What Helm finds fault with is an error.
    pub(super) fn lint(&self, values: &Path) -> anyhow::Result<()> {
        let mut command = self.command();
        let output = command
            .args(["lint", "--strict"])
            .arg(folder())
            .arg("--values")
            .arg(values)
            .output()?;
        said(&output).map(drop)
    }

    /// The manifests of a release.
    pub(super) fn render(&self, release: &Release<'_>) -> anyhow::Result<String> {
        let mut command = self.command();
        command.args(["template", release.name]).arg(folder()).args(&release.arguments);
        let output = command.output()?;
        ensure!(output.stderr.is_empty(), "helm: {}", String::from_utf8_lossy(&output.stderr));
        said(&output)
    }

    /// Gives a release to a cluster, as people do.
    pub(super) fn install(&self, release: &Release<'_>, kubeconfig: &Path) -> anyhow::Result<()> {
        let mut command = self.command();
        command.args(["install", release.name]).arg(folder()).args(&release.arguments);
        said(&command.arg("--kubeconfig").arg(kubeconfig).output()?).map(drop)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.helm);
        command.env_clear().env("HOME", &self.home);
        command
    }
}

fn said(output: &Output) -> anyhow::Result<String> {
    let (said, why) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "helm: {}\n{said}{why}", output.status);
    String::from_utf8(output.stdout.clone()).context("helm")
}

fn folder() -> PathBuf {
    super::deploy().join("chart/punctual")
}
