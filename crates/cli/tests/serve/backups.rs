//! Tests of `punctual backup`, `restore`, `check` and `salvage`, and of a damaged store.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::kills::{client, create, stored};
use crate::program::{ServeProcess, punctual};

const WRITERS: usize = 4;
const MARKER: &str = "a marker in the middle of the message";

/// Runs a command and returns its exit status and both outputs.
fn run(folder: &Path, args: &[&str]) -> (i32, String) {
    let output = punctual(folder).args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// Creates objects one after another, and counts the confirmed ones.
async fn write(client: Client, writer: usize, confirmed: Arc<AtomicUsize>, stop: Arc<AtomicBool>) {
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        create(&client, &format!("w{writer}-{number}")).await.unwrap();
        confirmed.store(number + 1, Ordering::SeqCst);
    }
}

/// Returns how many objects each writer has. They must be its first ones without a gap.
fn count_per_writer(objects: &BTreeMap<String, String>) -> Vec<usize> {
    let count = |writer: usize| {
        let prefix = format!("w{writer}-");
        let count = objects.keys().filter(|name| name.starts_with(&prefix)).count();
        for number in 0..count {
            assert!(objects.contains_key(&format!("{prefix}{number}")), "{prefix}{number}");
        }
        count
    };
    (0..WRITERS).map(count).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_consistent_and_can_be_restored() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data");
    let (serving, _) = ServeProcess::start(&folder);
    let client_of_server = client(&folder).await;
    let stop = Arc::new(AtomicBool::new(false));
    let confirmed: Vec<_> = (0..WRITERS).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let writers: Vec<_> = confirmed
        .iter()
        .enumerate()
        .map(|(at, count)| {
            tokio::spawn(write(client_of_server.clone(), at, count.clone(), stop.clone()))
        })
        .collect();
    while confirmed.iter().any(|count| count.load(Ordering::SeqCst) < 5) {
        tokio::task::yield_now().await;
    }
    let before: Vec<_> = confirmed.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    let file = home.path().join("backup");
    let name = file.to_str().unwrap().to_owned();
    let data = folder.clone();
    let (status, text) =
        tokio::task::spawn_blocking(move || run(&data, &["backup", &name])).await.unwrap();
    assert_eq!(status, 0, "{text}");
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(serving.stop());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let name = file.to_str().unwrap();
    assert_eq!(run(&folder, &["check", name]).0, 0);
    let (status, text) = run(&folder, &["restore", name]);
    assert!(status == 1 && text.contains("already has a store"), "{text}");
    let restored = home.path().join("restored");
    let (status, text) = run(&restored, &["restore", name]);
    assert_eq!(status, 0, "{text}");
    let (serving, _) = ServeProcess::start(&restored);
    let counts = count_per_writer(&stored(&client(&restored).await).await);
    assert!(counts.iter().zip(&before).all(|(found, confirmed)| found >= confirmed));
    println!("backed up {counts:?} objects, {before:?} were confirmed before");
    assert!(serving.stop());
}

async fn post(client: &Client, path: &str, object: &Value) {
    let request = Request::post(path).header("Content-Type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    client.request::<Value>(request).await.unwrap();
}

/// Creates a CronJob and an Event, and stops the server.
async fn write_sample(folder: &Path) {
    let (serving, _) = ServeProcess::start(folder);
    let client = client(folder).await;
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "a", "image": "b"}]}}}});
    let cron_job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "hourly"},
        "spec": {"schedule": "@hourly", "jobTemplate": template}});
    post(&client, "/apis/batch/v1/namespaces/default/cronjobs", &cron_job).await;
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "damaged"},
        "involvedObject": {"namespace": "default"}, "message": MARKER});
    post(&client, "/api/v1/namespaces/default/events", &event).await;
    assert!(serving.stop());
}

/// Flips a bit in each copy of the marker.
fn damage_event(folder: &Path) {
    let path = folder.join("store");
    let mut bytes = std::fs::read(&path).unwrap();
    let starts: Vec<_> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(MARKER.as_bytes())).collect();
    assert!(!starts.is_empty());
    for at in starts {
        bytes[at + 5] ^= 1;
    }
    std::fs::write(&path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_event_does_not_stop_the_server() {
    let folder = tempfile::tempdir().unwrap();
    write_sample(folder.path()).await;
    assert_eq!(run(folder.path(), &["check"]).0, 0);
    damage_event(folder.path());
    let (status, text) = run(folder.path(), &["check"]);
    assert!(status == 1 && text.contains("lost /events/default/damaged"), "{text}");
    let backup = folder.path().join("backup");
    let (status, text) = run(folder.path(), &["backup", backup.to_str().unwrap()]);
    assert!(status == 1 && text.contains("is damaged") && !backup.exists(), "{text}");
    let (serving, _) = ServeProcess::start(folder.path());
    let client = client(folder.path()).await;
    for (path, count) in [("/apis/batch/v1/cronjobs", 1), ("/api/v1/namespaces/default/events", 0)]
    {
        let list: Value = client.request(Request::get(path).body(vec![]).unwrap()).await.unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), count, "{path}");
    }
    assert!(serving.stop());
    assert!(folder.path().join("store.damaged").exists());
    assert_eq!(run(folder.path(), &["check"]).0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn salvage_replaces_a_store_that_the_server_refuses() {
    let folder = tempfile::tempdir().unwrap();
    write_sample(folder.path()).await;
    let path = folder.path().join("store");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let (status, text) = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(status == 1 && text.contains("salvage"), "{text}");
    let (status, text) = run(folder.path(), &["salvage"]);
    assert!(status == 0 && text.contains("salvaged "), "{text}");
    let (status, text) = run(folder.path(), &["salvage"]);
    assert!(status == 0 && text.contains("not damaged"), "{text}");
    let (serving, _) = ServeProcess::start(folder.path());
    let client = client(folder.path()).await;
    let path = "/apis/batch/v1/namespaces/default/cronjobs/hourly";
    let found: Value = client.request(Request::get(path).body(vec![]).unwrap()).await.unwrap();
    assert_eq!(found["spec"]["schedule"], "@hourly");
    let (status, text) = run(folder.path(), &["salvage"]);
    assert!(status == 1 && text.contains("in use by process"), "{text}");
    assert!(serving.stop());
}
