//! Starts `punctual controller` with the account of the chart, and reads its log and HTTP pages.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, bail};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    ChildProcess, Client, Cluster, Punctual, client::get_page, files::crate_folder, json,
    load::connection::ConnectionTarget, probe,
};

/// The namespace of the chart's release.
pub const OWN_NAMESPACE: &str = "punctual";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);
const LOG: &str = "punctual.log";

/// Starts controllers on one cluster.
#[derive(Clone, Debug)]
pub struct ControllerLauncher {
    /// The path of the program.
    pub binary: PathBuf,
    /// The kubeconfig with the cluster and the controller's token.
    pub kubeconfig: PathBuf,
    /// The folder for logs. Each controller has a subfolder of its own.
    pub folder: PathBuf,
}

/// A running controller. Dropping it kills it.
#[derive(Debug)]
pub struct ControllerProcess {
    process: ChildProcess,
    address: String,
    log_path: PathBuf,
}

impl ControllerLauncher {
    /// Creates the controller's account on a cluster, which must not have it yet.
    pub fn with_new_account(
        cluster: &Cluster,
        punctual: &Punctual,
        folder: &Path,
    ) -> anyhow::Result<ControllerLauncher> {
        let token = create_account(&mut Client::new(cluster)?)?;
        Ok(ControllerLauncher {
            binary: punctual.binary().to_path_buf(),
            kubeconfig: cluster.kubeconfig_for("controller", &token)?,
            folder: folder.to_path_buf(),
        })
    }

    /// Starts a controller and waits until it listens. `name` is that of its log folder.
    pub fn start(&self, name: &str, flags: &[&str]) -> anyhow::Result<ControllerProcess> {
        let fixed = ["controller", "--lease-namespace", OWN_NAMESPACE, "--time-zone", "UTC"];
        self.start_with_arguments(name, fixed.iter().chain(flags))
    }

    /// Starts a controller with no other arguments than these, the kubeconfig and the listen address.
    pub fn start_with_arguments(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> anyhow::Result<ControllerProcess> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        let mut command = Command::new(&self.binary);
        command.args(arguments).arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(["--listen", "127.0.0.1:0"]);
        let (process, address) = ChildProcess::start_and_wait_for(
            &mut command,
            &folder,
            "listening http://",
            LISTEN_TIMEOUT,
        )?;
        Ok(ControllerProcess { process, address, log_path: folder.join(LOG) })
    }

    /// The name and log of every controller.
    pub fn logs(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut logs = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path().join(LOG);
            if path.exists() {
                let name = entry.file_name().to_string_lossy().into_owned();
                logs.push((name, fs::read_to_string(path)?));
            }
        }
        Ok(logs)
    }
}

impl ControllerProcess {
    /// Waits until `/readyz` returns 200.
    pub fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        probe::wait_for("the controller is ready", || {
            self.process.ensure_running()?;
            Ok(self.get("/readyz")?.0 == 200)
        })
    }

    /// Whether its metrics report that it is the leader.
    pub fn is_leader(&self) -> anyhow::Result<bool> {
        let (_, page) = self.get("/metrics")?;
        Ok(page.contains("leader_election_master_status{name=\"punctual\"} 1"))
    }

    /// Reads an HTTP page: its status and its text.
    pub fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        get_page(ConnectionTarget::plain(&self.address), path)
    }

    /// Kills the process and waits until it has ended.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()
    }

    /// Suspends the process with SIGSTOP.
    pub fn pause(&mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Resumes a suspended process.
    pub fn resume(&mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::CONT)
    }

    /// Returns an error with the end of its log if it has ended.
    pub fn ensure_running(&mut self) -> anyhow::Result<()> {
        self.process.ensure_running()
    }

    /// Sends SIGTERM and waits for a successful exit.
    pub fn stop(self) -> anyhow::Result<()> {
        self.process.stop(Duration::from_secs(15))
    }

    /// Waits until it has exited on its own, and returns its log.
    pub fn wait_until_exited(&mut self) -> anyhow::Result<String> {
        let process = &mut self.process;
        probe::wait_for("the controller has exited", || Ok(process.ensure_running().is_err()))?;
        self.log()
    }

    /// Its log, and that of earlier controllers of the same name.
    pub fn log(&self) -> anyhow::Result<String> {
        Ok(fs::read_to_string(&self.log_path)?)
    }

    /// Waits until its log contains a text.
    pub fn wait_for_log(&self, text: &str) -> anyhow::Result<()> {
        probe::wait_for(text, || Ok(self.log()?.contains(text)))
    }
}

/// Creates the controller's service account with the permissions of the chart, and returns its token.
pub fn create_account(client: &mut Client) -> anyhow::Result<String> {
    let namespace = json!({ "metadata": { "name": OWN_NAMESPACE } });
    client.create("/api/v1/namespaces", &namespace)?;
    for document in recorded_account()? {
        client.create(&collection(&document)?, &document)?;
    }
    client.service_account_token(OWN_NAMESPACE, "punctual")
}

/// The path of the collection of an object.
fn collection(document: &Value) -> anyhow::Result<String> {
    Ok(match json::text(document, "/kind") {
        "ServiceAccount" => format!("/api/v1/namespaces/{OWN_NAMESPACE}/serviceaccounts"),
        "ClusterRole" => format!("{RBAC}/clusterroles"),
        "ClusterRoleBinding" => format!("{RBAC}/clusterrolebindings"),
        "Role" => format!("{RBAC}/namespaces/{OWN_NAMESPACE}/roles"),
        "RoleBinding" => format!("{RBAC}/namespaces/{OWN_NAMESPACE}/rolebindings"),
        other => bail!("unexpected kind {other:?} in the account"),
    })
}

/// The path of the recorded account of the chart for both kinds. Tests of the controller read it, so
/// that they do not need Helm.
pub fn account_path() -> PathBuf {
    crate_folder().join("testdata/deploy/account.yaml")
}

/// The objects of the recorded account.
pub fn recorded_account() -> anyhow::Result<Vec<Value>> {
    let path = account_path();
    parse_manifests(&fs::read_to_string(&path).with_context(|| path.display().to_string())?)
}

/// Parses all documents of a YAML text.
pub fn parse_manifests(text: &str) -> anyhow::Result<Vec<Value>> {
    let is_content = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
    let texts = text.split("---\n").filter(|text| text.lines().any(is_content));
    texts.map(|text| serde_saphyr::from_str(text).with_context(|| text.to_owned())).collect()
}
