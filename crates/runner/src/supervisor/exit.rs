//! What an exit status means, in Kubernetes' words.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use jiff::Timestamp;
use rustix::process::WaitStatus;

use crate::state::{End, reasons};

/// The most bytes of a termination message that are kept.
const MESSAGE_MAX: u64 = 4096;

/// Exit code and signal as Kubernetes shows them: 128 and the signal for one that was killed.
pub(super) fn code_and_signal(status: WaitStatus) -> (i32, i32) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code, 0),
        (None, Some(signal)) => (128 + signal, signal),
        (None, None) => (255, 0),
    }
}

/// How a run ended, but for what it had to say.
pub(super) fn end(
    status: WaitStatus,
    is_out_of_memory: bool,
    started_at: Timestamp,
    finished_at: Timestamp,
) -> End {
    let (exit_code, signal) = code_and_signal(status);
    let reason = match exit_code {
        0 => reasons::COMPLETED,
        137 if is_out_of_memory => reasons::OOM_KILLED,
        _ => reasons::ERROR,
    };
    let (reason, message) = (reason.to_owned(), String::new());
    // A clock that was put back must not make a run end before it began.
    let finished_at = finished_at.max(started_at);
    End { exit_code, signal, reason, message, started_at: Some(started_at), finished_at }
}

/// What a container left in its termination message file.
pub(super) fn message(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MESSAGE_MAX).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
