//! The chart on a cluster, and the account that its Pods would have.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde_json::Value;

use super::{
    chart::{Chart, Release},
    documents,
};
use crate::{Client, Cluster, Programs};

/// What Helm installed. No Pods run, but a program can be started in their place.
#[derive(Debug)]
pub struct Installed {
    /// The namespace of the release.
    pub namespace: String,
    /// The name of the account of the Pods.
    pub account: String,
    /// A file with a token of that account, and so with the rights of the chart and no others.
    pub kubeconfig: PathBuf,
    /// The arguments of the container, the command `controller` first.
    pub arguments: Vec<String>,
}

impl Installed {
    /// Installs the chart, with values as YAML, as a release of this name into the namespace of this
    /// name, which must be there.
    pub fn new(
        programs: &Programs,
        cluster: &Cluster,
        release: &str,
        values: &str,
    ) -> anyhow::Result<Installed> {
        let folder = cluster.kubeconfig.parent().unwrap_or(Path::new("."));
        let file = folder.join(format!("{release}.values.yaml"));
        fs::write(&file, values)?;
        let (chart, release) =
            (Chart::find(programs, folder)?, Release::new(release).values(&file));
        chart.install(&release, &cluster.kubeconfig)?;
        let rendered = documents::parse(&chart.render(&release)?)?;
        let deployment = rendered.iter().find(|it| text(it, "/kind") == Some("Deployment"));
        Self::of(cluster, deployment.context("the chart has no Deployment")?)
    }

    fn of(cluster: &Cluster, deployment: &Value) -> anyhow::Result<Installed> {
        let text = |pointer| text(deployment, pointer).context(pointer).map(str::to_owned);
        let namespace = text("/metadata/namespace")?;
        let account = text("/spec/template/spec/serviceAccountName")?;
        let token = Client::new(cluster)?.token(&namespace, &account)?;
        let kubeconfig = cluster.kubeconfig_for(&format!("{namespace}.{account}"), &token)?;
        let arguments = deployment.pointer("/spec/template/spec/containers/0/args");
        let arguments = arguments.and_then(Value::as_array).context("no arguments")?;
        let arguments = arguments.iter().filter_map(Value::as_str);
        // As the kubelet would, which knows where the Pod is.
        let arguments = arguments.map(|it| it.replace("$(POD_NAMESPACE)", &namespace)).collect();
        Ok(Installed { namespace, account, kubeconfig, arguments })
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}
