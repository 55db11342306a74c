//! Killed with -9 under writes: what was answered is there after the next start.
//!
//! `PUNCTUAL_SERVE_KILLS` says how often; a few by default.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::program::ServeProcess;

const KILLS: usize = 5;
const WRITERS: usize = 8;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The names that were answered, with the identity in the answer.
type Answered = Arc<Mutex<BTreeMap<String, String>>>;

async fn client(folder: &Path) -> Client {
    let config = Kubeconfig::read_from(folder.join("kubeconfig")).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(config, &options).await.unwrap();
    config.connect_timeout = Some(Duration::from_secs(5));
    Client::try_from(config).unwrap()
}

async fn create(client: &Client, name: &str) -> Option<String> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let request = Request::post(MAPS).header("Content-Type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    let made: Value = client.request(request).await.ok()?;
    made["metadata"]["uid"].as_str().map(str::to_owned)
}

/// Writes until the server is gone.
async fn write(client: Client, names: Arc<AtomicUsize>, answered: Answered) {
    loop {
        let name = format!("m{}", names.fetch_add(1, Ordering::Relaxed));
        let Some(uid) = create(&client, &name).await else {
            return;
        };
        answered.lock().unwrap().insert(name, uid);
    }
}

async fn stored(client: &Client) -> BTreeMap<String, String> {
    let request = Request::get(MAPS).body(Vec::new()).unwrap();
    let list: Value = client.request(request).await.unwrap();
    let text = |item: &Value, key: &str| item["metadata"][key].as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (text(item, "name"), text(item, "uid"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_there_after_a_kill() {
    let kills = std::env::var("PUNCTUAL_SERVE_KILLS").ok().and_then(|text| text.parse().ok());
    let kills: usize = kills.unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let (names, answered) = (Arc::new(AtomicUsize::new(0)), Answered::default());
    for kill in 0..kills {
        let (serving, _) = ServeProcess::start(folder.path());
        let client = client(folder.path()).await;
        let found = stored(&client).await;
        for (name, uid) in answered.lock().unwrap().iter() {
            assert_eq!(found.get(name), Some(uid), "{name} was answered before kill {kill}");
        }
        let goal = answered.lock().unwrap().len() + 5 + kill * 7 % 60;
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| tokio::spawn(write(client.clone(), names.clone(), answered.clone())))
            .collect();
        // Another number of answers each time, so that the kill meets another moment of a commit.
        while answered.lock().unwrap().len() < goal {
            tokio::task::yield_now().await;
        }
        serving.kill();
        for writer in writers {
            writer.await.unwrap();
        }
    }
    let (serving, _) = ServeProcess::start(folder.path());
    let found = stored(&client(folder.path()).await).await;
    serving.kill();
    let answered = answered.lock().unwrap();
    let lost = answered.iter().filter(|(name, uid)| found.get(*name) != Some(uid)).count();
    println!(
        "{kills} kills, {} writes answered, {} found, {lost} lost",
        answered.len(),
        found.len()
    );
    assert_eq!(lost, 0);
}
