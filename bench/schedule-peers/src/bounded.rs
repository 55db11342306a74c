//! Running a process that may never end by itself.
//!
//! Some libraries search for ever in some zones. Such a run is cut off, and what it had said until
//! then still counts.

use std::{
    io::{self, BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Finished,
    Failed,
    TimedOut,
}

impl End {
    pub(crate) fn name(self) -> &'static str {
        match self {
            End::Finished => "finished",
            End::Failed => "failed",
            End::TimedOut => "timed out",
        }
    }
}

/// Runs a command for at most `limit`: the lines it printed, and how it ended.
pub(crate) fn run(mut command: Command, limit: Duration) -> io::Result<(Vec<String>, End)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let Some(output) = child.stdout.take() else {
        return Err(io::Error::other("the output was asked for, but is not there"));
    };
    let (closed, when_closed) = mpsc::channel::<()>();
    let reader = thread::spawn(move || {
        // Dropped when the output ends, which wakes the other side.
        let _closed = closed;
        BufReader::new(output).lines().map_while(Result::ok).collect::<Vec<String>>()
    });
    let timed_out = when_closed.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
    if timed_out {
        child.kill()?;
    }
    let status = child.wait()?;
    let lines = reader.join().unwrap_or_default();
    let end = match (timed_out, status.success()) {
        (true, _) => End::TimedOut,
        (false, true) => End::Finished,
        (false, false) => End::Failed,
    };
    Ok((lines, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, limit: Duration, lines: &[&str], end: End) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (said, ended) = run(command, limit).expect("there is a shell");
        assert!(said.iter().eq(lines), "{script}: {said:?}");
        assert_eq!(ended, end, "{script}");
    }

    #[test]
    fn a_process_that_hangs_is_ended_and_its_lines_are_kept() {
        check("echo one; exec sleep 600", Duration::from_millis(300), &["one"], End::TimedOut);
    }

    #[test]
    fn a_process_that_ends_is_waited_for() {
        check("echo one; echo two", Duration::from_secs(60), &["one", "two"], End::Finished);
        check("echo one; exit 3", Duration::from_secs(60), &["one"], End::Failed);
    }
}
