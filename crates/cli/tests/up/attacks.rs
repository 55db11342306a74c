//! Tests that clients cannot keep Pods from running, and of what Pods inherit.

use std::net::TcpStream;

use serde_json::json;

use crate::program::{TestHome, api, log, run_pod, wait_for_phase};

/// Clients that connect and send nothing. With the usual soft limit of 1,024 open files they used to
/// leave none for Pods.
#[tokio::test]
async fn pods_run_while_many_silent_clients_are_connected() {
    let home = TestHome::new();
    let up = home.start_with_limit("ulimit -n 400");
    let client = home.client().await;
    let address = up.output[0].strip_prefix("serving https://").unwrap().to_owned();
    let connections: Vec<_> = (0..600).filter_map(|_| TcpStream::connect(&address).ok()).collect();
    assert!(connections.len() > 300, "{}", connections.len());
    run_pod(&client, "runs", "echo done").await;
    wait_for_phase(&client, "runs", "Succeeded").await;
    assert_eq!(log(&client, "runs/log").await.unwrap(), "done\n");
    drop(connections);
    up.stop();
}

#[tokio::test]
async fn the_limit_of_open_files_is_raised_for_the_server_and_not_for_pods() {
    let home = TestHome::new();
    let up = home.start_with_limit("ulimit -Sn 123");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", up.child.id())).unwrap();
    let open_files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<&str> = open_files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "the soft limit is the hard limit");
    let client = home.client().await;
    run_pod(&client, "limit", "ulimit -Sn").await;
    wait_for_phase(&client, "limit", "Succeeded").await;
    assert_eq!(log(&client, "limit/log").await.unwrap(), "123\n");
    up.stop();
}

#[tokio::test]
async fn objects_name_the_component_that_wrote_them() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    run_pod(&client, "managed", "true").await;
    let pod = wait_for_phase(&client, "managed", "Succeeded").await;
    let entries = json!(pod.metadata.managed_fields);
    let status = entries.as_array().unwrap().iter().find(|it| it["subresource"] == "status");
    assert_eq!(status.unwrap()["manager"], "punctual-runner", "{entries}");
    let config_map = api(&client, "v1", "ConfigMap").get("kube-root-ca.crt").await.unwrap();
    let manager = &json!(config_map.metadata.managed_fields)[0]["manager"];
    assert_eq!(manager, "punctual-namespace-defaults");
    up.stop();
}
