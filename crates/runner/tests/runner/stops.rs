//! Tests of stopping a Pod: the grace period, the kill and the removal of all remains.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::test_node::{TestNode, container, poll_until_some, script, terminated, wait_for_exit};

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_pod_gets_sigterm_and_is_deleted_when_it_has_ended() {
    let node = TestNode::new().await;
    let text = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let uid = node.create_pod("p", script(text)).await;
    node.wait_until_running("p").await;
    wait_for_line(&node, &uid, "ready").await;
    node.delete("p", &DeleteParams::default()).await;
    node.wait_until_deleted("p").await;
    assert!(node.event("p", "Killing").await.contains("Stopping"));
    wait_until_removed(&node, &uid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_tree_that_ignores_sigterm_is_killed_completely() {
    for cgroups in [true, false] {
        let node = TestNode::with(|options| options.runtime.use_cgroups = cgroups).await;
        // Children that leave the session and the parent, and a main process that ignores SIGTERM.
        let text = "trap '' TERM; \
            setsid sh -c 'trap \"\" TERM; (sh -c \"trap \\\"\\\" TERM; echo \\$\\$; exec sleep 1000\") & exec sleep 1000' & \
            env -i setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & \
            echo $$; wait; sleep 1000";
        let mut spec = script(text);
        spec["terminationGracePeriodSeconds"] = 1.into();
        let uid = node.create_pod("p", spec).await;
        node.wait_until_running("p").await;
        let pids = read_three_numbers(&node, &uid).await;
        node.delete("p", &DeleteParams::default()).await;
        node.wait_until_deleted("p").await;
        for pid in pids {
            wait_for_exit(pid).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_a_container_leaves_behind_are_killed() {
    for cgroups in [true, false] {
        let node = TestNode::with(|options| options.runtime.use_cgroups = cgroups).await;
        let text = "(setsid sleep 1000 > /dev/null 2>&1 & echo $!) ; exit 0";
        let uid = node.create_pod("p", script(text)).await;
        assert_eq!(node.wait_for_end("p").await["status"]["phase"], "Succeeded");
        let pid = node.output(&uid, "c").await.trim().parse().unwrap();
        wait_for_exit(pid).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_container_does_not_kill_one_with_a_similar_name() {
    let node = TestNode::with(|options| options.runtime.use_cgroups = false).await;
    let gate = node.folder.path().join("gate");
    let long = format!("until [ -e {} ]; do sleep 0.01; done; echo unharmed", gate.display());
    let spec = json!({"containers": [container("c", "exit 0"), container("c2", &long)]});
    let uid = node.create_pod("p", spec).await;
    node.wait_for("p", |pod| !terminated(pod).is_null()).await;
    std::fs::write(gate, "").unwrap();
    assert_eq!(node.wait_for_end("p").await["status"]["phase"], "Succeeded");
    assert_eq!(node.output(&uid, "c2").await, "unharmed\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_deletion_can_shorten_the_grace_period() {
    let node = TestNode::new().await;
    let mut spec = script("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    spec["terminationGracePeriodSeconds"] = 1000.into();
    let uid = node.create_pod("p", spec).await;
    node.wait_until_running("p").await;
    wait_for_line(&node, &uid, "ready").await;
    node.delete("p", &DeleteParams::default()).await;
    node.delete("p", &DeleteParams::default().grace_period(1)).await;
    node.wait_until_deleted("p").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_object_is_removed_is_stopped_and_its_folder_removed() {
    let node = TestNode::new().await;
    let uid = node.create_pod("p", script("echo $$; exec sleep 1000")).await;
    node.wait_until_running("p").await;
    let pid = node.state(&uid)["containers"][0]["current"]["pid"].as_i64().unwrap();
    node.delete("p", &DeleteParams::default().grace_period(0)).await;
    wait_for_exit(pid).await;
    wait_until_removed(&node, &uid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_pod_keeps_its_logs_until_it_is_deleted() {
    let node = TestNode::new().await;
    let uid = node.create_pod("p", script("echo kept")).await;
    node.wait_for_end("p").await;
    assert_eq!(node.output(&uid, "c").await, "kept\n");
    node.delete("p", &DeleteParams::default()).await;
    node.wait_until_deleted("p").await;
    wait_until_removed(&node, &uid).await;
}

/// Waits until a container has printed a line.
async fn wait_for_line(node: &TestNode, uid: &str, wanted: &str) {
    let found = follow_until(node, uid, |text| text.lines().any(|line| line == wanted)).await;
    assert!(found.contains(wanted));
}

async fn read_three_numbers(node: &TestNode, uid: &str) -> Vec<i64> {
    let text = follow_until(node, uid, |text| text.lines().count() >= 3).await;
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Follows a log until it matches a condition.
async fn follow_until(node: &TestNode, uid: &str, is_match: impl Fn(&str) -> bool) -> String {
    use futures::StreamExt as _;
    let mut query = crate::test_node::query("c");
    query.follow = true;
    let logs = punctual_runner::Logs::new(node.data());
    let mut stream = Box::pin(logs.read(uid, query).await.unwrap());
    let mut text = String::new();
    while !is_match(&text) {
        let chunk = stream.next().await.expect("more output").unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    text
}

/// Waits until a Pod's folder is removed, which is the last step of its worker.
async fn wait_until_removed(node: &TestNode, uid: &str) {
    let path = node.data().join("pods").join(uid);
    poll_until_some(|| (!path.exists()).then_some(())).await;
    assert_eq!(node.get("p").await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_deleted_by_force_is_killed_soon() {
    let node = TestNode::new().await;
    let mut spec = script("trap '' TERM; echo $$; while :; do sleep 0.05; done");
    spec["terminationGracePeriodSeconds"] = 3600.into();
    let uid = node.create_pod("p", spec).await;
    node.wait_until_running("p").await;
    let pid = follow_until(&node, &uid, |text| text.ends_with('\n')).await.trim().parse().unwrap();
    node.delete("p", &DeleteParams::default().grace_period(0)).await;
    wait_for_exit(pid).await;
}

/// A process without the mark of its container, in a session of its own, whose parent has exited.
const ESCAPED: &str = "env -i setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000";

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_that_hangs_is_killed_with_all_its_processes_after_the_grace_period() {
    for cgroups in [true, false] {
        let node = TestNode::with(|options| {
            options.runtime.use_cgroups = cgroups;
            options.runtime.kill_delay = std::time::Duration::from_millis(200);
        })
        .await;
        let uid = node.create_pod("p", script(ESCAPED)).await;
        node.wait_until_running("p").await;
        let text = follow_until(&node, &uid, |text| text.ends_with('\n')).await;
        let state = node.state(&uid);
        let pid = state["containers"][0]["current"]["pid"].as_i64().unwrap();
        crate::test_node::kill(state["supervisorPid"].as_i64().unwrap(), "STOP");
        node.delete("p", &DeleteParams::default().grace_period(1)).await;
        node.wait_until_deleted("p").await;
        wait_for_exit(pid).await;
        wait_for_exit(text.trim().parse().unwrap()).await;
    }
}

/// The variable that is set in the process of the following test.
const ALONE: &str = "PUNCTUAL_TEST_ALONE";

/// Runs in a process of its own: the daemon takes children that it did not start for orphans of Pods.
#[tokio::test(flavor = "multi_thread")]
async fn no_process_of_a_pod_survives_when_the_pod_kills_its_supervisor() {
    if std::env::var_os(ALONE).is_none() {
        let name = "stops::no_process_of_a_pod_survives_when_the_pod_kills_its_supervisor";
        let mut test = tokio::process::Command::new(std::env::current_exe().unwrap());
        let output = test.args(["--exact", name]).env(ALONE, "1").output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let node = TestNode::with(|options| {
        options.runtime.use_cgroups = false;
        options.runtime.adopt_orphans = true;
    })
    .await;
    let other = node.create_pod("other", script("echo $$; exec sleep 1000")).await;
    node.wait_until_running("other").await;
    let text = "(env -i setsid sh -c 'echo $$; (sleep 1001 &); exec sleep 1000' &); \
        until [ -e gate ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000";
    let uid = node.create_pod("p", script(text)).await;
    node.wait_until_running("p").await;
    let pid: i64 =
        follow_until(&node, &uid, |text| text.ends_with('\n')).await.trim().parse().unwrap();
    std::fs::write(node.data().join("pods").join(&uid).join("run/c/scratch/gate"), "").unwrap();
    let pod = node.wait_for_end("p").await;
    assert_eq!(terminated(&pod)["reason"], "ContainerStatusUnknown", "{pod:#}");
    assert!(!is_running(pid), "the process was killed before the Pod's end was reported");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "and waited for");
    let supervisor = node.state(&other)["supervisorPid"].as_i64().unwrap();
    assert!(is_running(supervisor), "other supervisors are not harmed");
    assert_eq!(node.get("other").await["status"]["phase"], "Running");
}

/// Whether a process exists and has not exited.
fn is_running(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}
