//! Whether the cluster that tests are given is one: accounts with rights, Jobs that run, and a server
//! that can be killed.

use std::process::ExitCode;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::{
    Client, Cluster, Controllers, FakeNode, KubeApiServer, Programs, probe,
    suite::{self, Tally},
};

const CORE: &str = "/api/v1/namespaces/default";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/// What is checked, in order: the later ones need what the earlier ones made.
const CHECKS: [(&str, Check); 5] = [
    ("a service account may do what its role says", account),
    ("a Job runs and goes with its Pods", success),
    ("a Job whose Pod fails has failed", failure),
    ("a Pod that sleeps runs until it is deleted", sleep),
    ("all goes on after any program was killed", killed),
];

type Check = fn(&mut Cluster) -> anyhow::Result<()>;

/// Checks it; the exit code of a test program.
pub fn main() -> ExitCode {
    suite::main("cluster", |_, tally| run(tally))
}

fn run(tally: &mut Tally) -> anyhow::Result<()> {
    let (programs, home) = (Programs::find(), tempfile::tempdir()?);
    let folder = home.path();
    let server = KubeApiServer { programs: &programs, folder, controllers: Controllers::Jobs };
    if let Err(error) = server.check() {
        tally.skip("kube-apiserver", CHECKS.len(), &error);
        return Ok(());
    }
    let mut cluster = server.start()?;
    let _node = FakeNode::start(&cluster)?;
    for (name, check) in CHECKS {
        match check(&mut cluster) {
            Ok(()) => tally.pass(),
            Err(error) => tally.fail(name, &format!("{error:#}\n")),
        }
    }
    tally.note(&format!("{} checks of a cluster", CHECKS.len()));
    Ok(())
}

fn account(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut admin = Client::new(cluster)?;
    let pods = format!("{CORE}/pods");
    admin
        .create(&format!("{CORE}/serviceaccounts"), &json!({ "metadata": { "name": "reader" } }))?;
    let token = admin.token("default", "reader")?;
    let mut reader = admin.with_token(&token);
    let answer = reader.send("GET", &pods, None)?;
    ensure!(answer.status == 403, "without a role: {}", answer.status);
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
    probe::until("the role holds", || {
        Ok(reader.send("GET", &pods, None)?.is_success().then_some(()))
    })
}

fn success(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    client.create(JOBS, &job("good", &["true"]))?;
    until_condition(&mut client, "good", "Complete")?;
    let pods = pods_of(&mut client, "good")?;
    ensure!(pods.len() == 1, "{} Pods", pods.len());
    client.delete(&format!("{JOBS}/good"))?;
    probe::until("the Job and its Pods are gone", || {
        let is_gone = !client.exists(&format!("{JOBS}/good"))?;
        Ok((is_gone && pods_of(&mut client, "good")?.is_empty()).then_some(()))
    })
}

fn failure(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    client.create(JOBS, &job("bad", &["false"]))?;
    until_condition(&mut client, "bad", "Failed")
}

fn sleep(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    client.create(JOBS, &job("slow", &["sleep", "3600"]))?;
    probe::until("the Pod runs", || {
        let pods = pods_of(&mut client, "slow")?;
        let phase = pods.first().and_then(|pod| pod.pointer("/status/phase"));
        Ok((phase.and_then(Value::as_str) == Some("Running")).then_some(()))
    })?;
    client.delete(&format!("{JOBS}/slow"))?;
    probe::until("the Pod is gone", || Ok(pods_of(&mut client, "slow")?.is_empty().then_some(())))
}

fn killed(cluster: &mut Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    for program in ["kube-apiserver", "etcd", "kube-controller-manager"] {
        cluster.kill(program)?;
        // Without its store the server would think about this for half a minute.
        ensure!(program != "kube-apiserver" || client.get(JOBS).is_err(), "a dead server answers");
        cluster.start_again(program)?;
        let name = format!("after-{program}");
        client.create(JOBS, &job(&name, &["true"]))?;
        until_condition(&mut client, &name, "Complete")?;
    }
    until_condition(&mut client, "bad", "Failed")
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

fn until_condition(client: &mut Client, name: &str, wanted: &str) -> anyhow::Result<()> {
    probe::until(&format!("Job {name} is {wanted}"), || {
        let job = client.get(&format!("{JOBS}/{name}"))?;
        let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        let is_it = conditions.any(|condition| {
            let text = |key: &str| condition.get(key).and_then(Value::as_str);
            text("type") == Some(wanted) && text("status") == Some("True")
        });
        Ok(is_it.then_some(()))
    })
}

fn pods_of(client: &mut Client, job: &str) -> anyhow::Result<Vec<Value>> {
    let list =
        client.get(&format!("{CORE}/pods?labelSelector=batch.kubernetes.io/job-name={job}"))?;
    let items = list.get("items").and_then(Value::as_array);
    Ok(items.cloned().unwrap_or_default())
}
