//! Tests that nothing but a regular file in place of a file of the data directory hangs the start or the
//! running server.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http::Request;

use crate::program::{TestHome, api, run_pod, wait_for_phase};

/// The files of the data directory.
const FILES: [&str; 14] = [
    "node-name",
    "audit.log",
    "audit-unauthenticated.log",
    "store",
    "store.lock",
    "store.new",
    "kubeconfig",
    "pki/admin.token",
    "pki/view.token",
    "pki/ca.crt",
    "pki/ca.key",
    "pki/server.crt",
    "pki/server.key",
    "pki/revoked",
];
/// The files without which `punctual up` starts: most of them are written again.
const UNNEEDED: [&str; 5] =
    ["store.new", "kubeconfig", "pki/server.crt", "pki/server.key", "pki/revoked"];
const START_TIMEOUT: Duration = Duration::from_secs(60);

fn make_fifo(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn spawn(home: &TestHome) -> Child {
    home.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts the program and returns standard error. It must fail and may not hang.
async fn fail_to_start(home: &TestHome, file: &str) -> String {
    let child = spawn(home);
    let pid = child.id();
    let ending = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let Ok(output) = tokio::time::timeout(START_TIMEOUT, ending).await else {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        panic!("{file}: the start hangs");
    };
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{file}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fifo_a_directory_or_a_huge_file_in_the_data_directory_does_not_hang_the_start() {
    let home = TestHome::new();
    home.start(&[]).stop();
    let data = home.path().join("data");
    let saved = home.path().join("saved");
    for file in FILES {
        let path = data.join(file);
        let existed = path.exists();
        if existed {
            fs::rename(&path, &saved).unwrap();
        }
        make_fifo(&path);
        if UNNEEDED.contains(&file) {
            home.start(&[]).stop();
        } else {
            let error = fail_to_start(&home, file).await;
            assert!(error.contains(path.to_str().unwrap()), "{file}: {error}");
            assert!(error.contains("is a FIFO and not a regular file"), "{file}: {error}");
        }
        let _ = fs::remove_file(&path);
        if existed {
            fs::rename(&saved, &path).unwrap();
        }
    }
    for (file, message) in [("pki/admin.token", "more than"), ("node-name", "more than")] {
        let path = data.join(file);
        fs::rename(&path, &saved).unwrap();
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = fail_to_start(&home, file).await;
        assert!(error.contains(message), "{file}: {error}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = fail_to_start(&home, file).await;
        assert!(error.contains("is a directory"), "{file}: {error}");
        fs::remove_dir(&path).unwrap();
        fs::rename(&saved, &path).unwrap();
    }
    home.start(&[]).stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn fifos_in_the_data_directory_do_not_hang_the_running_server() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    let mut kubeconfig = Command::new(env!("CARGO_BIN_EXE_punctual"));
    kubeconfig.env("PUNCTUAL_DATA_DIR", home.path().join("data"));
    let output = kubeconfig.args(["kubeconfig", "--user", "alice"]).output().unwrap();
    assert!(output.status.success());
    let with_certificate = home.client_from(&String::from_utf8(output.stdout).unwrap()).await;
    // The store and its lock are left out: without them the server must stop.
    for file in FILES.iter().filter(|file| !["store", "store.lock"].contains(file)) {
        make_fifo(&home.path().join("data").join(file));
    }
    let version = || Request::get("/version").body(Vec::new()).unwrap();
    let refused = tokio::time::timeout(START_TIMEOUT, with_certificate.request_text(version()));
    assert!(refused.await.expect("the handshake hangs").is_err(), "the list is not readable");
    for _ in 0..20 {
        let answered = tokio::time::timeout(START_TIMEOUT, client.request_text(version())).await;
        answered.expect("the server hangs").unwrap();
    }
    run_pod(&client, "runs", "true").await;
    wait_for_phase(&client, "runs", "Succeeded").await;
    api(&client, "v1", "Pod").delete("runs", &Default::default()).await.unwrap();
    up.stop();
}
