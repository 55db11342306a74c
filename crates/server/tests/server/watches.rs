//! Tests of watches: events, bookmarks, expiry and shutdown.

use punctual_store::Options;
use serde_json::{Value, json};

use crate::client::{CRON_JOBS, TestServer, cron_job};

fn event(event_type: &str, name: &str) -> (String, String) {
    (event_type.to_owned(), name.to_owned())
}

#[tokio::test]
async fn a_watch_sends_existing_objects_and_then_changes() {
    let server = TestServer::new().await;
    let client = server.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    let mut watch = client.watch(&format!("{CRON_JOBS}?watch=true")).await;
    assert_eq!(watch.event().await, event("ADDED", "a"));
    client.post(CRON_JOBS, &cron_job("b")).await;
    client.merge(&format!("{CRON_JOBS}/a"), &json!({"spec": {"suspend": true}})).await;
    client.delete(&format!("{CRON_JOBS}/b")).await;
    for want in [event("ADDED", "b"), event("MODIFIED", "a"), event("DELETED", "b")] {
        assert_eq!(watch.event().await, want);
    }
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let server = TestServer::new().await;
    let client = server.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    let query = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let mut watch = client.watch(&format!("{CRON_JOBS}?{query}")).await;
    assert_eq!(watch.event().await, event("ADDED", "a"));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let revision = bookmark["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(revision, server.store.revision().to_string());
}

#[tokio::test]
async fn a_watch_times_out_with_a_bookmark_of_the_latest_revision() {
    let server = TestServer::new().await;
    let client = server.admin();
    let from = server.store.revision();
    let query =
        format!("watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={from}");
    let watch = client.watch(&format!("/api/v1/pods?{query}")).await;
    client.post(CRON_JOBS, &cron_job("a")).await;
    let lines = watch.collect().await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    let revision = lines[0]["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(revision, server.store.revision().to_string());
}

#[tokio::test(start_paused = true)]
async fn a_watch_lasts_at_most_an_hour_whatever_the_client_asks_for() {
    let server = TestServer::new().await;
    let client = server.admin();
    for seconds in ["3601", "2147483648", "18446744073709551", "9223372036854775807"] {
        let start = tokio::time::Instant::now();
        let query = format!("watch=true&timeoutSeconds={seconds}");
        let watch = client.watch(&format!("/api/v1/pods?{query}")).await;
        assert_eq!(watch.collect().await, Vec::<Value>::new(), "{seconds}");
        assert_eq!(start.elapsed().as_secs(), 3600, "{seconds}");
    }
}

#[tokio::test]
async fn watches_from_unknown_versions_end_with_expired() {
    let options = Options { history_changes_max: 2, ..Options::default() };
    let server = TestServer::with(options, |_| {}).await;
    let client = server.admin();
    for name in ["a", "b", "c", "d"] {
        client.post(CRON_JOBS, &cron_job(name)).await;
    }
    for version in ["1", "999999"] {
        let watch =
            client.watch(&format!("{CRON_JOBS}?watch=true&resourceVersion={version}")).await;
        let lines = watch.collect().await;
        assert_eq!(lines.len(), 1, "{version}");
        assert_eq!(
            (&lines[0]["type"], &lines[0]["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
    }
}

#[tokio::test]
async fn slow_clients_are_disconnected_without_buffering_events() {
    let options = Options { history_changes_max: 8, ..Options::default() };
    let server = TestServer::with(options, |_| {}).await;
    let client = server.admin();
    let path = format!("{CRON_JOBS}?watch=true&resourceVersion={}", server.store.revision());
    let watch = client.watch(&path).await;
    for n in 0..200 {
        client.post(CRON_JOBS, &cron_job(&format!("c{n}"))).await;
    }
    let lines = watch.collect().await;
    assert!(lines.len() <= 100, "{} lines were buffered", lines.len());
    assert_eq!(lines.last().unwrap()["object"]["reason"], "Expired");
}

#[tokio::test]
async fn shutdown_ends_watches() {
    let server = TestServer::new().await;
    let watch = server.admin().watch(&format!("{CRON_JOBS}?watch=true")).await;
    server.server.shutdown();
    assert_eq!(watch.collect().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_watch_with_a_name_selector_sends_only_that_object() {
    let server = TestServer::new().await;
    let client = server.admin();
    let query = "watch=true&fieldSelector=metadata.name%3Db";
    let mut watch = client.watch(&format!("{CRON_JOBS}?{query}")).await;
    for name in ["a", "b"] {
        client.post(CRON_JOBS, &cron_job(name)).await;
    }
    assert_eq!(watch.event().await, event("ADDED", "b"));
}
