//! What happens, a line each: for logs, pipes and whoever wants it plain.

use jiff::{Timestamp, Unit};

use super::view_model::RunEvent;
use crate::slots::distance;

/// A line that begins with its instant.
pub(super) fn format_line(event: &RunEvent, now: Timestamp) -> String {
    let now = now.round(Unit::Millisecond).unwrap_or(now);
    let what = match event {
        RunEvent::Started { job } => format!("{job} started"),
        RunEvent::Finished { job, took, fault: None } => {
            format!("{job} ok after {}", distance(*took))
        }
        RunEvent::Finished { job, took, fault: Some(fault) } => {
            format!("{job} failed after {}: {}", distance(*took), one_line(fault))
        }
        RunEvent::Missed { cron_job, slot, count: 1 } => {
            format!("{cron_job} missed its run{}", of(slot))
        }
        RunEvent::Missed { cron_job, slot, count } => {
            format!("{cron_job} missed {count} runs, the last{}", of(slot))
        }
        RunEvent::Next { cron_job, at } => format!("{cron_job} runs next at {at}"),
    };
    format!("{now} {what}\n")
}

fn of(slot: &Option<Timestamp>) -> String {
    slot.map(|slot| format!(" of {slot}")).unwrap_or_default()
}

/// Somebody else's words must neither break a line nor reach the terminal as commands.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn each_kind_of_news_has_its_line() {
        let at: Timestamp = "2026-01-01T00:00:00.1234Z".parse().unwrap();
        let (slot, took) = ("2026-01-01T00:00:00Z".parse().unwrap(), SignedDuration::from_secs(61));
        let fault = Some("BackoffLimitExceeded: no\nway".into());
        let cases = [
            (RunEvent::Started { job: "a/b-1".into() }, "a/b-1 started"),
            (RunEvent::Finished { job: "a/b-1".into(), took, fault: None }, "a/b-1 ok after 1m 1s"),
            (
                RunEvent::Finished { job: "a/b-1".into(), took, fault },
                "a/b-1 failed after 1m 1s: BackoffLimitExceeded: no way",
            ),
            (
                RunEvent::Missed { cron_job: "a/b".into(), slot: Some(slot), count: 1 },
                "a/b missed its run of 2026-01-01T00:00:00Z",
            ),
            (
                RunEvent::Missed { cron_job: "a/b".into(), slot: Some(slot), count: 7 },
                "a/b missed 7 runs, the last of 2026-01-01T00:00:00Z",
            ),
            (
                RunEvent::Next { cron_job: "a/b".into(), at: slot },
                "a/b runs next at 2026-01-01T00:00:00Z",
            ),
        ];
        for (event, want) in cases {
            assert_eq!(format_line(&event, at), format!("2026-01-01T00:00:00.123Z {want}\n"));
        }
    }
}
