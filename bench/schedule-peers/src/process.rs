//! Runs a process with a time limit.
//!
//! Some libraries never return in some zones. Such a process is killed; the lines that it printed
//! before still count.

use std::{
    io::{self, BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    Finished,
    Failed,
    TimedOut,
}

impl ExitKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ExitKind::Finished => "finished",
            ExitKind::Failed => "failed",
            ExitKind::TimedOut => "timed out",
        }
    }
}

/// Runs a command for at most `limit`. Returns the printed lines and how the process ended.
pub(crate) fn run(mut command: Command, limit: Duration) -> io::Result<(Vec<String>, ExitKind)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let Some(output) = child.stdout.take() else {
        return Err(io::Error::other("the process has no standard output"));
    };
    let (closed, when_closed) = mpsc::channel::<()>();
    let reader = thread::spawn(move || {
        // Dropping it at the end of the output wakes the receiver.
        let _closed = closed;
        BufReader::new(output).lines().map_while(Result::ok).collect::<Vec<String>>()
    });
    let timed_out = when_closed.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
    if timed_out {
        child.kill()?;
    }
    let status = child.wait()?;
    let lines = reader.join().unwrap_or_default();
    let end = if timed_out {
        ExitKind::TimedOut
    } else if status.success() {
        ExitKind::Finished
    } else {
        ExitKind::Failed
    };
    Ok((lines, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, limit: Duration, lines: &[&str], end: ExitKind) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (printed, ended) = run(command, limit).expect("sh starts");
        assert!(printed.iter().eq(lines), "{script}: {printed:?}");
        assert_eq!(ended, end, "{script}");
    }

    #[test]
    fn a_hanging_process_is_killed_and_its_lines_are_returned() {
        check("echo one; exec sleep 600", Duration::from_millis(300), &["one"], ExitKind::TimedOut);
    }

    #[test]
    fn the_exit_status_of_a_process_is_reported() {
        check("echo one; echo two", Duration::from_secs(60), &["one", "two"], ExitKind::Finished);
        check("echo one; exit 3", Duration::from_secs(60), &["one"], ExitKind::Failed);
    }
}
