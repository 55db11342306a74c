//! A command that runs in the background of a page's shell.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use anyhow::Context;

/// A program that prints no line for this long prints none any more. A debug build may be this slow.
const LINE_TIMEOUT: Duration = Duration::from_secs(60);

/// A running program. Dropping it kills the program and waits for its end.
#[derive(Debug)]
pub(super) struct BackgroundJob {
    child: Child,
    lines: Receiver<String>,
}

impl BackgroundJob {
    pub(super) fn start(command: &mut Command) -> anyhow::Result<BackgroundJob> {
        let mut child = command.stdout(Stdio::piped()).spawn().context("starting a shell")?;
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            // The thread ends with the program, which ends with its owner.
            thread::spawn(move || {
                let lines = BufReader::new(stdout).lines();
                lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
        }
        Ok(BackgroundJob { child, lines })
    }

    /// Reads its output until that is enough or until it prints nothing more.
    pub(super) fn read_until(&mut self, is_enough: impl Fn(&str) -> bool) -> String {
        let mut output = String::new();
        while !is_enough(&output) {
            let Ok(line) = self.lines.recv_timeout(LINE_TIMEOUT) else { break };
            output.extend([&line, "\n"]);
        }
        output
    }

    pub(super) fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Sends SIGTERM; returns the output since the last read and the exit code.
    pub(super) fn stop(mut self) -> anyhow::Result<(String, i32)> {
        let pid = self.child.id().to_string();
        Command::new("kill").arg(&pid).status().context("starting kill")?;
        // Its output ends when it ends.
        let output = self.read_until(|_| false);
        self.child.kill()?;
        Ok((output, self.child.wait()?.code().unwrap_or(-1)))
    }
}

impl Drop for BackgroundJob {
    fn drop(&mut self) {
        // Both calls fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
