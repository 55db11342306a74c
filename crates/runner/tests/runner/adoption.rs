//! Tests of Pods that outlive their daemon or their supervisor.

use crate::test_node::{TestNode, kill, poll_until_some, script, terminated, wait_for_exit};

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_daemon_attaches_to_running_pods_and_reports_ended_ones() {
    let mut node = TestNode::new().await;
    let gate = node.folder.path().join("gate");
    let runs = node.folder.path().join("runs");
    let text = |code: u8| {
        format!(
            "echo $HOSTNAME >> {}; until [ -e {} ]; do sleep 0.01; done; exit {code}",
            runs.display(),
            gate.display()
        )
    };
    let long = node
        .create_pod(
            "long",
            script(&format!("echo $HOSTNAME >> {}; exec sleep 1000", runs.display())),
        )
        .await;
    let short = node.create_pod("short", script(&text(5))).await;
    node.wait_until_running("long").await;
    node.wait_until_running("short").await;
    node.event("long", "Started").await;
    node.event("short", "Started").await;
    let before = node.state(&long);
    node.stop().await;
    let supervisor = node.state(&short)["supervisorPid"].as_i64().unwrap();
    std::fs::write(gate, "").unwrap();
    wait_for_exit(supervisor).await;
    node.start();
    let pod = node.wait_for_end("short").await;
    assert_eq!(terminated(&pod)["exitCode"], 5);
    assert_eq!(node.state(&long), before, "the running Pod was not touched");
    node.delete("long", &kube::api::DeleteParams::default()).await;
    node.wait_until_deleted("long").await;
    let mut started: Vec<String> =
        std::fs::read_to_string(runs).unwrap().lines().map(str::to_owned).collect();
    started.sort();
    assert_eq!(started, ["long", "short"], "each Pod was started once");
    let starts = node.events().await;
    let starts = starts.iter().filter(|event| event["reason"] == "Started").count();
    assert_eq!(starts, 2, "each start was reported once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_supervisor_is_replaced_and_its_containers_are_killed() {
    for cgroups in [true, false] {
        let node = TestNode::with(|options| options.runtime.use_cgroups = cgroups).await;
        let runs = node.folder.path().join("runs");
        let text = format!("echo run >> {}; setsid sleep 1000 & exec sleep 1000", runs.display());
        let uid = node.create_pod("p", script(&text)).await;
        node.wait_until_running("p").await;
        let state = node.state(&uid);
        let main = state["containers"][0]["current"]["pid"].as_i64().unwrap();
        kill(state["supervisorPid"].as_i64().unwrap(), "KILL");
        let pod = node.wait_for_end("p").await;
        assert_eq!(pod["status"]["phase"], "Failed");
        assert_eq!(terminated(&pod)["reason"], "ContainerStatusUnknown");
        assert_eq!(terminated(&pod)["exitCode"], 137);
        wait_for_exit(main).await;
        assert_eq!(
            std::fs::read_to_string(runs).unwrap(),
            "run\n",
            "the container is not run again"
        );
        assert_eq!(count_processes(&uid), 0, "no process of the Pod is left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_whose_supervisor_was_killed_is_restarted_by_its_policy() {
    let node = TestNode::new().await;
    let gate = node.folder.path().join("gate");
    let text = format!("[ -e {0} ] && exit 0; touch {0}; exec sleep 1000", gate.display());
    let mut spec = script(&text);
    spec["restartPolicy"] = "OnFailure".into();
    let uid = node.create_pod("p", spec).await;
    node.wait_until_running("p").await;
    poll_until_some(|| gate.exists().then_some(())).await;
    kill(node.state(&uid)["supervisorPid"].as_i64().unwrap(), "KILL");
    let pod = node.wait_for_end("p").await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(status["restartCount"], 1);
    assert_eq!(status["lastState"]["terminated"]["reason"], "ContainerStatusUnknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_were_deleted_while_no_daemon_ran_are_stopped() {
    let mut node = TestNode::new().await;
    let uid = node.create_pod("p", script("exec sleep 1000")).await;
    node.wait_until_running("p").await;
    let pid = node.state(&uid)["containers"][0]["current"]["pid"].as_i64().unwrap();
    node.stop().await;
    node.delete("p", &kube::api::DeleteParams::default().grace_period(0)).await;
    node.start();
    wait_for_exit(pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_folder_was_lost_is_not_started_again() {
    let mut node = TestNode::new().await;
    let uid = node.create_pod("p", script("exec sleep 1000")).await;
    node.wait_until_running("p").await;
    let state = node.state(&uid);
    node.stop().await;
    kill(state["supervisorPid"].as_i64().unwrap(), "KILL");
    wait_for_exit(state["supervisorPid"].as_i64().unwrap()).await;
    std::fs::remove_dir_all(node.data().join("pods").join(&uid)).unwrap();
    node.start();
    let pod = node.wait_for_end("p").await;
    assert_eq!(pod["status"]["reason"], "ContainerStatusUnknown");
}

/// The number of processes of a Pod.
fn count_processes(uid: &str) -> usize {
    let wanted = format!("PUNCTUAL_CONTAINER={uid}/");
    let environs = std::fs::read_dir("/proc").unwrap().flatten();
    let environs = environs.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environs.filter(|text| text.windows(wanted.len()).any(|part| part == wanted.as_bytes())).count()
}
