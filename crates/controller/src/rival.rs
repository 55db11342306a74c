//! Somebody else who looks after the same CronJobs: mostly the controller that Kubernetes has itself.
//!
//! Who wrote what is in `metadata.managedFields`: whoever wrote the status of a CronJob and is not us, and
//! is no person with kubectl, is a controller. Two of them would fight over the status, and run the slots
//! twice that are not on whole minutes. [`Probe`] gives another one something to do; here is what can be
//! seen of what it does anyway.

mod probe;

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use punctual_api::CronJob;
use serde::Deserialize;

pub use self::probe::Probe;

/// The name under which a server keeps what we wrote: the first part of our `User-Agent`.
pub const MANAGER: &str = "punctual";

/// What people write with.
const PEOPLE: &str = "kubectl";

/// A write that is older than our start by more is somebody's past, even on clocks that differ.
const SKEW_MAX: SignedDuration = SignedDuration::from_mins(1);

/// Somebody else, and how they showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rival {
    /// They wrote the status of a CronJob.
    Wrote {
        /// The name of their program.
        manager: String,
        /// The CronJob, with its namespace.
        cron_job: String,
        /// When, by the server's clock.
        at: Timestamp,
    },
    /// They took up our [`Probe`]. Who does that owns nothing of it in the end, so nothing says who it was.
    TookUp {
        /// The probe, with its namespace.
        cron_job: String,
    },
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rival::Wrote { manager, cron_job, at } => {
                write!(f, "{manager} wrote the status of CronJob {cron_job} at {at}")
            }
            Rival::TookUp { cron_job } => write!(f, "it took up CronJob {cron_job}"),
        }
    }
}

impl Rival {
    /// Who else wrote the status of a CronJob last, and when.
    pub(crate) fn of(cron_job: &CronJob) -> Option<(Rival, Timestamp)> {
        let fields = cron_job.metadata.managed_fields.as_ref()?;
        let entries: Vec<Entry> = serde_json::from_str(fields.get()).unwrap_or_default();
        let last = entries.into_iter().filter(Entry::is_rivals).max_by_key(|entry| entry.time)?;
        let (cron_job, at) = (cron_job.key().into_owned(), last.time?);
        Some((Rival::Wrote { manager: last.manager, cron_job, at }, at))
    }
}

/// What is read of an entry of `managedFields`.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Entry {
    manager: String,
    subresource: String,
    time: Option<Timestamp>,
}

impl Entry {
    fn is_rivals(&self) -> bool {
        let is_known = self.manager == MANAGER || self.manager.starts_with(PEOPLE);
        self.subresource == "status" && !is_known
    }
}

/// Tells what others have written since we look from what they wrote before.
///
/// Their past is known from the first list; what comes later than the last of it is new. The server's times
/// are compared with one another, and only roughly with ours: an object that is restored from a backup may
/// bring its past along.
#[derive(Debug)]
pub(crate) struct Past {
    started: Timestamp,
    last: Option<Timestamp>,
    is_complete: bool,
}

impl Past {
    pub(crate) fn new(started: Timestamp) -> Past {
        Past { started, last: None, is_complete: false }
    }

    /// The first list is over.
    pub(crate) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Whoever has written the status since we look.
    pub(crate) fn news(&mut self, cron_job: &CronJob) -> Option<Rival> {
        let (rival, at) = Rival::of(cron_job)?;
        let is_new = Some(at) > self.last;
        if is_new {
            self.last = Some(at);
        }
        let is_now = at.duration_since(self.started) >= -SKEW_MAX;
        (self.is_complete && is_new && is_now).then_some(rival)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(manager: &str, subresource: &str, time: &str) -> CronJob {
        let entry = json!({"manager": manager, "operation": "Update", "subresource": subresource,
            "time": time, "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {}}});
        let ours =
            json!({"manager": "punctual", "subresource": "status", "time": "2026-01-31T23:00:00Z"});
        let metadata = json!({"namespace": "n", "name": "a", "managedFields": [entry, ours]});
        serde_json::from_str(&json!({"metadata": metadata}).to_string()).unwrap()
    }

    fn by_kubernetes(time: &str) -> CronJob {
        written("kube-controller-manager", "status", time)
    }

    #[test]
    fn whoever_writes_the_status_and_is_neither_we_nor_a_person_is_a_rival() {
        let (rival, _) = Rival::of(&by_kubernetes("2026-01-31T08:00:00Z")).unwrap();
        assert_eq!(
            rival.to_string(),
            "kube-controller-manager wrote the status of CronJob n/a at 2026-01-31T08:00:00Z"
        );
        assert!(Rival::of(&written("k3s", "status", "2026-01-31T08:00:00Z")).is_some());
        for (manager, subresource) in
            [("kubectl-edit", "status"), ("kube-controller-manager", ""), ("punctual", "status")]
        {
            let cron_job = written(manager, subresource, "2026-01-31T08:00:00Z");
            assert_eq!(Rival::of(&cron_job), None, "{manager}");
        }
        assert_eq!(Rival::of(&CronJob::default()), None);
    }

    #[test]
    fn only_what_is_written_after_the_first_list_is_news() {
        let mut past = Past::new("2026-01-31T08:00:00Z".parse().unwrap());
        assert_eq!(past.news(&by_kubernetes("2026-01-31T08:00:05Z")), None);
        past.complete();
        assert_eq!(past.news(&by_kubernetes("2026-01-31T08:00:05Z")), None, "listed once more");
        assert!(past.news(&by_kubernetes("2026-01-31T08:00:06Z")).is_some());
        assert_eq!(past.news(&by_kubernetes("2026-01-31T08:00:06Z")), None, "told once");
    }

    #[test]
    fn a_past_that_comes_with_a_backup_is_none_of_ours() {
        let mut past = Past::new("2026-01-31T08:00:00Z".parse().unwrap());
        past.complete();
        assert_eq!(past.news(&by_kubernetes("2025-12-24T08:00:00Z")), None);
        assert!(past.news(&by_kubernetes("2026-01-31T07:59:30Z")).is_some(), "clocks differ");
    }
}
