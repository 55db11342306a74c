//! Pods run as processes, are heard, and outlive the process that started them.

use crate::program::{TestHome, log, phase, run_pod};

#[tokio::test]
async fn a_pod_runs_and_its_log_can_be_read() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    run_pod(&client, "speaks", "echo one; echo two; exit 3").await;
    let pod = phase(&client, "speaks", "Failed").await;
    let ended = &pod.data["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(ended["exitCode"], 3);
    assert_eq!(log(&client, "speaks/log").await.unwrap(), "one\ntwo\n");
    assert_eq!(log(&client, "speaks/log?tailLines=1").await.unwrap(), "two\n");
    assert_eq!(log(&client, "speaks/log?sinceSeconds=600").await.unwrap(), "one\ntwo\n");
    let refused = log(&client, "speaks/log?previous=true").await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 400), "{refused}");
    up.stop();
}

/// A script that says something, waits for a file, and says something else.
fn waits_for(home: &TestHome) -> String {
    let signal = home.path().join("signal");
    format!("echo one; while [ ! -e {} ]; do sleep 0.1; done; echo two", signal.display())
}

#[tokio::test]
async fn a_pod_runs_on_while_nobody_is_there_and_is_taken_on_again() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    run_pod(&client, "stays", &waits_for(&home)).await;
    phase(&client, "stays", "Running").await;
    let output = up.stop();
    let want = "stopped; 1 Pod runs on, and the next `punctual up` takes it on";
    assert_eq!(output.lines().last(), Some(want), "{output}");

    let up = home.start(&[]);
    let client = home.client().await;
    phase(&client, "stays", "Running").await;
    // This one is not asked, and the Pod ends while nobody is there.
    up.kill();
    home.write("signal", "");
    let up = home.start(&[]);
    let client = home.client().await;
    let pod = phase(&client, "stays", "Succeeded").await;
    assert_eq!(pod.data["status"]["containerStatuses"][0]["restartCount"], 0);
    assert_eq!(log(&client, "stays/log").await.unwrap(), "one\ntwo\n");
    up.stop();
}

#[tokio::test]
async fn pods_beyond_the_bound_wait_for_their_turn() {
    let home = TestHome::new();
    let up = home.start(&["--max-pods", "1"]);
    let client = home.client().await;
    run_pod(&client, "first", &waits_for(&home)).await;
    phase(&client, "first", "Running").await;
    run_pod(&client, "second", "true").await;
    phase(&client, "second", "Pending").await;
    home.write("signal", "");
    phase(&client, "first", "Succeeded").await;
    phase(&client, "second", "Succeeded").await;
    up.stop();
}
