//! How containers end and what is shown of it.

use futures::StreamExt as _;
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::world::{World, container, script, terminated};

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_and_signals_are_shown_as_kubernetes_shows_them() {
    let world = World::new().await;
    for (name, text, phase, code, signal, reason) in [
        ("good", "exit 0", "Succeeded", 0, Value::Null, "Completed"),
        ("bad", "exit 3", "Failed", 3, Value::Null, "Error"),
        ("killed", "kill -9 $$", "Failed", 137, json!(9), "Error"),
        ("term", "kill -TERM $$", "Failed", 143, json!(15), "Error"),
    ] {
        world.pod(name, script(text)).await;
        let pod = world.end_of(name).await;
        assert_eq!(pod["status"]["phase"], phase, "{name}");
        let end = terminated(&pod);
        assert_eq!(end["exitCode"], code, "{name}");
        assert_eq!(end["signal"], signal, "{name}");
        assert_eq!(end["reason"], reason, "{name}");
        assert!(end["startedAt"].is_string() && end["finishedAt"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_without_a_command_or_with_one_that_is_missing_fails_and_is_not_retried() {
    let world = World::new().await;
    let command = |command: Value| json!({"name": "c", "image": "busybox", "command": command});
    for (name, container, code, words) in [
        ("none", json!({"name": "c", "image": "busybox"}), 127, "has no command"),
        ("missing", command(json!(["/no/such/program"])), 127, "/no/such/program"),
        ("unfound", command(json!(["no-such-program", "x"])), 127, "no-such-program"),
        ("folder", command(json!(["/etc"])), 126, "/etc"),
    ] {
        let spec = json!({"restartPolicy": "OnFailure", "containers": [container]});
        world.pod(name, spec).await;
        let pod = world.end_of(name).await;
        let end = terminated(&pod);
        assert_eq!(pod["status"]["phase"], "Failed", "{name}");
        assert_eq!(pod["status"]["reason"], "ContainerCannotRun", "{name}");
        assert_eq!(end["reason"], "ContainerCannotRun", "{name}");
        assert_eq!(end["exitCode"], code, "{name}");
        assert!(end["message"].as_str().unwrap().contains(words), "{end}");
        assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0);
        assert!(world.event(name, "Failed").await.contains(words));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_words_of_a_container_become_its_message() {
    let world = World::new().await;
    world.pod("file", script("printf written > /dev/termination-log; exit 1")).await;
    let mut spec = script("echo first >&2; echo spoken >&2; exit 1");
    spec["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError".into();
    world.pod("log", spec).await;
    assert_eq!(terminated(&world.end_of("file").await)["message"], "written");
    assert_eq!(terminated(&world.end_of("log").await)["message"], "first\nspoken\n");
    assert!(!std::path::Path::new("/dev/termination-log").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_over_when_all_its_containers_are_and_fails_if_one_did() {
    let world = World::new().await;
    let containers = [container("a", "exit 0"), container("b", "exit 1")];
    world.pod("p", json!({"containers": containers})).await;
    let pod = world.end_of("p").await;
    assert_eq!(pod["status"]["phase"], "Failed");
    let statuses = pod["status"]["containerStatuses"].as_array().unwrap();
    let codes: Vec<_> =
        statuses.iter().map(|status| &status["state"]["terminated"]["exitCode"]).collect();
    assert_eq!(codes, [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_pod_costs_at_most_two_writes_and_its_conditions_tell_how_it_is() {
    let world = World::new().await;
    let seen = watcher::watch_object(world.api("Pod", "pods"), "p");
    let mut seen = std::pin::pin!(seen);
    assert_eq!(seen.next().await.unwrap().unwrap(), None);
    let uid = world.pod("p", script("exit 0")).await;
    let mut versions = 0;
    let pod = loop {
        let pod = serde_json::to_value(seen.next().await.unwrap().unwrap()).unwrap();
        versions += 1;
        if pod["status"]["phase"] == "Succeeded" {
            break pod;
        }
    };
    assert!(versions <= 3, "created, perhaps running, ended; but {versions}");
    let is = |kind: &str| {
        let conditions = pod["status"]["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|condition| condition["type"] == kind).unwrap();
        (found["status"].as_str().unwrap(), found["reason"].as_str().unwrap_or_default())
    };
    assert_eq!(is("PodScheduled"), ("True", ""));
    assert_eq!(is("Initialized"), ("True", ""));
    assert_eq!(is("Ready"), ("False", "PodCompleted"));
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["containerID"], format!("punctual://{uid}/c/0"));
    assert_eq!(status["image"], "none");
    assert_eq!(pod["status"]["podIP"], "127.0.0.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_here_is_refused_with_a_reason() {
    let world = World::new().await;
    let mut spec = script("true");
    spec["volumes"] = json!([{"name": "v", "nfs": {"server": "s", "path": "/p"}}]);
    world.pod("nfs", spec).await;
    let pod = world.end_of("nfs").await;
    assert_eq!(pod["status"]["reason"], "UnsupportedPod");
    assert_eq!(pod["status"]["message"], "volume \"v\": this kind of volume is not supported");
    let mut spec = script("true");
    spec["initContainers"] = json!([container("side", "true")]);
    spec["initContainers"][0]["restartPolicy"] = "Always".into();
    world.pod("sidecar", spec).await;
    let pod = world.end_of("sidecar").await;
    assert_eq!(pod["status"]["reason"], "ContainerCannotRun");
}
