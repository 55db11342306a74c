//! Tests of programs whose standard error is closed: they lose their log, and nothing else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::program::TestHome;

/// How standard error is closed.
#[derive(Clone, Copy, Debug)]
enum ClosedStderr {
    /// As by `2>&-`: the process starts without the descriptor.
    NoDescriptor,
    /// The reader of the pipe is gone.
    BrokenPipe,
}

const BOTH: [ClosedStderr; 2] = [ClosedStderr::NoDescriptor, ClosedStderr::BrokenPipe];

impl ClosedStderr {
    /// Starts the program and returns the first line of its standard output.
    fn start(self, home: &TestHome, args: &[&str]) -> (Child, String) {
        let program = env!("CARGO_BIN_EXE_punctual");
        let mut command = match self {
            ClosedStderr::BrokenPipe => Command::new(program),
            ClosedStderr::NoDescriptor => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", "exec \"$@\" 2>&-", "sh", program]);
                shell
            }
        };
        command.env("PUNCTUAL_DATA_DIR", home.path().join("data")).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stderr.take());
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        // The rest of the output is read, so that only standard error is broken.
        std::thread::spawn(move || stdout.bytes().count());
        (child, line.trim().to_owned())
    }
}

fn stop(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Returns the status line of the response.
fn get(address: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[tokio::test]
async fn up_and_controller_run_with_a_closed_standard_error() {
    for closed in BOTH {
        let home = TestHome::new();
        // At this level, every request writes to the log.
        let up = ["up", "--listen", "127.0.0.1:0", "--log", "debug"];
        let (up, line) = closed.start(&home, &up);
        assert!(line.starts_with("serving https://"), "{closed:?}: {line:?}");
        let kubeconfig = home.path().join("data/kubeconfig").display().to_string();
        let args = ["controller", "--kinds", "scheduledjobs", "--kubeconfig", &kubeconfig];
        let args = [&args[..], &["--listen", "127.0.0.1:0", "--log", "debug"]].concat();
        let (controller, line) = closed.start(&home, &args);
        let address = line.strip_prefix("listening http://").unwrap_or_else(|| panic!("{line:?}"));
        let ready = async {
            while get(address, "/readyz") != "HTTP/1.1 200 OK" {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let is_ready = tokio::time::timeout(Duration::from_secs(60), ready).await.is_ok();
        assert!(is_ready, "{closed:?}: the controller is not ready");
        stop(controller);
        stop(up);
    }
}

#[test]
fn a_failure_with_a_closed_standard_error_is_an_exit_status_and_no_panic() {
    for closed in BOTH {
        let home = TestHome::new();
        let missing = ["controller", "--kubeconfig", "/nonexistent"];
        let (mut child, line) = closed.start(&home, &missing);
        assert_eq!((child.wait().unwrap().code(), &*line), (Some(1), ""), "{closed:?}");
        let (mut child, _) = closed.start(&home, &["controller", "--no-such-flag"]);
        assert_eq!(child.wait().unwrap().code(), Some(2), "{closed:?}");
    }
}
