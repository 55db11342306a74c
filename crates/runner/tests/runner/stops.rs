//! Stopping: politely, then not, and leaving nothing behind.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::world::{World, container, found, script, terminated, vanished};

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_pod_is_asked_to_end_and_goes_when_it_has() {
    let world = World::new().await;
    let text = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let uid = world.pod("p", script(text)).await;
    world.running("p").await;
    said_line(&world, &uid, "ready").await;
    world.delete("p", &DeleteParams::default()).await;
    world.gone("p").await;
    assert!(world.event("p", "Killing").await.contains("Stopping"));
    folder_gone(&world, &uid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_ignores_the_polite_signal_is_killed_whole() {
    for cgroups in [true, false] {
        let world = World::with(|config| config.cgroups = cgroups).await;
        // A child that leaves session and parent behind, and a main process that does not listen.
        let text = "trap '' TERM; \
            setsid sh -c 'trap \"\" TERM; (sh -c \"trap \\\"\\\" TERM; echo \\$\\$; exec sleep 1000\") & exec sleep 1000' & \
            env -i setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & \
            echo $$; wait; sleep 1000";
        let mut spec = script(text);
        spec["terminationGracePeriodSeconds"] = 1.into();
        let uid = world.pod("p", spec).await;
        world.running("p").await;
        let pids = three_numbers(&world, &uid).await;
        world.delete("p", &DeleteParams::default()).await;
        world.gone("p").await;
        for pid in pids {
            vanished(pid).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_container_leaves_running_ends_with_it() {
    for cgroups in [true, false] {
        let world = World::with(|config| config.cgroups = cgroups).await;
        let text = "(setsid sleep 1000 > /dev/null 2>&1 & echo $!) ; exit 0";
        let uid = world.pod("p", script(text)).await;
        assert_eq!(world.end_of("p").await["status"]["phase"], "Succeeded");
        let pid = world.said(&uid, "c").await.trim().parse().unwrap();
        vanished(pid).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_container_is_not_that_of_its_namesakes() {
    let world = World::with(|config| config.cgroups = false).await;
    let gate = world.folder.path().join("gate");
    let long = format!("until [ -e {} ]; do sleep 0.01; done; echo unharmed", gate.display());
    let spec = json!({"containers": [container("c", "exit 0"), container("c2", &long)]});
    let uid = world.pod("p", spec).await;
    world.until("p", |pod| !terminated(pod).is_null()).await;
    std::fs::write(gate, "").unwrap();
    assert_eq!(world.end_of("p").await["status"]["phase"], "Succeeded");
    assert_eq!(world.said(&uid, "c2").await, "unharmed\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_deletion_can_shorten_the_grace() {
    let world = World::new().await;
    let mut spec = script("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    spec["terminationGracePeriodSeconds"] = 1000.into();
    let uid = world.pod("p", spec).await;
    world.running("p").await;
    said_line(&world, &uid, "ready").await;
    world.delete("p", &DeleteParams::default()).await;
    world.delete("p", &DeleteParams::default().grace_period(1)).await;
    world.gone("p").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_object_vanishes_is_stopped_and_its_folder_removed() {
    let world = World::new().await;
    let uid = world.pod("p", script("echo $$; exec sleep 1000")).await;
    world.running("p").await;
    let pid = world.state(&uid)["containers"][0]["now"]["pid"].as_i64().unwrap();
    world.delete("p", &DeleteParams::default().grace_period(0)).await;
    vanished(pid).await;
    folder_gone(&world, &uid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_pod_keeps_its_logs_until_it_is_deleted() {
    let world = World::new().await;
    let uid = world.pod("p", script("echo kept")).await;
    world.end_of("p").await;
    assert_eq!(world.said(&uid, "c").await, "kept\n");
    world.delete("p", &DeleteParams::default()).await;
    world.gone("p").await;
    folder_gone(&world, &uid).await;
}

/// Waits until a container has said a line.
async fn said_line(world: &World, uid: &str, wanted: &str) {
    let found = lines(world, uid, |text| text.lines().any(|line| line == wanted)).await;
    assert!(found.contains(wanted));
}

async fn three_numbers(world: &World, uid: &str) -> Vec<i64> {
    let text = lines(world, uid, |text| text.lines().count() >= 3).await;
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Follows a log until it is as wanted.
async fn lines(world: &World, uid: &str, is_enough: impl Fn(&str) -> bool) -> String {
    use futures::StreamExt as _;
    let mut query = crate::world::query("c");
    query.follow = true;
    let logs = punctual_runner::Logs::new(world.data());
    let mut stream = Box::pin(logs.read(uid, query).await.unwrap());
    let mut text = String::new();
    while !is_enough(&text) {
        let piece = stream.next().await.expect("the container says more").unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    text
}

/// Waits until a Pod's folder is gone; its removal is the last thing that is done for a Pod.
async fn folder_gone(world: &World, uid: &str) {
    let path = world.data().join("pods").join(uid);
    found(|| (!path.exists()).then_some(())).await;
    assert_eq!(world.get("p").await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_deleted_by_force_is_not_waited_for() {
    let world = World::new().await;
    let mut spec = script("trap '' TERM; echo $$; while :; do sleep 0.05; done");
    spec["terminationGracePeriodSeconds"] = 3600.into();
    let uid = world.pod("p", spec).await;
    world.running("p").await;
    let pid = lines(&world, &uid, |text| text.ends_with('\n')).await.trim().parse().unwrap();
    world.delete("p", &DeleteParams::default().grace_period(0)).await;
    vanished(pid).await;
}
