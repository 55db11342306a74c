//! Tests of Pods: they run as processes, have logs, and survive the process that started them.

use kube::api::PostParams;
use serde_json::json;

use crate::program::{TestHome, api, log, run_pod, wait_for_phase, wait_for_status};

#[tokio::test]
async fn a_pod_runs_and_its_log_can_be_read() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    run_pod(&client, "prints", "echo one; echo two; exit 3").await;
    let pod = wait_for_phase(&client, "prints", "Failed").await;
    let ended = &pod.data["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(ended["exitCode"], 3);
    assert_eq!(log(&client, "prints/log").await.unwrap(), "one\ntwo\n");
    assert_eq!(log(&client, "prints/log?tailLines=1").await.unwrap(), "two\n");
    assert_eq!(log(&client, "prints/log?sinceSeconds=600").await.unwrap(), "one\ntwo\n");
    let refused = log(&client, "prints/log?previous=true").await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 400), "{refused}");
    up.stop();
}

/// Returns a script that prints `one`, waits for a file, and prints `two`.
fn waits_for(home: &TestHome) -> String {
    let signal = home.path().join("signal");
    format!("echo one; while [ ! -e {} ]; do sleep 0.1; done; echo two", signal.display())
}

#[tokio::test]
async fn a_pod_keeps_running_without_the_program_and_is_managed_again_after_a_restart() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    run_pod(&client, "stays", &waits_for(&home)).await;
    wait_for_phase(&client, "stays", "Running").await;
    let output = up.stop();
    let want = "stopped; 1 Pod keeps running, and the next `punctual up` manages it";
    assert_eq!(output.lines().last(), Some(want), "{output}");

    let up = home.start(&[]);
    let client = home.client().await;
    wait_for_phase(&client, "stays", "Running").await;
    // The Pod ends while the program is not running.
    up.kill();
    home.write("signal", "");
    let up = home.start(&[]);
    let client = home.client().await;
    let pod = wait_for_phase(&client, "stays", "Succeeded").await;
    assert_eq!(pod.data["status"]["containerStatuses"][0]["restartCount"], 0);
    assert_eq!(log(&client, "stays/log").await.unwrap(), "one\ntwo\n");
    up.stop();
}

#[tokio::test]
async fn pods_above_the_limit_wait() {
    let home = TestHome::new();
    let up = home.start(&["--max-pods", "1"]);
    let client = home.client().await;
    run_pod(&client, "first", &waits_for(&home)).await;
    wait_for_phase(&client, "first", "Running").await;
    run_pod(&client, "second", "true").await;
    wait_for_phase(&client, "second", "Pending").await;
    home.write("signal", "");
    wait_for_phase(&client, "first", "Succeeded").await;
    wait_for_phase(&client, "second", "Succeeded").await;
    up.stop();
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_reported_at_once_and_by_the_job() {
    let home = TestHome::new();
    let mut up = home.start(&[]);
    let client = home.client().await;
    // The lines report only what happens after the first list.
    run_pod(&client, "first", "true").await;
    wait_for_phase(&client, "first", "Succeeded").await;
    let container = json!({"name": "c", "image": "any", "command": ["no-such-program"]});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "wrong"},
        "spec": {"backoffLimit": 1, "template": template}});
    let jobs = api(&client, "batch/v1", "Job");
    jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    let want = "cannot run \"no-such-program\": no such program on this machine";
    let problem = up.lines.find(|line| line.as_ref().unwrap().contains(" problem: "));
    let problem = problem.unwrap().unwrap();
    assert!(problem.contains("default/wrong") && problem.contains(want), "{problem}");
    let job = wait_for_status(jobs, "wrong", |status| status["failed"] == 2).await;
    let status = job.data["status"].to_string();
    let failed = up.lines.find(|line| line.as_ref().unwrap().contains(" failed after "));
    let failed = failed.unwrap().unwrap();
    assert!(failed.contains("BackoffLimitExceeded") && failed.contains(want), "{failed} {status}");
    up.stop();
}

#[tokio::test]
async fn the_log_of_a_pod_that_waits_for_a_secret_says_so() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    let container = json!({"name": "c", "image": "any", "command": ["true"],
        "envFrom": [{"secretRef": {"name": "none"}}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits"},
        "spec": {"restartPolicy": "Never", "containers": [container]}});
    let pods = api(&client, "v1", "Pod");
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let is_waiting = |status: &serde_json::Value| {
        let waiting = &status["containerStatuses"][0]["state"]["waiting"];
        waiting["reason"] == "CreateContainerConfigError"
    };
    wait_for_status(pods, "waits", is_waiting).await;
    let error = log(&client, "waits/log").await.unwrap_err().to_string();
    assert!(error.contains("secret \"none\" not found"), "{error}");
    up.stop();
}
