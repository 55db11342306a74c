//! A fake node: it sets the status of a Pod according to the command, and runs nothing.

use kube::Client;
use punctual_store::Store;
use serde_json::{Value, json};

use crate::harness::send;

pub(crate) const NAME: &str = "node";

/// Updates Pods until it is aborted.
pub(crate) async fn run(client: Client, store: Store) {
    let mut watch = store.watch("/pods/", 0).unwrap();
    while let Ok(Some(change)) = watch.next().await {
        if change.current.is_some() {
            let (namespace, name) = change.key["/pods/".len()..].split_once('/').unwrap();
            advance_pod(&client, &format!("/api/v1/namespaces/{namespace}/pods/{name}")).await;
        }
    }
}

/// Writes the next phase of a Pod. After a conflict, the watch shows the Pod again.
async fn advance_pod(client: &Client, path: &str) {
    let Ok(mut pod) = send(client, "GET", path, &Value::Null).await else { return };
    let phase = pod["status"]["phase"].as_str().unwrap_or_default().to_owned();
    let is_finished = ["Succeeded", "Failed"].contains(&phase.as_str());
    let is_deleting = pod["metadata"]["deletionTimestamp"] != Value::Null;
    if is_deleting && !is_finished {
        end_pod(&mut pod, "Failed", 137);
    } else if is_deleting {
        let _ = send(client, "DELETE", path, &json!({"gracePeriodSeconds": 0})).await;
        return;
    } else if phase == "Pending" && pod["spec"]["nodeName"] == NAME {
        match pod["spec"]["containers"][0]["command"][0].as_str() {
            Some("true") => end_pod(&mut pod, "Succeeded", 0),
            Some("false") => end_pod(&mut pod, "Failed", 1),
            _ => pod["status"]["phase"] = json!("Running"),
        }
    } else {
        return;
    }
    let _ = send(client, "PUT", &format!("{path}/status"), &pod).await;
}

/// Sets the status of a finished Pod.
pub(crate) fn end_pod(pod: &mut Value, phase: &str, code: i32) {
    pod["status"]["phase"] = json!(phase);
    pod["status"]["containerStatuses"] = json!([{"name": "main", "image": "busybox", "imageID": "",
        "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": code, "reason": "Test"}}}]);
}
