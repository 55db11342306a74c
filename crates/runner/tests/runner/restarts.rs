//! Tests of restarts, init containers and deadlines.

use serde_json::json;

use crate::test_node::{TestNode, container, query, script, terminated};

/// A script that counts its runs in its working directory, which the container keeps.
const COUNT: &str = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo run $n";

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_container_is_restarted_until_it_succeeds() {
    // Long enough for the daemon to see a container that waits.
    let node = TestNode::with(|options| options.runtime.restart_backoff.first_ms = 300).await;
    let mut spec = script(&format!("{COUNT}; [ $n -ge 4 ]"));
    spec["restartPolicy"] = "OnFailure".into();
    let uid = node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    assert_eq!(pod["status"]["phase"], "Succeeded");
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], 3);
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
    assert_eq!(node.output(&uid, "c").await, "run 4\n");
    let mut previous = query("c");
    previous.previous = true;
    assert_eq!(node.log(&uid, previous).await.unwrap(), "run 3\n");
    let logs = std::fs::read_dir(node.data().join("pods").join(&uid).join("logs/c")).unwrap();
    assert_eq!(logs.count(), 2, "only the last two runs are kept");
    assert!(node.event("p", "BackOff").await.contains("restarting failed container"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_with_policy_always_is_restarted_with_backoff() {
    let node = TestNode::with(|options| options.runtime.restart_backoff.first_ms = 3_600_000).await;
    let mut spec = script("exit 0");
    spec["restartPolicy"] = "Always".into();
    node.create_pod("p", spec).await;
    let pod = node
        .wait_for("p", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
                == "CrashLoopBackOff"
        })
        .await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], 1, "the first restart is immediate, the second is delayed");
    assert_eq!(status["lastState"]["terminated"]["reason"], "Completed");
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(status["ready"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn init_containers_run_in_order_before_the_other_containers() {
    let node = TestNode::new().await;
    let mut spec = script("cat /punctual-work/order");
    spec["volumes"] = json!([{"name": "w", "emptyDir": {}}]);
    let mount = json!([{"name": "w", "mountPath": "/punctual-work"}]);
    let init = |name: &str| {
        let mut init = container(name, &format!("echo {name} >> /punctual-work/order"));
        init["volumeMounts"] = mount.clone();
        init
    };
    spec["initContainers"] = json!([init("first"), init("second")]);
    spec["containers"][0]["volumeMounts"] = mount.clone();
    let uid = node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(node.output(&uid, "c").await, "first\nsecond\n");
    let init = &pod["status"]["initContainerStatuses"];
    assert_eq!(init[1]["state"]["terminated"]["reason"], "Completed");
    assert_eq!(init[1]["ready"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_init_container_fails_the_pod_or_is_restarted() {
    let node = TestNode::new().await;
    let mut spec = script("echo never");
    spec["initContainers"] = json!([container("i", "exit 7")]);
    node.create_pod("never", spec.clone()).await;
    let pod = node.wait_for_end("never").await;
    assert_eq!(pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 7);
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["reason"], "PodInitializing");
    spec["restartPolicy"] = "OnFailure".into();
    spec["initContainers"] = json!([container("i", &format!("{COUNT}; [ $n -ge 2 ]"))]);
    node.create_pod("again", spec).await;
    let pod = node.wait_for_end("again").await;
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(pod["status"]["initContainerStatuses"][0]["restartCount"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_stopped_at_its_active_deadline() {
    let node = TestNode::new().await;
    let mut spec = script("exec sleep 1000");
    spec["activeDeadlineSeconds"] = 1.into();
    node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    assert_eq!(pod["status"]["phase"], "Failed");
    assert_eq!(pod["status"]["reason"], "DeadlineExceeded");
    assert_eq!(terminated(&pod)["exitCode"], 143);
}
