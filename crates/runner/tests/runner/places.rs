//! How many run at a time, and who is next.

use serde_json::Value;

use crate::world::{World, script};

#[tokio::test(flavor = "multi_thread")]
async fn no_more_pods_run_than_may_and_the_others_wait_visibly_and_in_order() {
    let mut world = World::without_runner(|config| config.max_pods = 1).await;
    let order = world.folder.path().join("order");
    let text = format!("echo $HOSTNAME >> {}", order.display());
    let gate = world.folder.path().join("gate");
    let first = format!("{text}; until [ -e {} ]; do sleep 0.01; done", gate.display());
    world.pod("a", script(&first)).await;
    for name in ["b", "c", "d"] {
        world.pod(name, script(&text)).await;
    }
    world.start();
    world.running("a").await;
    for name in ["b", "c", "d"] {
        let pod = world.until(name, |pod| !waiting(pod).is_null()).await;
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
        assert_eq!(world.end_of(name).await["status"]["phase"], "Succeeded");
    }
    assert_eq!(std::fs::read_to_string(order).unwrap(), "a\nb\nc\nd\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pods_in_few_places_all_end_well() {
    let world = World::with(|config| config.max_pods = 8).await;
    let names: Vec<String> = (0..60).map(|number| format!("p{number}")).collect();
    for name in &names {
        world.pod(name, script("exit 0")).await;
    }
    for name in &names {
        assert_eq!(world.end_of(name).await["status"]["phase"], "Succeeded");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_deleted_while_it_waits_goes_at_once() {
    let world = World::with(|config| config.max_pods = 1).await;
    world.pod("a", script("exec sleep 1000")).await;
    world.running("a").await;
    world.pod("b", script("true")).await;
    world.until("b", |pod| !waiting(pod).is_null()).await;
    world.delete("b", &kube::api::DeleteParams::default()).await;
    world.gone("b").await;
}

fn waiting(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["waiting"]
}
