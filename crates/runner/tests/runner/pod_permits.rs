//! Tests of the maximum number of Pods that run at the same time.

use serde_json::Value;

use crate::test_node::{TestNode, script};

#[tokio::test(flavor = "multi_thread")]
async fn pods_above_the_maximum_wait_in_order_and_show_that_in_their_status() {
    let mut node = TestNode::without_runner(|options| options.runner.max_pods = 1).await;
    let order = node.folder.path().join("order");
    let text = format!("echo $HOSTNAME >> {}", order.display());
    let gate = node.folder.path().join("gate");
    let first = format!("{text}; until [ -e {} ]; do sleep 0.01; done", gate.display());
    node.create_pod("a", script(&first)).await;
    for name in ["b", "c", "d"] {
        node.create_pod(name, script(&text)).await;
    }
    node.start();
    node.wait_until_running("a").await;
    for name in ["b", "c", "d"] {
        let pod = node.wait_for(name, |pod| !waiting(pod).is_null()).await;
        assert_eq!(waiting(&pod)["reason"], "TooManyPods");
        assert_eq!(pod["status"]["phase"], "Pending");
        let scheduled = &pod["status"]["conditions"][0];
        assert_eq!(
            (&scheduled["type"], &scheduled["status"]),
            (&"PodScheduled".into(), &"True".into())
        );
    }
    std::fs::write(gate, "").unwrap();
    for name in ["b", "c", "d"] {
        assert_eq!(node.wait_for_end(name).await["status"]["phase"], "Succeeded");
    }
    assert_eq!(std::fs::read_to_string(order).unwrap(), "a\nb\nc\nd\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pods_with_few_permits_all_succeed() {
    let node = TestNode::with(|options| options.runner.max_pods = 8).await;
    let names: Vec<String> = (0..60).map(|number| format!("p{number}")).collect();
    for name in &names {
        node.create_pod(name, script("exit 0")).await;
    }
    for name in &names {
        assert_eq!(node.wait_for_end(name).await["status"]["phase"], "Succeeded");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_pod_is_deleted_at_once() {
    let node = TestNode::with(|options| options.runner.max_pods = 1).await;
    node.create_pod("a", script("exec sleep 1000")).await;
    node.wait_until_running("a").await;
    node.create_pod("b", script("true")).await;
    node.wait_for("b", |pod| !waiting(pod).is_null()).await;
    node.delete("b", &kube::api::DeleteParams::default()).await;
    node.wait_until_deleted("b").await;
}

fn waiting(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["waiting"]
}
