//! The CronJobs of the trial, and what they run.

use std::{
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use bytes::Bytes;
use serde_json::{Value, json};

use super::diary::Diary;
use crate::dice::Dice;

/// Writes a line when it begins and one when it ends, each with one call. How long it takes depends on
/// the CronJob and the minute, so that a run that is repeated takes as long.
const SCRIPT: &str = r#"set -eu
minute=${SLOT#*T*:}
minute=${minute%%:*}
minute=${minute#0}
tenths=$(( (SALT + minute * 37) % SPAN ))
printf 'begin %s %s %s\n' "$NAME" "$SLOT" "$POD" >> "$DIARY"
sleep "$((tenths / 10)).$((tenths % 10))"
printf 'end %s %s %s\n' "$NAME" "$SLOT" "$POD" >> "$DIARY"
"#;
/// Tenths of a second. Under Allow a run is short, under Forbid it may last beyond the next slot.
const ALLOW_SPAN: u64 = 200;
const FORBID_SPAN: u64 = 900;
/// More than the trial has slots: such a CronJob keeps all its Jobs.
const KEEP_ALL: u32 = 1_000_000;
const SLOT: &str = "metadata.annotations['batch.kubernetes.io/cronjob-scheduled-timestamp']";

/// What happens when a run is due and another still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Allow,
    Forbid,
}

/// One CronJob.
#[derive(Clone, Debug)]
pub(super) struct CronJob {
    pub(super) name: String,
    pub(super) policy: Policy,
    /// Whether all its Jobs are kept; else one of each kind, so that Jobs are deleted all the time.
    pub(super) keeps_all: bool,
    jitter: u32,
    salt: u64,
}

/// All CronJobs and where they write.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) cron_jobs: Vec<CronJob>,
    script: PathBuf,
    diaries: PathBuf,
}

impl Fleet {
    /// Draws CronJobs: one in ten under Forbid, one in five without jitter, half keep all their Jobs.
    pub(super) fn new(count: usize, dice: &mut Dice, folder: &Path) -> anyhow::Result<Self> {
        let cron_jobs = (0..count).map(|number| CronJob::draw(number, dice)).collect();
        let (script, diaries) = (folder.join("run.sh"), folder.join("diaries"));
        fs::write(&script, SCRIPT)?;
        fs::create_dir_all(&diaries)?;
        Ok(Fleet { cron_jobs, script, diaries })
    }

    /// The manifests.
    pub(super) fn bodies(&self) -> Rc<[Bytes]> {
        let body = |cron_job: &CronJob| Bytes::from(self.manifest(cron_job).to_string());
        self.cron_jobs.iter().map(body).collect()
    }

    /// What each CronJob has written so far.
    pub(super) fn diaries(&self) -> anyhow::Result<Vec<Diary>> {
        self.cron_jobs.iter().map(|cron_job| self.diary(cron_job)).collect()
    }

    fn diary(&self, cron_job: &CronJob) -> anyhow::Result<Diary> {
        let text = match fs::read_to_string(self.diary_path(cron_job)) {
            // It has not run yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        Diary::parse(cron_job, &text)
    }

    fn diary_path(&self, cron_job: &CronJob) -> PathBuf {
        self.diaries.join(&cron_job.name)
    }

    fn manifest(&self, cron_job: &CronJob) -> Value {
        let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
        let value = |name: &str, value: String| json!({"name": name, "value": value});
        let diary = self.diary_path(cron_job).display().to_string();
        let container = json!({
            "name": "main",
            "image": "busybox:1.37",
            "command": ["/bin/sh", self.script],
            "env": [
                value("NAME", cron_job.name.clone()),
                value("SALT", cron_job.salt.to_string()),
                value("SPAN", cron_job.span().to_string()),
                value("DIARY", diary),
                field("SLOT", SLOT),
                field("POD", "metadata.name"),
            ],
        });
        let pod = json!({"restartPolicy": "Never", "containers": [container]});
        let kept = if cron_job.keeps_all { KEEP_ALL } else { 1 };
        json!({
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": cron_job.name},
            "spec": {
                "schedule": "* * * * *",
                "timeZone": "Etc/UTC",
                "jitter": cron_job.jitter,
                "concurrencyPolicy": format!("{:?}", cron_job.policy),
                "successfulJobsHistoryLimit": kept,
                "failedJobsHistoryLimit": kept,
                "jobTemplate": {"spec": {"backoffLimit": 0, "template": {"spec": pod}}},
            },
        })
    }
}

impl CronJob {
    fn draw(number: usize, dice: &mut Dice) -> Self {
        CronJob {
            name: format!("kills-{number:04}"),
            policy: if dice.once_in(10) { Policy::Forbid } else { Policy::Allow },
            keeps_all: dice.chance(50),
            jitter: if dice.once_in(5) { 0 } else { 50 },
            salt: dice.below(FORBID_SPAN),
        }
    }

    #[cfg(test)]
    pub(super) fn for_test(name: &str, keeps_all: bool) -> Self {
        CronJob { name: name.into(), policy: Policy::Allow, keeps_all, jitter: 0, salt: 0 }
    }

    fn span(&self) -> u64 {
        match self.policy {
            Policy::Allow => ALLOW_SPAN,
            Policy::Forbid => FORBID_SPAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_seed_gives_a_fleet() {
        let folder = tempfile::tempdir().unwrap();
        let bodies = |seed| Fleet::new(50, &mut Dice(seed), folder.path()).unwrap().bodies();
        assert_eq!(bodies(1), bodies(1));
        assert_ne!(bodies(1), bodies(2));
        let text = String::from_utf8_lossy(&bodies(1).concat()).into_owned();
        for word in [r#""Allow""#, r#""Forbid""#, r#""jitter":0"#, r#""jitter":50"#] {
            assert!(text.contains(word), "{word}");
        }
    }

    #[test]
    fn the_script_writes_what_the_diary_reads() {
        let folder = tempfile::tempdir().unwrap();
        let fleet = Fleet::new(1, &mut Dice(1), folder.path()).unwrap();
        let cron_job = &fleet.cron_jobs[0];
        // 8 and 9 with a zero before them are no octal numbers.
        for slot in ["2026-01-01T10:08:00Z", "2026-01-01T10:10:00Z"] {
            let status = Command::new("/bin/sh")
                .arg(&fleet.script)
                .env("NAME", &cron_job.name)
                .env("DIARY", fleet.diary_path(cron_job))
                .env("SLOT", slot)
                .env("POD", "p")
                .envs([("SALT", "5"), ("SPAN", "2")])
                .status();
            assert!(status.unwrap().success());
        }
        let diary = &fleet.diaries().unwrap()[0];
        assert_eq!(diary.entries.len(), 4);
    }
}
