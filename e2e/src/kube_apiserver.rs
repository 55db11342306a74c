//! The server that ours is compared with: kube-apiserver over etcd.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use crate::{
    Beside, Cluster, Programs, certificates,
    kubeconfig::{self, Access},
    probe,
    process::Process,
};

const TOKEN: &str = "e2e-admin-token";

/// Which controllers run beside kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// None: the server alone.
    None,
    /// Those that finish deletions, which our server does itself: namespaces and garbage.
    Deletion,
    /// The one that starts Jobs for CronJobs, with no limit of its own on what it asks of the server.
    CronJobs,
    /// The same as it comes: 20 requests a second, and 5 CronJobs at a time.
    CronJobsByDefault,
    /// All that a controller of CronJobs finds on a real cluster, but the one whose place it takes:
    /// Jobs become Pods, what nobody owns any more is deleted, and so is what is past its time.
    Jobs,
    /// Those of these names, as `--controllers` takes them.
    Named(&'static [&'static str]),
}

/// What lifts the limits that are meant to spare a server that others need, too.
const UNLIMITED: [&str; 4] = [
    "--kube-api-qps=5000",
    "--kube-api-burst=5000",
    "--concurrent-cron-job-syncs=64",
    "--concurrent-job-syncs=64",
];
const JOBS: [&str; 5] = [
    "job-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "ttl-after-finished-controller",
    "serviceaccount-controller",
];

impl Controllers {
    /// What to tell kube-controller-manager; none if it is not needed.
    fn flags(self) -> Option<Vec<String>> {
        let names: &[&str] = match self {
            Controllers::None => return None,
            Controllers::Deletion => &["namespace-controller", "garbage-collector-controller"],
            Controllers::CronJobs | Controllers::CronJobsByDefault => &["cronjob-controller"],
            Controllers::Jobs => &JOBS,
            Controllers::Named(names) => names,
        };
        let mut flags = vec![format!("--controllers={}", names.join(","))];
        if !matches!(self, Controllers::Deletion | Controllers::CronJobsByDefault) {
            flags.extend(UNLIMITED.map(str::to_owned));
        }
        Some(flags)
    }
}

/// How to start kube-apiserver.
#[derive(Debug)]
pub struct KubeApiServer<'a> {
    /// Where kube-apiserver and etcd are.
    pub programs: &'a Programs,
    /// Where data, keys and logs go; may hold those of an earlier run.
    pub folder: &'a Path,
    /// What runs beside it.
    pub controllers: Controllers,
}

impl KubeApiServer<'_> {
    /// An error that names the first program that is missing.
    pub fn check(&self) -> anyhow::Result<()> {
        self.programs.etcd()?;
        self.programs.path("kube-apiserver")?;
        if self.controllers.flags().is_some() {
            self.programs.path("kube-controller-manager")?;
        }
        Ok(())
    }

    /// Starts etcd and kube-apiserver on free ports of the loopback, and waits until it is ready.
    pub fn start(&self) -> anyhow::Result<Cluster> {
        fs::create_dir_all(self.folder)?;
        certificates::write(self.folder)?;
        fs::write(self.folder.join("tokens.csv"), format!("{TOKEN},admin,admin,system:masters\n"))?;
        let (etcd, store) = self.etcd()?;
        let port = free_port()?;
        let mut server = Process::start(self.server(&store, port)?, self.folder)?;
        let kubeconfig = self.kubeconfig(port)?;
        let authority = fs::read_to_string(self.folder.join("ca.crt"))?;
        probe::wait_until_ready(&format!("127.0.0.1:{port}"), &authority, || server.must_run())
            .context("kube-apiserver")?;
        let mut processes = vec![etcd, server];
        if let Some(flags) = self.controllers.flags() {
            processes.push(self.manager(&kubeconfig, &flags)?);
        }
        Cluster::new("kube-apiserver", &kubeconfig, processes)
    }

    /// Starts more controllers beside those that run.
    pub fn add(&self, cluster: &mut Cluster, controllers: Controllers) -> anyhow::Result<()> {
        let flags = controllers.flags().context("no controllers")?;
        cluster.add(self.manager(&cluster.kubeconfig, &flags)?);
        Ok(())
    }

    /// Starts controllers that are no part of the cluster.
    pub fn beside(&self, cluster: &Cluster, controllers: Controllers) -> anyhow::Result<Beside> {
        let flags = controllers.flags().context("no controllers")?;
        self.manager(&cluster.kubeconfig, &flags).map(Beside::new)
    }

    fn etcd(&self) -> anyhow::Result<(Process, String)> {
        let client = format!("http://127.0.0.1:{}", free_port()?);
        let peer = format!("http://127.0.0.1:{}", free_port()?);
        let mut command = Command::new(self.programs.etcd()?);
        command.arg("--data-dir").arg(self.folder.join("etcd"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}")]);
        // Room for a benchmark; its default of 2 GiB is full after some hundred thousand writes.
        command.args(["--quota-backend-bytes", "8589934592"]);
        Ok((Process::start(command, self.folder)?, client))
    }

    fn server(&self, store: &str, port: u16) -> anyhow::Result<Command> {
        let file = |flag: &str, name: &str| format!("{flag}={}", self.folder.join(name).display());
        let mut command = Command::new(self.programs.path("kube-apiserver")?);
        command.arg(format!("--etcd-servers={store}"));
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
        // Pods need no account here: nothing in them runs. The address is nobody's endpoint.
        command.arg("--disable-admission-plugins=ServiceAccount");
        command.arg("--endpoint-reconciler-type=none");
        // Some clusters are so strict, and then an owner that is blocked takes a right of its own.
        command.arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement");
        Ok(command)
    }

    fn kubeconfig(&self, port: u16) -> anyhow::Result<PathBuf> {
        let access = Access {
            url: format!("https://127.0.0.1:{port}"),
            token: TOKEN.to_owned(),
            authority: fs::read_to_string(self.folder.join("ca.crt"))?,
        };
        let path = self.folder.join("kubeconfig");
        kubeconfig::write(&path, &access)?;
        Ok(path)
    }

    fn manager(&self, kubeconfig: &Path, flags: &[String]) -> anyhow::Result<Process> {
        let mut command = Command::new(self.programs.path("kube-controller-manager")?);
        command.arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.args(flags);
        command.args(["--leader-elect=false", "--bind-address=127.0.0.1"]);
        command.arg(format!("--secure-port={}", free_port()?));
        command.arg(format!("--cert-dir={}", self.folder.join("generated").display()));
        Process::start(command, self.folder)
    }
}

/// A port that was free a moment ago: neither program can tell which one it took by itself.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a free port")?;
    Ok(listener.local_addr()?.port())
}
