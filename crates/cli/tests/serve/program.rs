//! Starts and stops `punctual serve` for the tests of this folder.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

pub(crate) fn punctual(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.env("PUNCTUAL_DATA_DIR", folder).stdin(Stdio::null());
    command
}

pub(crate) struct ServeProcess {
    pub(crate) child: Child,
    pub(crate) lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl ServeProcess {
    /// Starts a server, waits until it is ready and returns its URL.
    pub(crate) fn start(folder: &Path) -> (ServeProcess, String) {
        let mut command = punctual(folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("the server prints a line when it is ready").unwrap();
        let url = first.strip_prefix("serving ").expect("the first line has the URL").to_owned();
        (ServeProcess { child, lines }, url)
    }

    /// Sends SIGTERM and waits. Returns whether the exit status is 0.
    pub(crate) fn stop(mut self) -> bool {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap().success()
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
