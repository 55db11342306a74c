//! The chart installed on a cluster, and the service account of its Pods.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use punctual_e2e::{Client, Cluster, Programs, controller::parse_manifests, json};
use serde_json::Value;

use super::chart::{Chart, ChartRelease};

/// An installed release. No Pods run, but tests can start the program with the same arguments.
#[derive(Debug)]
pub(crate) struct InstalledChart {
    /// The namespace of the release.
    pub(crate) namespace: String,
    /// The name of the Pods' service account.
    pub(crate) account: String,
    /// A kubeconfig with a token of that account.
    pub(crate) kubeconfig: PathBuf,
    /// The arguments of the container, beginning with `controller`.
    pub(crate) arguments: Vec<String>,
}

impl InstalledChart {
    /// Installs the chart with values as YAML. Release and namespace have the same name; the namespace
    /// must exist.
    pub(crate) fn new(
        programs: &Programs,
        cluster: &Cluster,
        release: &str,
        values: &str,
    ) -> anyhow::Result<InstalledChart> {
        let folder = cluster.kubeconfig.parent().unwrap_or(Path::new("."));
        let file = folder.join(format!("{release}.values.yaml"));
        fs::write(&file, values)?;
        let chart = Chart::find(programs, folder)?;
        let release = ChartRelease::new(release).values(&file);
        chart.install(&release, &cluster.kubeconfig)?;
        let rendered = parse_manifests(&chart.render(&release)?)?;
        let deployment = rendered.iter().find(|it| json::text(it, "/kind") == "Deployment");
        Self::from_deployment(cluster, deployment.context("the chart has no Deployment")?)
    }

    fn from_deployment(cluster: &Cluster, deployment: &Value) -> anyhow::Result<InstalledChart> {
        let namespace = json::text(deployment, "/metadata/namespace").to_owned();
        let account = json::text(deployment, "/spec/template/spec/serviceAccountName").to_owned();
        let token = Client::new(cluster)?.service_account_token(&namespace, &account)?;
        let kubeconfig = cluster.kubeconfig_for(&format!("{namespace}.{account}"), &token)?;
        let arguments = json::items(deployment, "/spec/template/spec/containers/0/args");
        let arguments = arguments.iter().filter_map(Value::as_str);
        // The kubelet expands this variable.
        let arguments = arguments.map(|it| it.replace("$(POD_NAMESPACE)", &namespace)).collect();
        Ok(InstalledChart { namespace, account, kubeconfig, arguments })
    }
}
