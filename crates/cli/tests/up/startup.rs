//! It starts, keeps others out, and stops when it is asked to.

use std::net::TcpListener;

use kube::ResourceExt as _;
use kube::api::ListParams;
use rustix::process::Signal;

use crate::program::{TestHome, api, examples};

#[tokio::test]
async fn the_examples_are_applied_and_applying_them_again_changes_nothing() {
    let home = TestHome::new();
    let up = home.start(&[&examples()]);
    assert!(up.output[0].starts_with("serving https://127.0.0.1:"), "{:?}", up.output);
    assert!(up.output[1].starts_with("kubeconfig /"), "{:?}", up.output);
    let applied = up.output[2..up.output.len() - 1].to_vec();
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
    let output = up.stop();
    assert!(output.lines().last().unwrap().starts_with("stopped"), "{output}");

    let up = home.start(&[&examples()]);
    let again = up.output[2..up.output.len() - 1].to_vec();
    assert_eq!(again.len(), applied.len());
    assert!(again.iter().all(|line| line.ends_with(" unchanged")), "{again:?}");
    up.stop();
}

#[test]
fn nothing_need_be_applied_and_ctrl_c_stops_it() {
    let home = TestHome::new();
    let mut up = home.start(&[]);
    assert_eq!(up.output.len(), 3, "{:?}", up.output);
    up.signal(Signal::INT);
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn signals_that_come_together_are_one_request() {
    let home = TestHome::new();
    let mut up = home.start(&[]);
    for signal in [Signal::INT, Signal::INT, Signal::TERM, Signal::INT] {
        up.signal(signal);
    }
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn a_second_one_is_told_who_has_the_data() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let output = home.refusal(&[]);
    assert!(output.contains(&format!("in use by process {}", up.child.id())), "{output}");
    up.stop();
}

#[test]
fn an_address_that_is_taken_is_named() {
    let home = TestHome::new();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let output = home.command_at(&taken, &[]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(&format!("could not listen on {taken}")), "{stderr}");
}

#[test]
fn a_node_keeps_its_name() {
    let home = TestHome::new();
    home.start(&["--node-name", "one"]).stop();
    home.start(&[]).stop();
    let output = home.refusal(&["--node-name", "two"]);
    assert!(output.contains("is called \"one\""), "{output}");
}
