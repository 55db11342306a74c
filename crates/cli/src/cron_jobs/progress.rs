//! Shows the progress of a RunRequest on standard error: a bar on a terminal, otherwise a line for each change.

use std::io::{self, IsTerminal as _, Write as _};

use punctual_api::RunRequest;

use super::run_requests::waiting_message;
use crate::output;

/// The width of the bar.
const BAR_WIDTH: usize = 30;
/// Moves to the first column and clears the line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Shows the progress of one request.
pub(super) struct ProgressReporter {
    is_terminal: bool,
    /// What was shown last.
    shown: String,
}

impl ProgressReporter {
    pub(super) fn new() -> ProgressReporter {
        ProgressReporter { is_terminal: io::stderr().is_terminal(), shown: String::new() }
    }

    /// Shows a state, if it differs from the last one.
    pub(super) fn show(&mut self, request: &RunRequest) {
        let line = if self.is_terminal { bar(request) } else { counts(request) };
        if line == self.shown {
            return;
        }
        if self.is_terminal {
            // A failure is ignored, because the runs do not depend on the display.
            let _ = write!(io::stderr(), "{CLEAR_LINE}{line}");
        } else {
            output::print_error(&line);
        }
        self.shown = line;
    }

    /// Ends the line of the bar.
    pub(super) fn finish(&self) {
        if self.is_terminal && !self.shown.is_empty() {
            output::print_error("");
        }
    }
}

/// Returns the numbers of ended runs, and what the request waits for.
fn counts(request: &RunRequest) -> String {
    let status = &request.status;
    if !request.is_accepted() {
        return "waiting for the controller".to_owned();
    }
    let ended = status.succeeded + status.failed + status.skipped;
    let mut text = format!("{ended} of {} ended, {} active", status.total, status.active.len());
    for (count, what) in [(status.failed, "failed"), (status.skipped, "skipped")] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    match waiting_message(request) {
        Some(message) => format!("{text}; {}", output::one_line(message)),
        None => text,
    }
}

fn bar(request: &RunRequest) -> String {
    let status = &request.status;
    let ended = status.succeeded + status.failed + status.skipped;
    let total = usize::try_from(status.total.max(1)).unwrap_or(1);
    let ended = usize::try_from(ended.max(0)).unwrap_or_default().min(total);
    let filled = BAR_WIDTH * ended / total;
    format!("[{}{}] {}", "#".repeat(filled), " ".repeat(BAR_WIDTH - filled), counts(request))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(status: serde_json::Value) -> RunRequest {
        serde_json::from_value(json!({ "status": status })).unwrap()
    }

    #[test]
    fn the_bar_is_filled_as_runs_end() {
        assert_eq!(
            bar(&request(json!({}))),
            format!("[{}] waiting for the controller", " ".repeat(30))
        );
        let half = request(
            json!({"acceptedTime": "2026-11-01T00:00:00Z", "total": 4, "started": 3,
            "succeeded": 1, "failed": 1, "active": [{"index": 2, "name": "a", "uid": "u"}],
            "conditions": [{"type": "Complete", "status": "False", "reason": "Waiting",
                "message": "another run\nis active", "lastTransitionTime": "2026-11-01T00:00:00Z"}]}),
        );
        let want = format!(
            "[{}{}] 2 of 4 ended, 1 active, 1 failed; another run\\nis active",
            "#".repeat(15),
            " ".repeat(15)
        );
        assert_eq!(bar(&half), want);
        let wrong =
            request(json!({"acceptedTime": "2026-11-01T00:00:00Z", "total": -1, "skipped": 9}));
        assert!(bar(&wrong).starts_with(&format!("[{}]", "#".repeat(30))));
    }
}
