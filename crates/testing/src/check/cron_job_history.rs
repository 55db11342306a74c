//! What the checker knows of one CronJob: its specs, statuses and Jobs over time.

use std::sync::Arc;

use jiff::Timestamp;

use super::objects::{JobResult, ObservedSpec, PodResult, RequestedRun, StoredStatus};
use crate::oracle::UnixSeconds;
use crate::scenario::Millis;

/// The time of an end that has not happened: later than the end of every simulation.
pub(super) const OPEN_END: Millis = Millis::MAX / 4;

/// A CronJob, identified by its UID.
#[derive(Debug)]
pub(super) struct CronJobHistory {
    pub(super) uid: String,
    /// `CronJob` or `ScheduledJob`.
    pub(super) kind: &'static str,
    /// `c0` and so on.
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) created_at: Millis,
    /// `creationTimestamp`, by the clock of the server.
    pub(super) creation: UnixSeconds,
    /// Its specs in order of time; each ends when the next starts.
    pub(super) periods: Vec<SpecPeriod>,
    /// Its statuses in order of time.
    pub(super) statuses: Vec<(Millis, StoredStatus)>,
    /// When it was removed or got a deletion timestamp; [`OPEN_END`] if it still exists.
    pub(super) deleted_at: Millis,
    /// The Jobs that it controls, in order of their creation.
    pub(super) runs: Vec<JobRun>,
}

/// A period in which a CronJob had one spec.
#[derive(Debug)]
pub(super) struct SpecPeriod {
    pub(super) from: Millis,
    pub(super) to: Millis,
    /// When the present schedule and zone took effect.
    pub(super) scheduled_since: Millis,
    pub(super) spec: ObservedSpec,
}

/// A Job.
#[derive(Debug)]
pub(super) struct JobRun {
    pub(super) uid: String,
    pub(super) key: Arc<str>,
    /// The UID of its controller.
    pub(super) owner: Option<String>,
    /// The kind of its controller.
    pub(super) owner_kind: String,
    /// The slot in its annotation, unless a request asked for it.
    pub(super) slot: Option<UnixSeconds>,
    /// The request that asked for it.
    pub(super) request: Option<RequestedRun>,
    pub(super) created_at: Millis,
    pub(super) started: Option<Timestamp>,
    pub(super) end: Option<JobEnd>,
    /// The numbers of succeeded and failed Pods in its status.
    pub(super) counted: (i64, i64),
    /// When it got a deletion timestamp or was removed.
    pub(super) deleted_at: Millis,
    /// When it was removed.
    pub(super) removed_at: Millis,
    /// Whether it has our finalizer in its last version.
    pub(super) has_finalizer: bool,
    pub(super) has_ttl: bool,
    /// Whether a user may have deleted it.
    pub(super) is_deleted_by_user: bool,
}

/// How and when a Job ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobEnd {
    pub(super) at: Millis,
    pub(super) result: JobResult,
    pub(super) completed: Option<Timestamp>,
}

/// A Pod.
#[derive(Debug)]
pub(super) struct PodRecord {
    pub(super) uid: String,
    pub(super) key: Arc<str>,
    pub(super) job: Option<String>,
    pub(super) created_at: Millis,
    /// When it got a deletion timestamp or was removed.
    pub(super) deleted_at: Millis,
    /// The grace period of its deletion.
    pub(super) grace: Millis,
    pub(super) removed_at: Millis,
    /// The result in its status from each time on; `None` if the status has no result.
    pub(super) results: Vec<(Millis, Option<PodResult>)>,
}

impl CronJobHistory {
    /// The specs that a process may see at a time if its cache is behind by `staleness`.
    pub(super) fn visible_at(
        &self,
        at: Millis,
        staleness: Millis,
    ) -> impl Iterator<Item = &SpecPeriod> {
        let last = self.periods.last().map_or(0, |last| last.from);
        let is_visible = move |period: &&SpecPeriod| {
            period.from <= at && (period.to > at - staleness || period.from == last)
        };
        self.periods.iter().filter(is_visible)
    }

    /// The status at a time.
    pub(super) fn status_at(&self, at: Millis) -> Option<&StoredStatus> {
        let past = self.statuses.iter().rev().find(|(from, _)| *from <= at);
        past.map(|(_, status)| status)
    }

    /// The first Job of a slot.
    pub(super) fn run_for(&self, slot: UnixSeconds) -> Option<&JobRun> {
        self.runs.iter().find(|run| run.slot == Some(slot))
    }

    pub(super) fn exists_at_end(&self) -> bool {
        self.deleted_at == OPEN_END
    }

    /// The spec at the end.
    pub(super) fn last_spec(&self) -> Option<&ObservedSpec> {
        self.periods.last().map(|period| &period.spec)
    }

    /// The storage key of the Job of a slot.
    pub(super) fn job_key(&self, slot: UnixSeconds) -> String {
        let CronJobHistory { namespace, name, .. } = self;
        let number = if slot % 60 == 0 { slot / 60 } else { slot };
        format!("/jobs.batch/{namespace}/{name}-{number}")
    }
}

impl JobRun {
    pub(super) fn ended_at(&self) -> Millis {
        self.end.map_or(OPEN_END, |end| end.at)
    }

    /// The slot that it ran for, whether it was due or requested.
    pub(super) fn any_slot(&self) -> Option<UnixSeconds> {
        self.slot.or(self.request.as_ref().map(|request| request.slot))
    }

    /// When it ended or was removed.
    pub(super) fn active_until(&self) -> Millis {
        self.ended_at().min(self.removed_at)
    }

    pub(super) fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }
}
