//! Formats run events as plain lines, for pipes, files and `--plain`.

use jiff::Timestamp;

use super::view_model::RunEvent;
use crate::slots::format_duration;

/// Formats an event as one line that begins with the current time, in UTC and always with milliseconds.
pub(super) fn format_line(event: &RunEvent, now: Timestamp) -> String {
    let text = match event {
        RunEvent::Started { job } => format!("{job} started"),
        RunEvent::Problem { job, problem } => format!("{job} problem: {}", one_line(problem)),
        RunEvent::Finished { job, took, error: None } => {
            format!("{job} ok after {}", format_duration(*took))
        }
        RunEvent::Finished { job, took, error: Some(error) } => {
            format!("{job} failed after {}: {}", format_duration(*took), one_line(error))
        }
        RunEvent::Missed { cron_job, slot, count: 1 } => {
            format!("{cron_job} missed its run{}", at(slot))
        }
        RunEvent::Missed { cron_job, slot, count } => {
            format!("{cron_job} missed {count} runs, the last{}", at(slot))
        }
        RunEvent::Skipped { cron_job, count: 1 } => format!("{cron_job} skipped a run"),
        RunEvent::Skipped { cron_job, count } => format!("{cron_job} skipped {count} runs"),
        // A slot that starts right now is not waiting.
        RunEvent::Next { cron_job, at } if now.duration_since(*at).as_secs() > 0 => {
            format!("{cron_job} has a run that waits since {at}")
        }
        RunEvent::Next { cron_job, at } => format!("{cron_job} runs next at {at}"),
    };
    format!("{now:.3} {text}\n")
}

fn at(slot: &Option<Timestamp>) -> String {
    slot.map(|slot| format!(" at {slot}")).unwrap_or_default()
}

/// Replaces control characters. Text from objects must not break lines or control the terminal.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn each_event_has_its_line() {
        let now: Timestamp = "2026-01-01T00:00:00.1234Z".parse().unwrap();
        let slot = "2026-01-01T00:00:00Z".parse().unwrap();
        let took = SignedDuration::from_secs(61);
        let error = Some("BackoffLimitExceeded: no\nway".into());
        let waiting = "2025-12-31T23:59:00Z".parse().unwrap();
        let cases = [
            (RunEvent::Started { job: "a/b-1".into() }, "a/b-1 started"),
            (
                RunEvent::Problem { job: "a/b-1".into(), problem: "no\nsecret".into() },
                "a/b-1 problem: no secret",
            ),
            (RunEvent::Finished { job: "a/b-1".into(), took, error: None }, "a/b-1 ok after 1m 1s"),
            (
                RunEvent::Finished { job: "a/b-1".into(), took, error },
                "a/b-1 failed after 1m 1s: BackoffLimitExceeded: no way",
            ),
            (
                RunEvent::Missed { cron_job: "a/b".into(), slot: Some(slot), count: 1 },
                "a/b missed its run at 2026-01-01T00:00:00Z",
            ),
            (
                RunEvent::Missed { cron_job: "a/b".into(), slot: Some(slot), count: 7 },
                "a/b missed 7 runs, the last at 2026-01-01T00:00:00Z",
            ),
            (RunEvent::Skipped { cron_job: "a/b".into(), count: 1 }, "a/b skipped a run"),
            (RunEvent::Skipped { cron_job: "a/b".into(), count: 7 }, "a/b skipped 7 runs"),
            (
                RunEvent::Next { cron_job: "a/b".into(), at: slot },
                "a/b runs next at 2026-01-01T00:00:00Z",
            ),
            (
                RunEvent::Next { cron_job: "a/b".into(), at: waiting },
                "a/b has a run that waits since 2025-12-31T23:59:00Z",
            ),
        ];
        for (event, want) in cases {
            assert_eq!(format_line(&event, now), format!("2026-01-01T00:00:00.123Z {want}\n"));
        }
    }

    #[test]
    fn all_lines_have_times_of_one_width() {
        let event = RunEvent::Started { job: "a/b".into() };
        for (now, want) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z a/b started\n"),
            ("2026-01-01T00:00:00.1Z", "2026-01-01T00:00:00.100Z a/b started\n"),
            ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123Z a/b started\n"),
        ] {
            assert_eq!(format_line(&event, now.parse().unwrap()), want);
        }
    }
}
