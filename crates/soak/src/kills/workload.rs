//! The CronJobs of the test and the script that they run.

use std::{
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use bytes::Bytes;
use punctual_testing::{ConcurrencyPolicy, TestRng, manifest};
use serde_json::{Value, json};

use super::event_log::RunEventLog;

/// Writes one line when it begins and one when it ends, each with a single `write`. Its duration depends
/// only on the CronJob and the minute, so that a repeated run takes as long as the first.
const SCRIPT: &str = r#"set -eu
minute=${SLOT#*T*:}
minute=${minute%%:*}
minute=${minute#0}
tenths=$(( (SALT + minute * 37) % TENTHS_MAX ))
printf 'begin %s %s %s\n' "$NAME" "$SLOT" "$POD" >> "$EVENT_LOG"
sleep "$((tenths / 10)).$((tenths % 10))"
printf 'end %s %s %s\n' "$NAME" "$SLOT" "$POD" >> "$EVENT_LOG"
"#;
/// The longest run under Allow, in tenths of a second.
const ALLOW_TENTHS_MAX: u64 = 200;
/// The longest run under Forbid. It may last beyond the next slot.
const FORBID_TENTHS_MAX: u64 = 900;
/// More than the test has slots.
const UNLIMITED_HISTORY: u32 = 1_000_000;
const SLOT_FIELD: &str = "metadata.annotations['batch.kubernetes.io/cronjob-scheduled-timestamp']";

/// A CronJob that runs every minute.
#[derive(Clone, Debug)]
pub(super) struct MinutelyCronJob {
    pub(super) name: String,
    /// Allow or Forbid.
    pub(super) policy: ConcurrencyPolicy,
    /// Whether it keeps all its Jobs. Otherwise it keeps one, so that Jobs are deleted all the time.
    pub(super) keeps_all_jobs: bool,
    /// In percent.
    jitter: u32,
    salt: u64,
}

/// All CronJobs and the folder of their event logs.
#[derive(Debug)]
pub(super) struct KillsWorkload {
    pub(super) cron_jobs: Vec<MinutelyCronJob>,
    script: PathBuf,
    event_logs: PathBuf,
}

impl KillsWorkload {
    /// Generates CronJobs: one in ten has Forbid, one in five has no jitter, half keep all their Jobs.
    pub(super) fn generate(count: usize, rng: &TestRng, folder: &Path) -> anyhow::Result<Self> {
        let cron_jobs = (0..count).map(|number| MinutelyCronJob::generate(number, rng)).collect();
        let script = folder.join("run.sh");
        let event_logs = folder.join("event-logs");
        fs::write(&script, SCRIPT)?;
        fs::create_dir_all(&event_logs)?;
        Ok(KillsWorkload { cron_jobs, script, event_logs })
    }

    /// The request bodies that create the CronJobs.
    pub(super) fn bodies(&self) -> Rc<[Bytes]> {
        let body = |cron_job: &MinutelyCronJob| Bytes::from(self.manifest(cron_job).to_string());
        self.cron_jobs.iter().map(body).collect()
    }

    /// Reads the event log of each CronJob.
    pub(super) fn event_logs(&self) -> anyhow::Result<Vec<RunEventLog>> {
        self.cron_jobs.iter().map(|cron_job| self.event_log(cron_job)).collect()
    }

    fn event_log(&self, cron_job: &MinutelyCronJob) -> anyhow::Result<RunEventLog> {
        let text = match fs::read_to_string(self.event_log_path(cron_job)) {
            // No run has begun yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            result => result?,
        };
        RunEventLog::parse(cron_job, &text)
    }

    fn event_log_path(&self, cron_job: &MinutelyCronJob) -> PathBuf {
        self.event_logs.join(&cron_job.name)
    }

    fn manifest(&self, cron_job: &MinutelyCronJob) -> Value {
        let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
        let value = |name: &str, value: String| json!({"name": name, "value": value});
        let event_log = self.event_log_path(cron_job).display().to_string();
        let container = json!({
            "name": "main",
            "image": "busybox:1.37",
            "command": ["/bin/sh", self.script],
            "env": [
                value("NAME", cron_job.name.clone()),
                value("SALT", cron_job.salt.to_string()),
                value("TENTHS_MAX", cron_job.tenths_max().to_string()),
                value("EVENT_LOG", event_log),
                field("SLOT", SLOT_FIELD),
                field("POD", "metadata.name"),
            ],
        });
        let limit = if cron_job.keeps_all_jobs { UNLIMITED_HISTORY } else { 1 };
        let spec = json!({
            "schedule": "* * * * *",
            "timeZone": "Etc/UTC",
            "jitter": cron_job.jitter,
            "concurrencyPolicy": cron_job.policy.to_string(),
            "successfulJobsHistoryLimit": limit,
            "failedJobsHistoryLimit": limit,
            "jobTemplate": {"spec": manifest::job_spec(container)},
        });
        manifest::cron_job(&cron_job.name, spec)
    }
}

impl MinutelyCronJob {
    fn generate(number: usize, rng: &TestRng) -> Self {
        let is_forbid = rng.once_in(10);
        MinutelyCronJob {
            name: format!("kills-{number:04}"),
            policy: if is_forbid { ConcurrencyPolicy::Forbid } else { ConcurrencyPolicy::Allow },
            keeps_all_jobs: rng.percent(50),
            jitter: if rng.once_in(5) { 0 } else { 50 },
            salt: rng.below(FORBID_TENTHS_MAX),
        }
    }

    #[cfg(test)]
    pub(super) fn for_test(name: &str, keeps_all_jobs: bool) -> Self {
        let policy = ConcurrencyPolicy::Allow;
        MinutelyCronJob { name: name.into(), policy, keeps_all_jobs, jitter: 0, salt: 0 }
    }

    fn tenths_max(&self) -> u64 {
        if self.policy == ConcurrencyPolicy::Forbid { FORBID_TENTHS_MAX } else { ALLOW_TENTHS_MAX }
    }
}

#[cfg(test)]
mod tests;
