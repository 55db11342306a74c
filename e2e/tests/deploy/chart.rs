//! Renders and installs the chart with Helm.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, ensure};
use punctual_e2e::Programs;

/// Runs Helm on the chart.
pub(super) struct Chart {
    helm: PathBuf,
    /// Helm's home folder, so that it does not read the user's settings.
    home: PathBuf,
}

/// A release of the chart.
#[derive(Clone, Debug)]
pub(super) struct ChartRelease<'a> {
    name: &'a str,
    arguments: Vec<String>,
}

impl<'a> ChartRelease<'a> {
    /// A release in the namespace of the same name, with the defaults of the chart.
    pub(super) fn new(name: &'a str) -> Self {
        let arguments = ["--namespace", name].map(str::to_owned).to_vec();
        ChartRelease { name, arguments }
    }

    pub(super) fn values(self, file: &Path) -> Self {
        self.with(["--values".to_owned(), file.display().to_string()])
    }

    pub(super) fn set(self, value: &str) -> Self {
        self.with(["--set".to_owned(), value.to_owned()])
    }

    /// Includes the CustomResourceDefinitions.
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

    /// Fails on any finding of `helm lint --strict`.
    pub(super) fn lint(&self, values: &Path) -> anyhow::Result<()> {
        let mut command = self.command();
        let output = command
            .args(["lint", "--strict"])
            .arg(chart_folder())
            .arg("--values")
            .arg(values)
            .output()?;
        stdout(&output).map(drop)
    }

    /// Renders the manifests of a release.
    pub(super) fn render(&self, release: &ChartRelease<'_>) -> anyhow::Result<String> {
        let mut command = self.command();
        command.args(["template", release.name]).arg(chart_folder()).args(&release.arguments);
        let output = command.output()?;
        ensure!(output.stderr.is_empty(), "helm: {}", String::from_utf8_lossy(&output.stderr));
        stdout(&output)
    }

    /// Installs a release on a cluster.
    pub(super) fn install(
        &self,
        release: &ChartRelease<'_>,
        kubeconfig: &Path,
    ) -> anyhow::Result<()> {
        let mut command = self.command();
        command.args(["install", release.name]).arg(chart_folder()).args(&release.arguments);
        stdout(&command.arg("--kubeconfig").arg(kubeconfig).output()?).map(drop)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.helm);
        command.env_clear().env("HOME", &self.home);
        command
    }
}

/// The standard output of Helm, or an error with all its output.
fn stdout(output: &Output) -> anyhow::Result<String> {
    ensure!(
        output.status.success(),
        "helm: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).context("helm")
}

fn chart_folder() -> PathBuf {
    super::deploy_folder().join("chart/punctual")
}
