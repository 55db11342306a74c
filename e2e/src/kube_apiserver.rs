//! Kubernetes' own server: kube-apiserver with etcd and, if wanted, kube-controller-manager.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use crate::{
    ChildProcess, Cluster, Programs, certificates,
    kubeconfig::{self, ClusterCredentials},
    probe,
};

const TOKEN: &str = "e2e-admin-token";

/// The controllers that run with kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// No controllers.
    None,
    /// The namespace, garbage collection and quota controllers. `punctual` does their work itself.
    Base,
    /// The CronJob controller, with high request and concurrency limits.
    CronJobs,
    /// The CronJob controller with its defaults: 20 requests a second, 5 CronJobs at a time.
    CronJobsByDefault,
    /// The controllers that a CronJob controller needs on a cluster: Jobs, garbage collection,
    /// namespaces, TTL and service accounts.
    Jobs,
    /// The controllers with these names, as in `--controllers`.
    Named(&'static [&'static str]),
}

/// Flags that raise the limits of kube-controller-manager.
const HIGH_LIMITS: [&str; 4] = [
    "--kube-api-qps=5000",
    "--kube-api-burst=5000",
    "--concurrent-cron-job-syncs=64",
    "--concurrent-job-syncs=64",
];
const JOB_CONTROLLERS: [&str; 5] = [
    "job-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "ttl-after-finished-controller",
    "serviceaccount-controller",
];

impl Controllers {
    /// The flags of kube-controller-manager; `None` if it is not needed.
    fn flags(self) -> Option<Vec<String>> {
        let names: &[&str] = match self {
            Controllers::None => return None,
            Controllers::Base => &[
                "namespace-controller",
                "garbage-collector-controller",
                "resourcequota-controller",
            ],
            Controllers::CronJobs | Controllers::CronJobsByDefault => &["cronjob-controller"],
            Controllers::Jobs => &JOB_CONTROLLERS,
            Controllers::Named(names) => names,
        };
        let mut flags = vec![format!("--controllers={}", names.join(","))];
        if !matches!(self, Controllers::Base | Controllers::CronJobsByDefault) {
            flags.extend(HIGH_LIMITS.map(str::to_owned));
        }
        Some(flags)
    }
}

/// Starts kube-apiserver.
#[derive(Debug)]
pub struct KubeApiServer<'a> {
    /// Finds kube-apiserver and etcd.
    pub programs: &'a Programs,
    /// The folder for data, keys and logs. It may have those of an earlier run.
    pub folder: &'a Path,
    /// The controllers to start.
    pub controllers: Controllers,
}

impl KubeApiServer<'_> {
    /// Returns an error that names the first missing program.
    pub fn check(&self) -> anyhow::Result<()> {
        self.programs.etcd()?;
        self.programs.path("kube-apiserver")?;
        if self.controllers.flags().is_some() {
            self.programs.path("kube-controller-manager")?;
        }
        Ok(())
    }

    /// Starts etcd and kube-apiserver on free ports of the loopback interface and waits until the server
    /// is ready.
    pub fn start(&self) -> anyhow::Result<Cluster> {
        fs::create_dir_all(self.folder)?;
        certificates::write(self.folder)?;
        fs::write(self.folder.join("tokens.csv"), format!("{TOKEN},admin,admin,system:masters\n"))?;
        let (etcd, store_url) = self.start_etcd()?;
        let port = free_port()?;
        let mut server = ChildProcess::start(self.server_command(&store_url, port)?, self.folder)?;
        let kubeconfig = self.write_kubeconfig(port)?;
        let authority = fs::read_to_string(self.folder.join("ca.crt"))?;
        probe::wait_until_ready(&format!("127.0.0.1:{port}"), &authority, || {
            server.ensure_running()
        })
        .context("kube-apiserver")?;
        let mut processes = vec![etcd, server];
        if let Some(flags) = self.controllers.flags() {
            processes.push(self.start_manager(&kubeconfig, &flags)?);
        }
        Cluster::new("kube-apiserver", &kubeconfig, processes)
    }

    /// Starts more controllers as a part of the cluster.
    pub fn add(&self, cluster: &mut Cluster, controllers: Controllers) -> anyhow::Result<()> {
        let flags = controllers.flags().context("no controllers")?;
        cluster.add(self.start_manager(&cluster.kubeconfig, &flags)?);
        Ok(())
    }

    /// Starts controllers that are not a part of the cluster.
    pub fn start_controllers(
        &self,
        cluster: &Cluster,
        controllers: Controllers,
    ) -> anyhow::Result<ChildProcess> {
        let flags = controllers.flags().context("no controllers")?;
        self.start_manager(&cluster.kubeconfig, &flags)
    }

    fn start_etcd(&self) -> anyhow::Result<(ChildProcess, String)> {
        let client = format!("http://127.0.0.1:{}", free_port()?);
        let peer = format!("http://127.0.0.1:{}", free_port()?);
        let mut command = Command::new(self.programs.etcd()?);
        command.arg("--data-dir").arg(self.folder.join("etcd"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}")]);
        // The default of 2 GiB is full after some hundred thousand writes of a benchmark.
        command.args(["--quota-backend-bytes", "8589934592"]);
        Ok((ChildProcess::start(command, self.folder)?, client))
    }

    fn server_command(&self, store_url: &str, port: u16) -> anyhow::Result<Command> {
        let file = |flag: &str, name: &str| format!("{flag}={}", self.folder.join(name).display());
        let mut command = Command::new(self.programs.path("kube-apiserver")?);
        command.arg(format!("--etcd-servers={store_url}"));
        command.args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"]);
        command.arg(format!("--secure-port={port}"));
        command.arg(file("--tls-cert-file", "server.crt"));
        command.arg(file("--tls-private-key-file", "server.key"));
        command.arg(file("--cert-dir", "generated"));
        command.arg(file("--service-account-signing-key-file", "accounts.key"));
        command.arg(file("--service-account-key-file", "accounts.pub"));
        command.arg("--service-account-issuer=https://kubernetes.default.svc");
        command.arg(file("--token-auth-file", "tokens.csv"));
        command.args(["--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24"]);
        // No Pod runs, so none needs a service account, and no Service needs this server's endpoint.
        command.arg("--disable-admission-plugins=ServiceAccount");
        command.arg("--endpoint-reconciler-type=none");
        // Strict clusters require the permission `update` on `finalizers` for blockOwnerDeletion.
        command.arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement");
        Ok(command)
    }

    fn write_kubeconfig(&self, port: u16) -> anyhow::Result<PathBuf> {
        let credentials = ClusterCredentials {
            url: format!("https://127.0.0.1:{port}"),
            token: TOKEN.to_owned(),
            authority: fs::read_to_string(self.folder.join("ca.crt"))?,
        };
        let path = self.folder.join("kubeconfig");
        kubeconfig::write(&path, &credentials)?;
        Ok(path)
    }

    fn start_manager(&self, kubeconfig: &Path, flags: &[String]) -> anyhow::Result<ChildProcess> {
        let mut command = Command::new(self.programs.path("kube-controller-manager")?);
        command.arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.args(flags);
        command.args(["--leader-elect=false", "--bind-address=127.0.0.1"]);
        command.arg(format!("--secure-port={}", free_port()?));
        command.arg(format!("--cert-dir={}", self.folder.join("generated").display()));
        command.arg(format!("--root-ca-file={}", self.folder.join("ca.crt").display()));
        ChildProcess::start(command, self.folder)
    }
}

/// Returns a port that was free a moment ago. Neither program can report a port that it chose itself.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a free port")?;
    Ok(listener.local_addr()?.port())
}
