//! Tests of what is left after a loss of power: another boot ID, and states that are old, damaged or missing.

use std::path::Path;

use serde_json::{Value, json};

use crate::supervisors::{change_plan, pod_folder, scratch, start, state};
use crate::test_node::{TestNode, script, terminated};

fn set_boot_id(folder: &Path, boot_id: &str) {
    change_plan(folder, |plan| plan["bootId"] = boot_id.into());
}

fn current_boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned()
}

#[test]
fn a_program_that_may_have_run_before_a_restart_of_the_machine_is_not_run_again() {
    let waiting = json!({"state": "Waiting", "reason": "ContainerCreating", "message": ""});
    for container in [None, Some(waiting), Some(json!({"state": "Starting"}))] {
        let (_data, folder) = pod_folder("echo run >> runs");
        set_boot_id(&folder, "earlier");
        if let Some(current) = container {
            let state = json!({"supervisorPid": 1, "startedAt": "2026-11-18T16:35:05Z",
                "phase": "Running", "stopReason": null, "warnings": [],
                "containers": [{"name": "c", "isInit": false, "current": current,
                    "lastTermination": null, "restarts": 0}]});
            std::fs::write(folder.join("state.json"), format!("{state}\n")).unwrap();
        }
        assert!(start(&folder).wait().unwrap().success());
        let state = state(&folder);
        assert_eq!(state["phase"], "Failed", "{state:#}");
        assert_eq!(state["containers"][0]["current"]["reason"], "ContainerStatusUnknown");
        assert!(!scratch(&folder, "runs").exists());
    }
}

#[test]
fn a_pod_that_was_prepared_in_this_boot_is_started() {
    let (_data, folder) = pod_folder("echo run >> runs");
    set_boot_id(&folder, &current_boot_id());
    assert!(start(&folder).wait().unwrap().success());
    assert_eq!(state(&folder)["phase"], "Succeeded");
    assert_eq!(std::fs::read_to_string(scratch(&folder, "runs")).unwrap(), "run\n");
}

/// Makes a folder look as after a loss of power. Returns the number of runs.
async fn run_and_lose(lose: impl Fn(&Path)) -> (Value, String) {
    let mut node = TestNode::new().await;
    let runs = node.folder.path().join("runs");
    let uid = node.create_pod("p", script(&format!("echo run >> {}", runs.display()))).await;
    assert_eq!(node.wait_for_end("p").await["status"]["phase"], "Succeeded");
    node.stop().await;
    let pods = node.data().join("pods");
    let log = std::fs::read_to_string(pods.join(".started")).unwrap();
    std::fs::write(pods.join(".started"), log.replace(&current_boot_id(), "earlier")).unwrap();
    lose(&pods.join(&uid));
    node.start();
    // The runner handles Pods in the order of their age.
    node.create_pod("later", script("true")).await;
    node.wait_for_end("later").await;
    let pod = node.get("p").await;
    (pod, std::fs::read_to_string(runs).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_end_the_api_has_is_not_started_again_whatever_is_left_of_its_folder() {
    let losses: [fn(&Path); 4] = [
        |folder| std::fs::remove_dir_all(folder).unwrap(),
        |folder| std::fs::remove_file(folder.join("state.json")).unwrap(),
        |folder| std::fs::write(folder.join("state.json"), "").unwrap(),
        |folder| {
            std::fs::write(folder.join("pod.json"), "").unwrap();
            std::fs::remove_file(folder.join("state.json")).unwrap();
        },
    ];
    for (number, lose) in losses.into_iter().enumerate() {
        let lose_in_earlier_boot = |folder: &Path| {
            set_boot_id(folder, "earlier");
            lose(folder);
        };
        let (pod, runs) = run_and_lose(lose_in_earlier_boot).await;
        assert_eq!(runs, "run\n", "{number}");
        assert_eq!(pod["status"]["phase"], "Succeeded", "{number}");
        assert_eq!(terminated(&pod)["exitCode"], 0, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_pod_without_usable_data_fails_and_a_pod_without_a_record_is_started() {
    let mut node = TestNode::new().await;
    node.stop().await;
    let lost = node.create_pod("lost", script("true")).await;
    let torn = node.create_pod("torn", script("true")).await;
    let new = node.create_pod("new", script("true")).await;
    let pods = node.data().join("pods");
    std::fs::write(pods.join(".started"), format!("boot earlier\n+{lost}\n+{torn}\n")).unwrap();
    for uid in [&torn, &new] {
        std::fs::create_dir(pods.join(uid)).unwrap();
        std::fs::write(pods.join(uid).join("pod.json"), "{\"uid\":").unwrap();
    }
    node.start();
    for name in ["lost", "torn"] {
        let status = node.wait_for_end(name).await["status"].clone();
        assert_eq!(
            (&status["phase"], &status["reason"]),
            (&json!("Failed"), &json!("ContainerStatusUnknown"))
        );
    }
    assert_eq!(node.wait_for_end("new").await["status"]["phase"], "Succeeded");
}
