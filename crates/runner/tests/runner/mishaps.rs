//! What should not happen, and does: mistakes of ours, and hands in our folders.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::world::{World, script, vanished};

fn until(gate: &Path) -> String {
    format!("until [ -e {} ]; do sleep 0.01; done", gate.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_worker_panics_is_taken_up_again_and_not_run_twice() {
    let has_panicked = Arc::new(AtomicBool::new(false));
    let seen = has_panicked.clone();
    let world = World::with(|config| {
        config.started = Some(Arc::new(move |_| {
            assert!(seen.swap(true, Ordering::SeqCst), "a panic that is meant to be");
        }));
    })
    .await;
    let (runs, gate) = (world.folder.path().join("runs"), world.folder.path().join("gate"));
    world.pod("p", script(&format!("echo run >> {}; {}", runs.display(), until(&gate)))).await;
    world.running("p").await;
    assert!(has_panicked.load(Ordering::SeqCst));
    std::fs::write(gate, "").unwrap();
    assert_eq!(world.end_of("p").await["status"]["phase"], "Succeeded");
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_folder_is_taken_away_while_it_runs_ends_unknown_and_leaves_its_place() {
    let world = World::with(|config| config.max_pods = 1).await;
    let gate = world.folder.path().join("gate");
    let uid = world.pod("p", script(&until(&gate))).await;
    world.running("p").await;
    std::fs::remove_dir_all(world.data().join("pods").join(&uid)).unwrap();
    std::fs::write(gate, "").unwrap();
    let pod = world.end_of("p").await;
    assert_eq!(pod["status"]["phase"], "Failed");
    assert_eq!(pod["status"]["reason"], "ContainerStatusUnknown");
    world.pod("next", script("true")).await;
    assert_eq!(world.end_of("next").await["status"]["phase"], "Succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_folder_is_taken_away_while_it_runs_can_still_be_stopped() {
    let world = World::new().await;
    let uid = world.pod("p", script("exec sleep 1000")).await;
    world.running("p").await;
    let pid = world.state(&uid)["containers"][0]["now"]["pid"].as_i64().unwrap();
    std::fs::remove_dir_all(world.data().join("pods").join(&uid)).unwrap();
    world.delete("p", &kube::api::DeleteParams::default()).await;
    vanished(pid).await;
    world.gone("p").await;
}
