//! Translates an exit status into the terms of Kubernetes.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use jiff::Timestamp;
use rustix::process::WaitStatus;

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
    let read =
        File::open(path).and_then(|file| file.take(MESSAGE_BYTES_MAX).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
