//! A program that goes on while others are run.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use anyhow::Context;

/// No line for so long means that none will come. A debug build may be this slow.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A running program; killed and awaited when dropped.
#[derive(Debug)]
pub(super) struct Job {
    child: Child,
    lines: Receiver<String>,
}

impl Job {
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Job> {
        let mut child = command.stdout(Stdio::piped()).spawn().context("starting a shell")?;
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            // The thread ends with the program, which ends with its owner.
            thread::spawn(move || {
                let lines = BufReader::new(stdout).lines();
                lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
        }
        Ok(Job { child, lines })
    }

    /// What it prints until that is enough, or until it prints nothing more.
    pub(super) fn read_until(&mut self, is_enough: impl Fn(&str) -> bool) -> String {
        let mut output = String::new();
        while !is_enough(&output) {
            let Ok(line) = self.lines.recv_timeout(SILENCE_MAX) else { break };
            output.extend([&line, "\n"]);
        }
        output
    }

    pub(super) fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Asks it to stop: what it has printed since it was last read, and its exit code.
    pub(super) fn stop(mut self) -> anyhow::Result<(String, i32)> {
        let pid = self.child.id().to_string();
        Command::new("kill").arg(&pid).status().context("starting kill")?;
        // To the end of its output, which is its own end.
        let output = self.read_until(|_| false);
        self.child.kill()?;
        Ok((output, self.child.wait()?.code().unwrap_or(-1)))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Neither can fail in a way that matters: a child that has ended already is what we want.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
