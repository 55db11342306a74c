//! Tests of resource limits with real cgroups.

use serde_json::json;

use crate::test_node::{TestNode, script, terminated};

/// Whether a controller is available to us, in version 1 or 2.
fn has_controller(name: &str) -> bool {
    let version_1 = std::path::Path::new("/sys/fs/cgroup").join(name).join("cgroup.procs");
    let version_2 =
        std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    let is_mounted = version_1.exists() || version_2.split_whitespace().any(|it| it == name);
    is_mounted && rustix::process::geteuid().is_root()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_uses_more_memory_than_its_limit_is_oom_killed() {
    if !has_controller("memory") {
        return println!("skipped: no memory controller");
    }
    let node = TestNode::new().await;
    // Remembers a line that never ends.
    let mut spec = script("exec tail /dev/zero");
    spec["containers"][0]["resources"] = json!({"limits": {"memory": "32Mi"}});
    node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    let end = terminated(&pod);
    assert_eq!((&end["reason"], &end["exitCode"]), (&json!("OOMKilled"), &json!(137)), "{pod:#}");
    let message = "killed because it used more memory than its limit";
    assert_eq!(end["message"], message);
    assert!(node.events().await.iter().all(|event| event["reason"] != "LimitsNotSet"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_cannot_start_more_processes_than_its_limit() {
    if !has_controller("pids") {
        return println!("skipped: no pids controller");
    }
    let node = TestNode::new().await;
    let text = "i=0; while [ $i -lt 20 ]; do sleep 1000 & i=$((i + 1)); echo $i; done";
    let mut spec = script(text);
    spec["containers"][0]["resources"] = json!({"limits": {"punctual.dev/pids": "5"}});
    let uid = node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    assert_eq!(pod["status"]["phase"], "Failed", "{pod:#}");
    let output = node.output(&uid, "c").await;
    assert!(output.contains("4\n") && !output.contains("6\n"), "{output}");
    assert!(node.events().await.iter().all(|event| event["reason"] != "LimitsNotSet"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_gets_the_cpu_time_of_its_limit() {
    if !has_controller("cpu") {
        return println!("skipped: no cpu controller");
    }
    let node = TestNode::new().await;
    let text = "cat /proc/self/cgroup; while [ ! -e gate ]; do :; done";
    let mut spec = script(text);
    spec["containers"][0]["resources"] = json!({"limits": {"cpu": "100m"}});
    let uid = node.create_pod("p", spec).await;
    node.wait_until_running("p").await;
    let quota = crate::test_node::poll_until_some(|| {
        let state = node.state(&uid);
        let pid = state["containers"][0]["current"]["pid"].as_i64()?;
        let cgroups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let path = |prefix: &str| {
            let ours = cgroups.lines().filter(|line| line.contains("/punctual/"));
            ours.filter_map(|line| line.split_once(prefix)).map(|(_, path)| path).next()
        };
        let version_1 =
            path("cpu:").map(|path| format!("/sys/fs/cgroup/cpu{path}/cpu.cfs_quota_us"));
        let version_2 = path("0::").map(|path| format!("/sys/fs/cgroup{path}/cpu.max"));
        let mut files = [version_1, version_2].into_iter().flatten();
        files.find_map(|file| std::fs::read_to_string(file).ok())
    })
    .await;
    assert!(quota.starts_with("10000"), "{quota}");
    let gate = node.data().join("pods").join(&uid).join("run/c/scratch/gate");
    std::fs::write(gate, "").unwrap();
    assert_eq!(node.wait_for_end("p").await["status"]["phase"], "Succeeded");
}
