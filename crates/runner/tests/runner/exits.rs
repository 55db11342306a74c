//! Tests of exit codes, messages and statuses of containers that have ended.

use futures::StreamExt as _;
use kube::runtime::watcher;
use punctual_client::resources::PODS;
use serde_json::{Value, json};

use crate::test_node::{TestNode, container, script, terminated};

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_and_signals_are_shown_as_kubernetes_shows_them() {
    let node = TestNode::new().await;
    for (name, text, phase, code, signal, reason) in [
        ("good", "exit 0", "Succeeded", 0, Value::Null, "Completed"),
        ("bad", "exit 3", "Failed", 3, Value::Null, "Error"),
        ("killed", "kill -9 $$", "Failed", 137, json!(9), "Error"),
        ("term", "kill -TERM $$", "Failed", 143, json!(15), "Error"),
    ] {
        node.create_pod(name, script(text)).await;
        let pod = node.wait_for_end(name).await;
        assert_eq!(pod["status"]["phase"], phase, "{name}");
        let end = terminated(&pod);
        assert_eq!(end["exitCode"], code, "{name}");
        assert_eq!(end["signal"], signal, "{name}");
        assert_eq!(end["reason"], reason, "{name}");
        assert!(end["startedAt"].is_string() && end["finishedAt"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_command_cannot_run_fails_and_is_not_restarted() {
    let node = TestNode::new().await;
    let command = |command: Value| json!({"name": "c", "image": "busybox", "command": command});
    for (name, container, code, message) in [
        ("none", json!({"name": "c", "image": "busybox"}), 127, "has no command"),
        ("missing", command(json!(["/no/such/program"])), 127, "/no/such/program"),
        ("unfound", command(json!(["no-such-program", "x"])), 127, "no-such-program"),
        ("folder", command(json!(["/etc"])), 126, "/etc"),
    ] {
        let spec = json!({"restartPolicy": "OnFailure", "containers": [container]});
        node.create_pod(name, spec).await;
        let pod = node.wait_for_end(name).await;
        let end = terminated(&pod);
        assert_eq!(pod["status"]["phase"], "Failed", "{name}");
        assert_eq!(pod["status"]["reason"], "ContainerCannotRun", "{name}");
        assert_eq!(end["reason"], "ContainerCannotRun", "{name}");
        assert_eq!(end["exitCode"], code, "{name}");
        assert!(end["message"].as_str().unwrap().contains(message), "{end}");
        assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0);
        assert!(node.event(name, "Failed").await.contains(message));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_termination_message_comes_from_the_file_or_the_log() {
    let node = TestNode::new().await;
    // Only root can mount a file into `/dev`; without it the variable names the file.
    let is_root = rustix::process::geteuid().is_root();
    let path = if is_root { "/dev/termination-log" } else { "$PUNCTUAL_TERMINATION_LOG" };
    node.create_pod("file", script(&format!("printf written > {path}; exit 1"))).await;
    let mut spec = script("echo first >&2; echo spoken >&2; exit 1");
    spec["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError".into();
    node.create_pod("log", spec).await;
    assert_eq!(terminated(&node.wait_for_end("file").await)["message"], "written");
    assert_eq!(terminated(&node.wait_for_end("log").await)["message"], "first\nspoken\n");
    assert!(!std::path::Path::new("/dev/termination-log").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_ends_with_its_last_container_and_fails_if_one_failed() {
    let node = TestNode::new().await;
    let containers = [container("a", "exit 0"), container("b", "exit 1")];
    node.create_pod("p", json!({"containers": containers})).await;
    let pod = node.wait_for_end("p").await;
    assert_eq!(pod["status"]["phase"], "Failed");
    let statuses = pod["status"]["containerStatuses"].as_array().unwrap();
    let codes: Vec<_> =
        statuses.iter().map(|status| &status["state"]["terminated"]["exitCode"]).collect();
    assert_eq!(codes, [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_pod_causes_at_most_two_status_writes() {
    let node = TestNode::new().await;
    let pods = watcher::watch_object(node.api(&PODS), "p");
    let mut pods = std::pin::pin!(pods);
    assert_eq!(pods.next().await.unwrap().unwrap(), None);
    let uid = node.create_pod("p", script("exit 0")).await;
    let mut versions = 0;
    let pod = loop {
        let pod = serde_json::to_value(pods.next().await.unwrap().unwrap()).unwrap();
        versions += 1;
        if pod["status"]["phase"] == "Succeeded" {
            break pod;
        }
    };
    assert!(versions <= 3, "created, perhaps running, ended; but {versions}");
    let condition = |kind: &str| {
        let conditions = pod["status"]["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|condition| condition["type"] == kind).unwrap();
        (found["status"].as_str().unwrap(), found["reason"].as_str().unwrap_or_default())
    };
    assert_eq!(condition("PodScheduled"), ("True", ""));
    assert_eq!(condition("Initialized"), ("True", ""));
    assert_eq!(condition("Ready"), ("False", "PodCompleted"));
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["containerID"], format!("punctual://{uid}/c/0"));
    assert_eq!(status["image"], "none");
    assert_eq!(pod["status"]["podIP"], "127.0.0.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_features_fail_the_pod_with_a_reason() {
    let node = TestNode::new().await;
    let mut spec = script("true");
    spec["volumes"] = json!([{"name": "v", "nfs": {"server": "s", "path": "/p"}}]);
    node.create_pod("nfs", spec).await;
    let pod = node.wait_for_end("nfs").await;
    assert_eq!(pod["status"]["reason"], "UnsupportedPod");
    assert_eq!(pod["status"]["message"], "volume \"v\": this kind of volume is not supported");
    let mut spec = script("true");
    spec["initContainers"] = json!([container("side", "true")]);
    spec["initContainers"][0]["restartPolicy"] = "Always".into();
    node.create_pod("sidecar", spec).await;
    let pod = node.wait_for_end("sidecar").await;
    assert_eq!(pod["status"]["reason"], "ContainerCannotRun");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_container_says_how_it_ended_and_what_it_printed_last() {
    let node = TestNode::new().await;
    for (name, text, message) in [
        ("code", "echo one; echo two >&2; exit 3", "exit code 3; last output:\none\ntwo"),
        ("quiet", "exit 4", "exit code 4"),
        ("signal", "kill -9 $$", "killed by signal 9 (SIGKILL)"),
    ] {
        node.create_pod(name, script(text)).await;
        let pod = node.wait_for_end(name).await;
        assert_eq!(terminated(&pod)["message"], message);
        let event = node.event(name, "Failed").await;
        assert_eq!(event, format!("Error: container \"c\" failed: {message}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_container_that_never_started_says_why() {
    let node = TestNode::new().await;
    let spec = json!({"containers": [{"name": "c", "image": "i", "command": ["no-such-program"]}]});
    let uid = node.create_pod("p", spec).await;
    node.wait_for_end("p").await;
    let error = node.log(&uid, crate::test_node::query("c")).await.unwrap_err().to_string();
    let want = "container \"c\" in pod \"p\" did not start: cannot run \"no-such-program\": no such \
        program on this machine";
    assert_eq!(error, want);
}
