//! Tests of how long records are kept.

use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_server::{LedgerLimits, ServerEnv, SystemEnv};
use punctual_store::Options;
use serde_json::{Value, json};

use super::{RECORDS, create, field_of, list, numbers, record, slot, write_slots};
use crate::client::{TestClient, TestServer, cron_job};

#[tokio::test]
async fn records_outlive_their_cron_job_but_not_their_namespace() {
    let server = TestServer::new().await;
    let client = server.admin();
    let create_namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let path = "/apis/batch/v1/namespaces/n/cronjobs";
    let records = "/apis/punctual.dev/v1/namespaces/n/slotrecords";
    for round in 0..2 {
        assert_eq!(client.post("/api/v1/namespaces", &create_namespace).await.code, 201);
        assert_eq!(list(&client, records).await, Vec::<Value>::new(), "round {round}");
        assert_eq!(client.post(path, &cron_job("a")).await.code, 201);
        let slots = json!([record(0, "Failed"), record(1, "Running"), record(2, "Failed")]);
        client.merge(&format!("{path}/a/status"), &json!({"status": {"slots": slots}})).await;
        assert_eq!(client.delete(&format!("{path}/a")).await.code, 200);
        let found = list(&client, records).await;
        assert_eq!(field_of(&found, "result"), ["Failed", "Unknown", "Failed"]);
        delete_namespace(&client, "n").await;
        assert_eq!(list(&client, records).await, Vec::<Value>::new(), "round {round}");
    }
    wait_until(|| archive_len(&server) == 0).await;
}

async fn delete_namespace(client: &TestClient, name: &str) {
    let path = format!("/api/v1/namespaces/{name}");
    client.delete(&path).await;
    let mut object = client.get(&path).await.body;
    object["spec"]["finalizers"] = json!([]);
    let finalized = client.put(&format!("{path}/finalize"), &object).await;
    assert_eq!(finalized.code, 200, "{}", finalized.text);
    assert_eq!(client.get(&path).await.code, 404);
}

fn archive_len(server: &TestServer) -> usize {
    let reader = server.store.archive().read().unwrap();
    reader.range(Bound::Unbounded, Bound::Unbounded).unwrap().count()
}

async fn wait_until(is_done: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("not done");
}

/// An environment whose clock the test sets.
struct SettableClock(Mutex<Timestamp>);

impl ServerEnv for SettableClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        SystemEnv.fill_random(bytes);
    }
}

#[tokio::test]
async fn old_and_excess_records_are_deleted_and_their_cron_jobs_forgotten() {
    let clock = Arc::new(SettableClock(Mutex::new(slot(0).parse().unwrap())));
    let env = clock.clone();
    let limits = LedgerLimits { age_max: Duration::from_secs(24 * 60 * 60), records_max: 10 };
    let server = TestServer::with(Options::default(), |config| {
        config.env = env;
        config.ledger = limits;
    })
    .await;
    let client = server.admin();
    for name in ["a", "b"] {
        create(&client, name).await;
        let slots: Vec<Value> =
            (0..if name == "a" { 40 } else { 5 }).map(|n| record(n, "Failed")).collect();
        assert_eq!(write_slots(&client, name, &json!(slots)).await.code, 200);
    }
    // Deleting a namespace starts a check.
    let check = async || {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        client.post("/api/v1/namespaces", &namespace).await;
        delete_namespace(&client, "n").await;
    };
    check().await;
    let count = |name: &'static str| {
        let client = &client;
        async move { list(client, &format!("{RECORDS}?fieldSelector=cronJob={name}")).await.len() }
    };
    for _ in 0..10_000 {
        if count("a").await == 11 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let kept = list(&client, &format!("{RECORDS}?fieldSelector=cronJob=a")).await;
    assert_eq!(numbers(&kept), (29..40).rev().collect::<Vec<_>>());
    assert_eq!(count("b").await, 5);
    *clock.0.lock().unwrap() += SignedDuration::from_hours(25);
    check().await;
    // Only the records in the statuses are left, and no row in the archive.
    wait_until(|| archive_len(&server) == 0).await;
    assert_eq!(list(&client, RECORDS).await.len(), 2);
}
