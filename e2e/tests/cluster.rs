//! Checks of the test cluster itself: service accounts with roles, Jobs that run, and a server that
//! survives a kill.

use std::process::ExitCode;

use anyhow::ensure;
use punctual_e2e::{
    Client, Cluster, Controllers, FakeNode, KubeApiServer, Programs,
    harness::{self, NamedCheck, TestReport},
    json, probe,
};
use serde_json::{Value, json};

const CORE: &str = "/api/v1/namespaces/default";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/// The checks in order: later ones use objects of earlier ones.
const CHECKS: [NamedCheck<Cluster>; 5] = [
    ("a service account has the permissions of its role", service_account),
    ("a Job completes, and its Pods are deleted with it", successful_job),
    ("a Job whose Pod fails has failed", failed_job),
    ("a sleeping Pod runs until it is deleted", sleeping_pod),
    ("the cluster works after each program was killed", killed_programs),
];

/// Runs the checks and returns the exit code of the test program.
fn main() -> ExitCode {
    harness::main("cluster", &[], |_, report| run(report))
}

fn run(report: &mut TestReport) -> anyhow::Result<()> {
    let programs = Programs::find();
    let home = tempfile::tempdir()?;
    let controllers = Controllers::Jobs;
    let server = KubeApiServer { programs: &programs, folder: home.path(), controllers };
    if let Err(error) = server.check() {
        report.skip("kube-apiserver", CHECKS.len(), &error);
        return Ok(());
    }
    let mut cluster = server.start()?;
    let _node = FakeNode::start(&cluster)?;
    for (name, check) in CHECKS {
        report.record(name, check(&mut cluster));
    }
    report.note(&format!("{} checks of a cluster", CHECKS.len()));
    Ok(())
}

fn service_account(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut admin = Client::new(cluster)?;
    let pods = format!("{CORE}/pods");
    admin
        .create(&format!("{CORE}/serviceaccounts"), &json!({ "metadata": { "name": "reader" } }))?;
    let token = admin.service_account_token("default", "reader")?;
    let mut reader = admin.with_token(&token)?;
    let response = reader.send("GET", &pods, None)?;
    ensure!(response.status == 403, "without a role: {}", response.status);
    admin.create(
        &format!("{RBAC}/roles"),
        &json!({
            "metadata": { "name": "reader" },
            "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }],
        }),
    )?;
    admin.create(
        &format!("{RBAC}/rolebindings"),
        &json!({
            "metadata": { "name": "reader" },
            "roleRef": { "kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io" },
            "subjects": [{ "kind": "ServiceAccount", "name": "reader", "namespace": "default" }],
        }),
    )?;
    probe::wait_for("the role is in effect", || Ok(reader.send("GET", &pods, None)?.is_success()))
}

fn successful_job(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    client.create(JOBS, &job("good", &["true"]))?;
    wait_for_condition(&mut client, "good", "Complete")?;
    let pods = pods_of(&mut client, "good")?;
    ensure!(pods.len() == 1, "{} Pods", pods.len());
    client.delete(&format!("{JOBS}/good"))?;
    probe::wait_for("the Job and its Pods are deleted", || {
        Ok(!client.exists(&format!("{JOBS}/good"))? && pods_of(&mut client, "good")?.is_empty())
    })
}

fn failed_job(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    client.create(JOBS, &job("bad", &["false"]))?;
    wait_for_condition(&mut client, "bad", "Failed")
}

fn sleeping_pod(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    client.create(JOBS, &job("slow", &["sleep", "3600"]))?;
    probe::wait_for("the Pod runs", || {
        let pods = pods_of(&mut client, "slow")?;
        Ok(pods.first().is_some_and(|pod| json::text(pod, "/status/phase") == "Running"))
    })?;
    client.delete(&format!("{JOBS}/slow"))?;
    probe::wait_for("the Pod is deleted", || Ok(pods_of(&mut client, "slow")?.is_empty()))
}

fn killed_programs(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    for program in ["kube-apiserver", "etcd", "kube-controller-manager"] {
        cluster.kill(program)?;
        // Without etcd, kube-apiserver would delay this request for half a minute.
        ensure!(
            program != "kube-apiserver" || client.get(JOBS).is_err(),
            "a killed server responds"
        );
        cluster.restart(program)?;
        let name = format!("after-{program}");
        client.create(JOBS, &job(&name, &["true"]))?;
        wait_for_condition(&mut client, &name, "Complete")?;
    }
    wait_for_condition(&mut client, "bad", "Failed")
}

fn job(name: &str, command: &[&str]) -> Value {
    let container = json!({ "name": "main", "image": "none", "command": command });
    let pod = json!({ "restartPolicy": "Never", "containers": [container] });
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name },
        "spec": { "backoffLimit": 0, "template": { "spec": pod } },
    })
}

fn wait_for_condition(client: &mut Client, name: &str, condition: &str) -> anyhow::Result<()> {
    probe::wait_for(&format!("Job {name} is {condition}"), || {
        let job = client.get(&format!("{JOBS}/{name}"))?;
        Ok(json::has_condition(&job, condition))
    })
}

fn pods_of(client: &mut Client, job: &str) -> anyhow::Result<Vec<Value>> {
    let list =
        client.get(&format!("{CORE}/pods?labelSelector=batch.kubernetes.io/job-name={job}"))?;
    Ok(json::items(&list, "/items").to_vec())
}
