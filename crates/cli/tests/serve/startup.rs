//! Tests of startup, shutdown and the lock of the data directory.

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

#[test]
fn a_missing_encryption_key_refuses_the_start() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data");
    let key = home.path().join("key");
    std::fs::write(&key, format!("{}=\n", "A".repeat(43))).unwrap();
    let (serving, _) = ServeProcess::start(&folder);
    assert!(serving.stop());
    let open = || {
        let encryption = punctual_server::SecretEncryption::read(&key).unwrap();
        let codec = std::sync::Arc::new(encryption);
        let options = punctual_store::Options::default();
        punctual_store::Store::open_with_codec(folder.join("store"), options, Some(codec)).ok()
    };
    // A process that another test starts shares our lock until it executes its program.
    let store = (0..500).find_map(|_| {
        let store = open();
        if store.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        store
    });
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"resourceVersion":"","name":"a","namespace":"default"}}"#;
    let store = store.unwrap();
    store.write_blocking(punctual_store::Op::create("/secrets/default/a", secret)).unwrap();
    drop(store);
    let start = |args: &[&str]| {
        let mut command = punctual(&folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args).output().unwrap()
    };
    let refused = start(&[]);
    assert_eq!(refused.status.code(), Some(1));
    let error = stderr(&refused);
    assert!(
        error.contains("/secrets/default/a") && error.contains("--encryption-key-file"),
        "{error}"
    );
    let other = home.path().join("other");
    std::fs::write(&other, format!("{}=\n", "B".repeat(42) + "A")).unwrap();
    let error = stderr(&start(&["--encryption-key-file", other.to_str().unwrap()]));
    assert!(error.contains("is not in the key file"), "{error}");
}

#[test]
fn certificates_are_listed_and_revoked_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = punctual(folder.path()).args(args).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let (serving, _) = ServeProcess::start(folder.path());
    run(&["kubeconfig", "--user", "alice"]);
    let listed = run(&["certs"]);
    assert!(listed.contains("authority") && listed.contains("server"), "{listed}");
    assert!(run(&["certs", "revoke", "--user", "alice"]).starts_with("revoked "));
    let listed = run(&["certs"]);
    assert!(
        listed.lines().any(|line| line.contains("alice") && line.contains("revoked")),
        "{listed}"
    );
    assert!(serving.stop());
}
