//! Kills the server with SIGKILL during writes. Confirmed writes must survive.
//!
//! `PUNCTUAL_SERVE_KILLS` sets the number of kills.

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

/// The names and UIDs of the confirmed writes.
type Confirmed = Arc<Mutex<BTreeMap<String, String>>>;

pub(crate) async fn client(folder: &Path) -> Client {
    let config = Kubeconfig::read_from(folder.join("kubeconfig")).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(config, &options).await.unwrap();
    config.connect_timeout = Some(Duration::from_secs(5));
    Client::try_from(config).unwrap()
}

pub(crate) async fn create(client: &Client, name: &str) -> Option<String> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let request = Request::post(MAPS).header("Content-Type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    let made: Value = client.request(request).await.ok()?;
    made["metadata"]["uid"].as_str().map(str::to_owned)
}

/// Writes until the server is killed.
async fn write(client: Client, names: Arc<AtomicUsize>, confirmed: Confirmed) {
    loop {
        let name = format!("m{}", names.fetch_add(1, Ordering::Relaxed));
        let Some(uid) = create(&client, &name).await else {
            return;
        };
        confirmed.lock().unwrap().insert(name, uid);
    }
}

pub(crate) async fn stored(client: &Client) -> BTreeMap<String, String> {
    let request = Request::get(MAPS).body(Vec::new()).unwrap();
    let list: Value = client.request(request).await.unwrap();
    let text = |item: &Value, key: &str| item["metadata"][key].as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (text(item, "name"), text(item, "uid"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmed_writes_survive_a_kill() {
    let kills = std::env::var("PUNCTUAL_SERVE_KILLS").ok().and_then(|text| text.parse().ok());
    let kills: usize = kills.unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let names = Arc::new(AtomicUsize::new(0));
    let confirmed = Confirmed::default();
    for kill in 0..kills {
        let (serving, _) = ServeProcess::start(folder.path());
        let client = client(folder.path()).await;
        let found = stored(&client).await;
        for (name, uid) in confirmed.lock().unwrap().iter() {
            assert_eq!(found.get(name), Some(uid), "{name} was confirmed before kill {kill}");
        }
        let goal = confirmed.lock().unwrap().len() + 5 + kill * 7 % 60;
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| tokio::spawn(write(client.clone(), names.clone(), confirmed.clone())))
            .collect();
        // The number of writes varies so that each kill hits a different moment of a commit.
        while confirmed.lock().unwrap().len() < goal {
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
    let confirmed = confirmed.lock().unwrap();
    let lost = confirmed.iter().filter(|(name, uid)| found.get(*name) != Some(uid)).count();
    println!(
        "{kills} kills, {} writes confirmed, {} found, {lost} lost",
        confirmed.len(),
        found.len()
    );
    assert_eq!(lost, 0);
}
