//! Startup, shutdown and the lock of the data directory.

use std::process::Output;

use crate::program::{ServeProcess, punctual};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_server_prints_its_url_and_stops_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let (mut serving, url) = ServeProcess::start(folder.path());
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let kubeconfig = serving.lines.next().unwrap().unwrap();
    let kubeconfig = kubeconfig.strip_prefix("kubeconfig ").unwrap();
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    assert!(text.contains(&format!("server: {url}")) && text.contains("token: "), "{text}");
    assert!(serving.stop());
    let (serving, _) = ServeProcess::start(folder.path());
    assert!(serving.stop());
}

#[test]
fn a_second_server_reports_the_process_that_holds_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, _) = ServeProcess::start(folder.path());
    let second =
        punctual(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let error = stderr(&second);
    assert!(error.contains(&format!("in use by process {}", serving.child.id())), "{error}");
    assert!(serving.stop());
}

#[test]
fn kubeconfig_requires_the_data_directory_of_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let ask =
        |name: &str| punctual(folder.path()).args(["kubeconfig", "--user", name]).output().unwrap();
    let early = ask("alice");
    assert_eq!(early.status.code(), Some(1));
    assert!(stderr(&early).contains("no server has been started"), "{}", stderr(&early));
    let (serving, _) = ServeProcess::start(folder.path());
    let made = ask("alice");
    assert!(made.status.success(), "{}", stderr(&made));
    let text = String::from_utf8(made.stdout).unwrap();
    assert!(text.contains("name: alice") && text.contains("client-certificate-data: "), "{text}");
    assert_eq!(ask("no: such\nname").status.code(), Some(1));
    assert!(serving.stop());
}
