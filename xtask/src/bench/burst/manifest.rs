//! The CronJobs of the burst benchmark, which are all due at once.

use bytes::Bytes;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;

/// The first whole minute that is at least `lead_seconds` from now.
pub(super) fn slot(now: Timestamp, lead_seconds: u32) -> anyhow::Result<Timestamp> {
    let latest = now.as_second() + i64::from(lead_seconds) + 59;
    Ok(Timestamp::from_second(latest - latest.rem_euclid(60))?)
}

/// A schedule with one slot a year.
pub(super) fn schedule(slot: Timestamp) -> String {
    slot.to_zoned(TimeZone::UTC).strftime("%-M %-H %-d %-m *").to_string()
}

/// Whether the Jobs of a CronJob get Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobPods {
    /// The Jobs are suspended.
    None,
    /// The Pods end at once.
    Short,
}

/// A CronJob.
pub(super) fn body(name: &str, schedule: &str, pods: JobPods) -> Bytes {
    let container = json!({"name": "main", "image": "busybox:1.37", "command": ["/bin/true"]});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    let is_suspended = pods == JobPods::None;
    let job = json!({"suspend": is_suspended, "backoffLimit": 0, "template": {"spec": pod}});
    let spec = json!({"schedule": schedule, "timeZone": "Etc/UTC", "jobTemplate": {"spec": job}});
    let cron_job = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec,
    });
    Bytes::from(cron_job.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_slot_is_a_whole_minute_after_the_lead() {
        for (now, want) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
            ("2026-01-01T00:00:00.5Z", "2026-01-01T00:01:00Z"),
            ("2026-01-01T00:00:01Z", "2026-01-01T00:02:00Z"),
            ("2026-12-31T23:58:59.9Z", "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(slot(at(now), 60).unwrap(), at(want), "{now}");
        }
    }

    #[test]
    fn the_schedule_has_the_slot() {
        assert_eq!(schedule(at("2026-03-01T04:05:00Z")), "5 4 1 3 *");
    }
}
