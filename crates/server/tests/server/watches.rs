//! Watches: gap-free, marked, and ended when they cannot go on.

use punctual_store::Options;
use serde_json::{Value, json};

use crate::client::{CRON_JOBS, Site, cron_job};

fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test]
async fn a_watch_shows_what_is_there_and_then_what_changes() {
    let site = Site::new().await;
    let client = site.admin();
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
    let site = Site::new().await;
    let client = site.admin();
    client.post(CRON_JOBS, &cron_job("a")).await;
    let query = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let mut watch = client.watch(&format!("{CRON_JOBS}?{query}")).await;
    assert_eq!(watch.event().await, event("ADDED", "a"));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let revision = bookmark["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(revision, site.store.revision().to_string());
}

#[tokio::test]
async fn a_watch_ends_in_time_with_a_bookmark_of_changes_elsewhere() {
    let site = Site::new().await;
    let client = site.admin();
    let from = site.store.revision();
    let query =
        format!("watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={from}");
    let watch = client.watch(&format!("/api/v1/pods?{query}")).await;
    client.post(CRON_JOBS, &cron_job("a")).await;
    let lines = watch.rest().await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    let revision = lines[0]["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(revision, site.store.revision().to_string());
}

#[tokio::test]
async fn versions_that_cannot_be_followed_are_gone() {
    let options = Options { ring_changes_max: 2, ..Options::default() };
    let site = Site::with(options, |_| {}).await;
    let client = site.admin();
    for name in ["a", "b", "c", "d"] {
        client.post(CRON_JOBS, &cron_job(name)).await;
    }
    for version in ["1", "999999"] {
        let watch =
            client.watch(&format!("{CRON_JOBS}?watch=true&resourceVersion={version}")).await;
        let lines = watch.rest().await;
        assert_eq!(lines.len(), 1, "{version}");
        assert_eq!(
            (&lines[0]["type"], &lines[0]["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
    }
}

#[tokio::test]
async fn a_reader_that_is_too_slow_is_dropped_and_not_waited_for() {
    let options = Options { ring_changes_max: 8, ..Options::default() };
    let site = Site::with(options, |_| {}).await;
    let client = site.admin();
    let path = format!("{CRON_JOBS}?watch=true&resourceVersion={}", site.store.revision());
    let watch = client.watch(&path).await;
    for n in 0..200 {
        client.post(CRON_JOBS, &cron_job(&format!("c{n}"))).await;
    }
    let lines = watch.rest().await;
    assert!(lines.len() <= 100, "{} lines were kept for it", lines.len());
    assert_eq!(lines.last().unwrap()["object"]["reason"], "Expired");
}

#[tokio::test]
async fn watches_end_when_the_server_does() {
    let site = Site::new().await;
    let watch = site.admin().watch(&format!("{CRON_JOBS}?watch=true")).await;
    site.server.shutdown();
    assert_eq!(watch.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_selected_name_is_watched_alone() {
    let site = Site::new().await;
    let client = site.admin();
    let query = "watch=true&fieldSelector=metadata.name%3Db";
    let mut watch = client.watch(&format!("{CRON_JOBS}?{query}")).await;
    for name in ["a", "b"] {
        client.post(CRON_JOBS, &cron_job(name)).await;
    }
    assert_eq!(watch.event().await, event("ADDED", "b"));
}
