//! Translates the exit of a container's process into the fields of Kubernetes: exit code, signal,
//! reason and message.

use std::io::Read as _;
use std::path::Path;

use jiff::Timestamp;
use rustix::process::WaitStatus;

use crate::bounded_file;
use crate::pod_state::{Termination, reasons};

/// The maximum size of a termination message.
const MESSAGE_BYTES_MAX: u64 = 4096;

/// Exit code and signal as Kubernetes shows them. A process that was killed has the code 128 + signal.
fn code_and_signal(status: WaitStatus) -> (i32, i32) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code, 0),
        (None, Some(signal)) => (128 + signal, signal),
        (None, None) => (255, 0),
    }
}

/// The result of a run, without its message.
pub(super) fn termination(
    status: WaitStatus,
    is_out_of_memory: bool,
    started_at: Timestamp,
    finished_at: Timestamp,
) -> Termination {
    let (exit_code, signal) = code_and_signal(status);
    let reason = match exit_code {
        0 => reasons::COMPLETED,
        137 if is_out_of_memory => reasons::OOM_KILLED,
        _ => reasons::ERROR,
    };
    Termination {
        exit_code,
        signal,
        reason: reason.to_owned(),
        message: String::new(),
        started_at: Some(started_at),
        // The clock may have been set back during the run.
        finished_at: finished_at.max(started_at),
    }
}

/// The termination message that a container has written to its file.
pub(super) fn read_message(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = bounded_file::open(path)
        .and_then(|file| file.take(MESSAGE_BYTES_MAX).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The message of a container that failed and has not written one: how it ended, and its last output.
pub(super) fn failure_message(termination: &Termination, log_tail: &str) -> String {
    let end = match (termination.reason.as_str(), termination.signal) {
        (reasons::OOM_KILLED, _) => "killed because it used more memory than its limit".to_owned(),
        (_, 0) => format!("exit code {}", termination.exit_code),
        (_, signal) => format!("killed by signal {signal}{}", signal_name(signal)),
    };
    match log_tail.trim_end() {
        "" => end,
        tail => format!("{end}; last output:\n{tail}"),
    }
}

/// The name of a signal that programs end with, in brackets.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        14 => " (SIGALRM)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        25 => " (SIGXFSZ)",
        31 => " (SIGSYS)",
        _ => "",
    }
}
