//! Logs as `kubectl logs` asks for them.

use futures::StreamExt as _;
use punctual_runner::{LogError, Logs};

use crate::world::{World, query, script};

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_log_and_its_instants_can_be_asked_for() {
    let world = World::new().await;
    let uid =
        world.pod("p", script("for i in 1 2 3 4 5; do echo line $i; done; printf rest")).await;
    world.end_of("p").await;
    let tail = |lines: u64| {
        let mut query = query("c");
        query.tail_lines = Some(lines);
        query
    };
    assert_eq!(world.log(&uid, tail(2)).await.unwrap(), "line 5\nrest");
    assert_eq!(world.log(&uid, tail(0)).await.unwrap(), "");
    assert_eq!(world.log(&uid, tail(100)).await.unwrap().lines().count(), 6);
    let mut limited = query("c");
    limited.limit_bytes = Some(9);
    assert_eq!(world.log(&uid, limited).await.unwrap(), "line 1\nli");
    let mut stamped = tail(1);
    stamped.timestamps = true;
    let line = world.log(&uid, stamped).await.unwrap();
    let (at, text) = line.split_once(' ').unwrap();
    assert_eq!(text, "rest");
    let at: jiff::Timestamp = at.parse().unwrap();
    let since = |at: jiff::Timestamp| {
        let mut query = query("c");
        query.since = Some(at);
        query
    };
    assert!(world.log(&uid, since(at)).await.unwrap().ends_with("rest"));
    let later = at + jiff::SignedDuration::from_nanos(1);
    assert_eq!(world.log(&uid, since(later)).await.unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_takes_no_more_room_than_it_may() {
    let world = World::with(|config| config.log_bytes_max = 20_000).await;
    let uid = world
        .pod("p", script("seq 1 5000; head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"))
        .await;
    world.end_of("p").await;
    let folder = world.data().join("pods").join(&uid).join("logs/c");
    let sizes =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert!(
        sizes.sum::<u64>() <= 2 * (16 * 1024 + 64),
        "a piece may be larger than a file's share"
    );
    let said = world.said(&uid, "c").await;
    assert!(said.ends_with("x\nend\n"));
    assert!(!said.contains("4999"), "the oldest is dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_comes_back_in_one_piece() {
    let world = World::new().await;
    let uid = world.pod("p", script("head -c 50000 /dev/zero | tr '\\0' x; echo; echo y")).await;
    world.end_of("p").await;
    let said = world.said(&uid, "c").await;
    assert_eq!(said, format!("{}\ny\n", "x".repeat(50_000)));
    let mut tail = query("c");
    tail.tail_lines = Some(2);
    assert_eq!(world.log(&uid, tail).await.unwrap(), said);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_log_goes_on_through_rotation_until_the_container_ends() {
    let world = World::with(|config| config.log_bytes_max = 4_000).await;
    let gate = world.folder.path().join("gate");
    let text = format!(
        "echo first; until [ -e {} ]; do sleep 0.01; done; for i in $(seq 1 30); do \
        echo line $i; sleep 0.01; done; echo last",
        gate.display()
    );
    let uid = world.pod("p", script(&text)).await;
    world.running("p").await;
    let mut query = query("c");
    query.follow = true;
    let logs = Logs::new(world.data());
    let mut stream = Box::pin(logs.read(&uid, query).await.unwrap());
    let mut said = String::new();
    while said != "first\n" {
        said.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    std::fs::write(gate, "").unwrap();
    while let Some(piece) = stream.next().await {
        said.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    assert!(
        said.contains("line 1\n") && said.contains("line 30\n") && said.ends_with("last\n"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 32);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_not_there_says_why() {
    let world = World::new().await;
    let uid = world.pod("p", script("true")).await;
    world.end_of("p").await;
    let mut previous = query("c");
    previous.previous = true;
    let error = world.log(&uid, previous).await.unwrap_err();
    assert_eq!(error.to_string(), "previous terminated container \"c\" in pod \"p\" not found");
    let error = world.log(&uid, query("x")).await.unwrap_err();
    assert_eq!(error.to_string(), "container x is not valid for pod p");
    let error = world.log("never-seen", query("c")).await.unwrap_err();
    assert!(matches!(error, LogError::Waiting { .. }));
    assert!(world.log("../escape", query("c")).await.is_err());
}
