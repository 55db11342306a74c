//! Daemons come and go; Pods stay.

use crate::world::{World, found, kill, script, terminated, vanished};

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_comes_back_finds_its_pods_running_and_learns_how_others_ended() {
    let mut world = World::new().await;
    let gate = world.folder.path().join("gate");
    let runs = world.folder.path().join("runs");
    let text = |code: u8| {
        format!(
            "echo $HOSTNAME >> {}; until [ -e {} ]; do sleep 0.01; done; exit {code}",
            runs.display(),
            gate.display()
        )
    };
    let long = world
        .pod("long", script(&format!("echo $HOSTNAME >> {}; exec sleep 1000", runs.display())))
        .await;
    let short = world.pod("short", script(&text(5))).await;
    world.running("long").await;
    world.running("short").await;
    world.event("long", "Started").await;
    world.event("short", "Started").await;
    let before = world.state(&long);
    world.stop().await;
    let supervisor = world.state(&short)["supervisor"].as_i64().unwrap();
    std::fs::write(gate, "").unwrap();
    vanished(supervisor).await;
    world.start();
    let pod = world.end_of("short").await;
    assert_eq!(terminated(&pod)["exitCode"], 5);
    assert_eq!(world.state(&long), before, "the other one was left alone");
    world.delete("long", &kube::api::DeleteParams::default()).await;
    world.gone("long").await;
    let mut started: Vec<String> =
        std::fs::read_to_string(runs).unwrap().lines().map(str::to_owned).collect();
    started.sort();
    assert_eq!(started, ["long", "short"], "each was started once");
    let starts = world.events().await;
    let starts = starts.iter().filter(|event| event["reason"] == "Started").count();
    assert_eq!(starts, 2, "and told once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_that_is_killed_takes_its_containers_along_and_is_replaced() {
    for cgroups in [true, false] {
        let world = World::with(|config| config.cgroups = cgroups).await;
        let runs = world.folder.path().join("runs");
        let text = format!("echo run >> {}; setsid sleep 1000 & exec sleep 1000", runs.display());
        let uid = world.pod("p", script(&text)).await;
        world.running("p").await;
        let state = world.state(&uid);
        let main = state["containers"][0]["now"]["pid"].as_i64().unwrap();
        kill(state["supervisor"].as_i64().unwrap(), "KILL");
        let pod = world.end_of("p").await;
        assert_eq!(pod["status"]["phase"], "Failed");
        assert_eq!(terminated(&pod)["reason"], "ContainerStatusUnknown");
        assert_eq!(terminated(&pod)["exitCode"], 137);
        vanished(main).await;
        assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n", "it is not run again");
        assert_eq!(marked(&uid), 0, "nothing of it is left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_whose_supervisor_was_killed_is_restarted_if_it_is_to_be() {
    let world = World::new().await;
    let gate = world.folder.path().join("gate");
    let text = format!("[ -e {0} ] && exit 0; touch {0}; exec sleep 1000", gate.display());
    let mut spec = script(&text);
    spec["restartPolicy"] = "OnFailure".into();
    let uid = world.pod("p", spec).await;
    world.running("p").await;
    found(|| gate.exists().then_some(())).await;
    kill(world.state(&uid)["supervisor"].as_i64().unwrap(), "KILL");
    let pod = world.end_of("p").await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(status["restartCount"], 1);
    assert_eq!(status["lastState"]["terminated"]["reason"], "ContainerStatusUnknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_went_while_no_daemon_was_there_are_stopped_and_removed() {
    let mut world = World::new().await;
    let uid = world.pod("p", script("exec sleep 1000")).await;
    world.running("p").await;
    let pid = world.state(&uid)["containers"][0]["now"]["pid"].as_i64().unwrap();
    world.stop().await;
    world.delete("p", &kube::api::DeleteParams::default().grace_period(0)).await;
    world.start();
    vanished(pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_ran_and_whose_folder_is_lost_is_not_run_again() {
    let mut world = World::new().await;
    let uid = world.pod("p", script("exec sleep 1000")).await;
    world.running("p").await;
    let state = world.state(&uid);
    world.stop().await;
    kill(state["supervisor"].as_i64().unwrap(), "KILL");
    vanished(state["supervisor"].as_i64().unwrap()).await;
    std::fs::remove_dir_all(world.data().join("pods").join(&uid)).unwrap();
    world.start();
    let pod = world.end_of("p").await;
    assert_eq!(pod["status"]["reason"], "ContainerStatusUnknown");
}

/// How many processes of a Pod there are.
fn marked(uid: &str) -> usize {
    let wanted = format!("PUNCTUAL_CONTAINER={uid}/");
    let environs = std::fs::read_dir("/proc").unwrap().flatten();
    let environs = environs.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environs.filter(|text| text.windows(wanted.len()).any(|part| part == wanted.as_bytes())).count()
}
