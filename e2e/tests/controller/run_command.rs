//! Checks of `punctual run` on a cluster of Kubernetes' own programs.

use std::process::Command;

use anyhow::ensure;
use punctual_e2e::{Cluster, Punctual, controller::OWN_NAMESPACE};

/// A time that no test reaches, so that nothing starts.
const AT: [&str; 2] = ["--at", "2090-01-31T08:00:00Z"];

/// Checks the errors on a cluster without the definition of ScheduledJobs.
pub(super) fn check_errors(cluster: &Cluster, punctual: &Punctual) -> anyhow::Result<()> {
    let (_, stderr) = run(cluster, punctual, &["--every", "1h"])?;
    ensure!(stderr.contains("set --image: the cluster at https://"), "{stderr}");
    let (_, stderr) = run(cluster, punctual, &[&AT[..], &["--image", "busybox"]].concat())?;
    let wanted = "does not serve punctual.dev/v1 scheduledjobs; install their definition with";
    ensure!(stderr.contains(wanted), "{stderr}");
    Ok(())
}

/// Checks that kube-apiserver accepts both kinds.
pub(super) fn check_created(cluster: &Cluster, punctual: &Punctual) -> anyhow::Result<()> {
    let image = ["--image", "busybox", "--namespace", OWN_NAMESPACE];
    let (stdout, stderr) = run(cluster, punctual, &[&AT[..], &image].concat())?;
    ensure!(stdout.starts_with("scheduledjob.punctual.dev/true created\n"), "{stderr}");
    let yearly = ["--schedule", "@yearly", "--concurrency-policy", "Replace"];
    let (stdout, stderr) = run(cluster, punctual, &[&yearly[..], &image].concat())?;
    ensure!(stdout.starts_with("cronjob.batch/true created\n"), "{stderr}");
    Ok(())
}

/// Runs the command and returns standard output and standard error.
fn run(cluster: &Cluster, punctual: &Punctual, args: &[&str]) -> anyhow::Result<(String, String)> {
    let mut command = Command::new(punctual.binary());
    command.arg("run").args(args).arg("--kubeconfig").arg(&cluster.kubeconfig);
    let output = command.args(["--", "true"]).output()?;
    Ok((String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}
