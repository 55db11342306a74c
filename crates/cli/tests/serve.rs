//! `punctual serve` as a process: it starts, keeps others out, and stops when it is asked to.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn punctual(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.env("PUNCTUAL_DATA_DIR", folder).stdin(Stdio::null());
    command
}

struct Serving {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Serving {
    fn start(folder: &Path) -> (Serving, String) {
        let mut command = punctual(folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let url = first.strip_prefix("serving ").expect("the first line says where").to_owned();
        (Serving { child, lines }, url)
    }

    /// Asks it to stop and waits until it has.
    fn stop(mut self) -> bool {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap().success()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_server_starts_says_where_and_stops_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let (mut serving, url) = Serving::start(folder.path());
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let kubeconfig = serving.lines.next().unwrap().unwrap();
    let kubeconfig = kubeconfig.strip_prefix("kubeconfig ").unwrap();
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    assert!(text.contains(&format!("server: {url}")) && text.contains("token: "), "{text}");
    assert!(serving.stop());
    let (serving, _) = Serving::start(folder.path());
    assert!(serving.stop());
}

#[test]
fn a_second_server_is_told_who_has_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, _) = Serving::start(folder.path());
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
    let (serving, _) = Serving::start(folder.path());
    let made = ask("alice");
    assert!(made.status.success(), "{}", stderr(&made));
    let text = String::from_utf8(made.stdout).unwrap();
    assert!(text.contains("name: alice") && text.contains("client-certificate-data: "), "{text}");
    assert_eq!(ask("no: such\nname").status.code(), Some(1));
    assert!(serving.stop());
}
