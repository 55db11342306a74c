//! It starts, keeps others out, and stops when it is asked to.

use std::net::TcpListener;

use kube::ResourceExt as _;
use kube::api::ListParams;
use rustix::process::Signal;

use crate::process::{Home, api, examples};

#[tokio::test]
async fn the_examples_are_applied_and_applying_them_again_changes_nothing() {
    let home = Home::new();
    let up = home.start(&[&examples()]);
    assert!(up.said[0].starts_with("serving https://127.0.0.1:"), "{:?}", up.said);
    assert!(up.said[1].starts_with("kubeconfig /"), "{:?}", up.said);
    let applied = up.said[2..up.said.len() - 1].to_vec();
    assert!(applied.iter().all(|line| line.ends_with(" created")), "{applied:?}");
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let found = cron_jobs.list(&ListParams::default()).await.unwrap();
    let found: Vec<String> = found.iter().map(|cron_job| cron_job.name_any()).collect();
    let want = ["backup", "hello", "new-year", "opening-berlin", "opening-new-york", "report"];
    assert_eq!(found, want);
    let nodes = kube::Api::<kube::api::DynamicObject>::all_with(
        client,
        &kube::api::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("", "v1", "Node")),
    );
    assert_eq!(nodes.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let said = up.stop();
    assert!(said.lines().last().unwrap().starts_with("stopped"), "{said}");

    let up = home.start(&[&examples()]);
    let again = up.said[2..up.said.len() - 1].to_vec();
    assert_eq!(again.len(), applied.len());
    assert!(again.iter().all(|line| line.ends_with(" unchanged")), "{again:?}");
    up.stop();
}

#[test]
fn nothing_need_be_applied_and_ctrl_c_stops_it() {
    let home = Home::new();
    let mut up = home.start(&[]);
    assert_eq!(up.said.len(), 3, "{:?}", up.said);
    up.signal(Signal::INT);
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn signals_that_come_together_are_one_request() {
    let home = Home::new();
    let mut up = home.start(&[]);
    for signal in [Signal::INT, Signal::INT, Signal::TERM, Signal::INT] {
        up.signal(signal);
    }
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn a_second_one_is_told_who_has_the_data() {
    let home = Home::new();
    let up = home.start(&[]);
    let said = home.refusal(&[]);
    assert!(said.contains(&format!("in use by process {}", up.child.id())), "{said}");
    up.stop();
}

#[test]
fn an_address_that_is_taken_is_named() {
    let home = Home::new();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let output = home.command_at(&taken, &[]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("could not listen on {taken}")), "{said}");
}

#[test]
fn a_node_keeps_its_name() {
    let home = Home::new();
    home.start(&["--node-name", "one"]).stop();
    home.start(&[]).stop();
    let said = home.refusal(&["--node-name", "two"]);
    assert!(said.contains("is called \"one\""), "{said}");
}
