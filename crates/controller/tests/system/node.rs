//! A node that runs nothing: what becomes of a Pod is what its command says.

use kube::Client;
use punctual_store::Store;
use serde_json::{Value, json};

use crate::asking::send;

pub(crate) const NAME: &str = "node";

/// Sees to Pods for ever.
pub(crate) async fn run(client: Client, store: Store) {
    let mut watch = store.watch("/pods/", 0).unwrap();
    while let Ok(Some(change)) = watch.next().await {
        if change.current.is_some() {
            let (namespace, name) = change.key["/pods/".len()..].split_once('/').unwrap();
            see_to(&client, &format!("/api/v1/namespaces/{namespace}/pods/{name}")).await;
        }
    }
}

/// Takes the next step of a Pod's life. Whoever loses a race sees the Pod once more.
async fn see_to(client: &Client, path: &str) {
    let Ok(mut pod) = send(client, "GET", path, &Value::Null).await else { return };
    let phase = pod["status"]["phase"].as_str().unwrap_or_default().to_owned();
    let is_over = ["Succeeded", "Failed"].contains(&phase.as_str());
    let is_leaving = pod["metadata"]["deletionTimestamp"] != Value::Null;
    if is_leaving && !is_over {
        end(&mut pod, "Failed", 137);
    } else if is_leaving {
        let _ = send(client, "DELETE", path, &json!({"gracePeriodSeconds": 0})).await;
        return;
    } else if phase == "Pending" && pod["spec"]["nodeName"] == NAME {
        match pod["spec"]["containers"][0]["command"][0].as_str() {
            Some("true") => end(&mut pod, "Succeeded", 0),
            Some("false") => end(&mut pod, "Failed", 1),
            _ => pod["status"]["phase"] = json!("Running"),
        }
    } else {
        return;
    }
    let _ = send(client, "PUT", &format!("{path}/status"), &pod).await;
}

/// Ends a Pod.
pub(crate) fn end(pod: &mut Value, phase: &str, code: i32) {
    pod["status"]["phase"] = json!(phase);
    pod["status"]["containerStatuses"] = json!([{"name": "main", "image": "busybox", "imageID": "",
        "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "reason": "Test"}}}]);
}
