//! Detects another controller that reconciles the same CronJobs, usually kube-controller-manager.
//!
//! `metadata.managedFields` names the field manager of each write. A manager that writes the status of a
//! CronJob, and is neither Punctual nor kubectl, is a competing controller. Two controllers would overwrite
//! each other's status, and would run slots that are not on whole minutes twice. This module
//! detects writes that a competing controller makes anyway; [`ControllerProbe`] provokes one.

mod probe;

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use punctual_api::CronJob;
use serde::Deserialize;

pub use self::probe::{ControllerProbe, ProbeError};

/// The field manager of our writes: the first part of our `User-Agent`.
pub const FIELD_MANAGER: &str = "punctual";

/// The prefix of kubectl's field managers.
const KUBECTL: &str = "kubectl";

/// The largest difference between our clock and the server's. A write that precedes our start by more
/// is history.
const CLOCK_SKEW_MAX: SignedDuration = SignedDuration::from_mins(1);

/// A competing controller, and how it was detected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompetingController {
    /// It wrote the status of a CronJob.
    WroteStatus {
        /// Its field manager.
        manager: String,
        /// The namespace and name of the CronJob.
        cron_job: String,
        /// The time of the write by the server's clock.
        at: Timestamp,
    },
    /// It reconciled our [`ControllerProbe`]. The write leaves it no managed field, so its name is unknown.
    ReconciledProbe {
        /// The namespace and name of the probe.
        cron_job: String,
    },
}

impl fmt::Display for CompetingController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompetingController::WroteStatus { manager, cron_job, at } => {
                write!(f, "{manager} wrote the status of CronJob {cron_job} at {at}")
            }
            CompetingController::ReconciledProbe { cron_job } => {
                write!(f, "it reconciled CronJob {cron_job}")
            }
        }
    }
}

/// The last write of a CronJob's status by a competing controller.
fn last_status_write(cron_job: &CronJob) -> Option<(CompetingController, Timestamp)> {
    let fields = cron_job.metadata.managed_fields.as_ref()?;
    let entries: Vec<ManagedFieldsEntry> = serde_json::from_str(fields.get()).unwrap_or_default();
    let last = entries
        .into_iter()
        .filter(ManagedFieldsEntry::is_competing_status_write)
        .max_by_key(|entry| entry.time)?;
    let cron_job = cron_job.key().into_owned();
    let at = last.time?;
    Some((CompetingController::WroteStatus { manager: last.manager, cron_job, at }, at))
}

/// The fields of an entry of `managedFields` that matter here.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct ManagedFieldsEntry {
    manager: String,
    subresource: String,
    time: Option<Timestamp>,
}

impl ManagedFieldsEntry {
    fn is_competing_status_write(&self) -> bool {
        let is_expected = self.manager == FIELD_MANAGER || self.manager.starts_with(KUBECTL);
        self.subresource == "status" && !is_expected
    }
}

/// Separates status writes that happen while we watch from earlier ones.
///
/// The first list shows the earlier writes. A write with a later time than all of them is new. The server's
/// times are compared with each other, and only roughly with our clock: an object restored from a
/// backup may bring old entries along.
#[derive(Debug)]
pub(crate) struct StatusWriterTracker {
    started: Timestamp,
    last_write: Option<Timestamp>,
    is_synced: bool,
}

impl StatusWriterTracker {
    pub(crate) fn new(started: Timestamp) -> StatusWriterTracker {
        StatusWriterTracker { started, last_write: None, is_synced: false }
    }

    /// Marks the first list as complete.
    pub(crate) fn set_synced(&mut self) {
        self.is_synced = true;
    }

    /// Returns the competing controller if the CronJob shows a status write that is new.
    pub(crate) fn observe(&mut self, cron_job: &CronJob) -> Option<CompetingController> {
        let (controller, at) = last_status_write(cron_job)?;
        let is_new = Some(at) > self.last_write;
        if is_new {
            self.last_write = Some(at);
        }
        let is_recent = at.duration_since(self.started) >= -CLOCK_SKEW_MAX;
        (self.is_synced && is_new && is_recent).then_some(controller)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cron_job_written_by(manager: &str, subresource: &str, time: &str) -> CronJob {
        let entry = json!({"manager": manager, "operation": "Update", "subresource": subresource,
            "time": time, "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {}}});
        let ours =
            json!({"manager": "punctual", "subresource": "status", "time": "2026-01-31T23:00:00Z"});
        let metadata = json!({"namespace": "n", "name": "a", "managedFields": [entry, ours]});
        serde_json::from_str(&json!({"metadata": metadata}).to_string()).unwrap()
    }

    fn written_by_kubernetes(time: &str) -> CronJob {
        cron_job_written_by("kube-controller-manager", "status", time)
    }

    #[test]
    fn a_status_writer_other_than_punctual_and_kubectl_is_a_competing_controller() {
        let (controller, _) =
            last_status_write(&written_by_kubernetes("2026-01-31T08:00:00Z")).unwrap();
        assert_eq!(
            controller.to_string(),
            "kube-controller-manager wrote the status of CronJob n/a at 2026-01-31T08:00:00Z"
        );
        let by_k3s = cron_job_written_by("k3s", "status", "2026-01-31T08:00:00Z");
        assert!(last_status_write(&by_k3s).is_some());
        for (manager, subresource) in
            [("kubectl-edit", "status"), ("kube-controller-manager", ""), ("punctual", "status")]
        {
            let cron_job = cron_job_written_by(manager, subresource, "2026-01-31T08:00:00Z");
            assert_eq!(last_status_write(&cron_job), None, "{manager}");
        }
        assert_eq!(last_status_write(&CronJob::default()), None);
    }

    #[test]
    fn only_writes_after_the_first_list_are_reported() {
        let mut tracker = StatusWriterTracker::new("2026-01-31T08:00:00Z".parse().unwrap());
        assert_eq!(tracker.observe(&written_by_kubernetes("2026-01-31T08:00:05Z")), None);
        tracker.set_synced();
        let listed_again = tracker.observe(&written_by_kubernetes("2026-01-31T08:00:05Z"));
        assert_eq!(listed_again, None);
        assert!(tracker.observe(&written_by_kubernetes("2026-01-31T08:00:06Z")).is_some());
        let seen_again = tracker.observe(&written_by_kubernetes("2026-01-31T08:00:06Z"));
        assert_eq!(seen_again, None, "each write is reported once");
    }

    #[test]
    fn old_writes_of_an_object_restored_from_a_backup_are_ignored() {
        let mut tracker = StatusWriterTracker::new("2026-01-31T08:00:00Z".parse().unwrap());
        tracker.set_synced();
        assert_eq!(tracker.observe(&written_by_kubernetes("2025-12-24T08:00:00Z")), None);
        let slightly_early = tracker.observe(&written_by_kubernetes("2026-01-31T07:59:30Z"));
        assert!(slightly_early.is_some(), "clocks may differ by up to a minute");
    }
}
