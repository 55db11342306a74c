//! It starts, keeps others out, and stops when it is asked to.

use std::process::Output;

use crate::program::{ServeProcess, punctual};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_server_starts_says_where_and_stops_cleanly() {
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
fn a_second_server_is_told_who_has_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, _) = ServeProcess::start(folder.path());
    let second =
        punctual(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = stderr(&second);
    assert!(said.contains(&format!("in use by process {}", serving.child.id())), "{said}");
    assert!(serving.stop());
}

#[test]
fn a_kubeconfig_is_made_where_a_server_was_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let ask =
        |name: &str| punctual(folder.path()).args(["kubeconfig", "--user", name]).output().unwrap();
    let early = ask("alice");
    assert_eq!(early.status.code(), Some(1));
    assert!(stderr(&early).contains("no server was ever started"), "{}", stderr(&early));
    let (serving, _) = ServeProcess::start(folder.path());
    let made = ask("alice");
    assert!(made.status.success(), "{}", stderr(&made));
    let text = String::from_utf8(made.stdout).unwrap();
    assert!(text.contains("name: alice") && text.contains("client-certificate-data: "), "{text}");
    assert_eq!(ask("no: such\nname").status.code(), Some(1));
    assert!(serving.stop());
}
