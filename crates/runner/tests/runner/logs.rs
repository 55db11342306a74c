//! Tests of logs as `kubectl logs` requests them.

use futures::StreamExt as _;
use punctual_runner::{LogError, Logs};

use crate::test_node::{TestNode, query, script};

#[tokio::test(flavor = "multi_thread")]
async fn tail_limit_timestamps_and_since_select_parts_of_a_log() {
    let node = TestNode::new().await;
    let uid = node
        .create_pod("p", script("for i in 1 2 3 4 5; do echo line $i; done; printf rest"))
        .await;
    node.wait_for_end("p").await;
    let tail = |lines: u64| {
        let mut query = query("c");
        query.tail_lines = Some(lines);
        query
    };
    assert_eq!(node.log(&uid, tail(2)).await.unwrap(), "line 5\nrest");
    assert_eq!(node.log(&uid, tail(0)).await.unwrap(), "");
    assert_eq!(node.log(&uid, tail(100)).await.unwrap().lines().count(), 6);
    let mut limited = query("c");
    limited.limit_bytes = Some(9);
    assert_eq!(node.log(&uid, limited).await.unwrap(), "line 1\nli");
    let mut stamped = tail(1);
    stamped.timestamps = true;
    let line = node.log(&uid, stamped).await.unwrap();
    let (at, text) = line.split_once(' ').unwrap();
    assert_eq!(text, "rest");
    let at: jiff::Timestamp = at.parse().unwrap();
    let since = |at: jiff::Timestamp| {
        let mut query = query("c");
        query.since = Some(at);
        query
    };
    assert!(node.log(&uid, since(at)).await.unwrap().ends_with("rest"));
    let later = at + jiff::SignedDuration::from_nanos(1);
    assert_eq!(node.log(&uid, since(later)).await.unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_takes_no_more_than_its_maximum_size() {
    let node = TestNode::with(|options| options.runtime.log_bytes_max = 20_000).await;
    let uid = node
        .create_pod(
            "p",
            script("seq 1 5000; head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"),
        )
        .await;
    node.wait_for_end("p").await;
    let folder = node.data().join("pods").join(&uid).join("logs/c");
    let sizes =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert!(
        sizes.sum::<u64>() <= 2 * (16 * 1024 + 64),
        "a part may be larger than half of the maximum"
    );
    let output = node.output(&uid, "c").await;
    assert!(output.ends_with("x\nend\n"));
    assert!(!output.contains("4999"), "the oldest lines are dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_is_returned_unsplit() {
    let node = TestNode::new().await;
    let uid =
        node.create_pod("p", script("head -c 50000 /dev/zero | tr '\\0' x; echo; echo y")).await;
    node.wait_for_end("p").await;
    let output = node.output(&uid, "c").await;
    assert_eq!(output, format!("{}\ny\n", "x".repeat(50_000)));
    let mut tail = query("c");
    tail.tail_lines = Some(2);
    assert_eq!(node.log(&uid, tail).await.unwrap(), output);
}

#[tokio::test(flavor = "multi_thread")]
async fn following_a_log_continues_across_rotations_until_the_container_ends() {
    let node = TestNode::with(|options| options.runtime.log_bytes_max = 4_000).await;
    let gate = node.folder.path().join("gate");
    let text = format!(
        "echo first; until [ -e {} ]; do sleep 0.01; done; for i in $(seq 1 30); do \
        echo line $i; sleep 0.01; done; echo last",
        gate.display()
    );
    let uid = node.create_pod("p", script(&text)).await;
    node.wait_until_running("p").await;
    let mut query = query("c");
    query.follow = true;
    let logs = Logs::new(node.data());
    let mut stream = Box::pin(logs.read(&uid, query).await.unwrap());
    let mut output = String::new();
    while output != "first\n" {
        output.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    std::fs::write(gate, "").unwrap();
    while let Some(chunk) = stream.next().await {
        output.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
    }
    assert!(
        output.contains("line 1\n") && output.contains("line 30\n") && output.ends_with("last\n"),
        "{output}"
    );
    assert_eq!(output.lines().count(), 32);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_for_a_missing_log_gives_the_reason() {
    let node = TestNode::new().await;
    let uid = node.create_pod("p", script("true")).await;
    node.wait_for_end("p").await;
    let mut previous = query("c");
    previous.previous = true;
    let error = node.log(&uid, previous).await.unwrap_err();
    assert_eq!(error.to_string(), "previous terminated container \"c\" in pod \"p\" not found");
    let error = node.log(&uid, query("x")).await.unwrap_err();
    assert_eq!(error.to_string(), "container x is not valid for pod p");
    let error = node.log("never-seen", query("c")).await.unwrap_err();
    assert!(matches!(error, LogError::Waiting { .. }));
    assert!(node.log("../escape", query("c")).await.is_err());
}
