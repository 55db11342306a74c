//! One step for a Job: which Pods are created, deleted and lose their finalizer.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_api::Time;

use super::Observed;
use super::backoff::Backoff;
use super::finished_condition::{self, FinishedCondition};
use super::job_params::JobParams;
use super::pod_summary::PodSummary;
use super::pod_tracking::{PodTracking, STEP_PODS_MAX};
use super::pod_view::{PodPhase, PodView};
use super::scale::{self, PodChanges};

/// One step for a Job. [`super::Plan`] is built from it.
#[derive(Debug)]
pub(super) struct JobStep<'a> {
    pub(super) summary: PodSummary<'a>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) may_change_pods: bool,
    pub(super) finished: Option<FinishedCondition>,
    /// For each Pod to create, its index.
    pub(super) creates: Vec<Option<u32>>,
    pub(super) removals: Vec<&'a PodView>,
    /// Pods whose finalizer is removed after the status is written.
    pub(super) untracked: Vec<&'a PodView>,
    /// The counts to write, with the UIDs of the `untracked` Pods.
    pub(super) tracking: PodTracking,
    pub(super) wake_at: Option<Timestamp>,
}

impl<'a> JobStep<'a> {
    pub(super) fn next(
        params: JobParams<'a>,
        observed: &Observed<'a>,
        backoff: &Backoff,
        now: Timestamp,
    ) -> Self {
        let summary = PodSummary::new(params, observed.pods);
        let started_at = started_at(&params, now);
        // The garbage collector deletes the Pods of a deleted Job, unless they are orphaned.
        let may_change_pods = !observed.status_only && !params.is_deleting();
        let reached = finished_condition::find_finished(&summary, started_at, now);
        let changes = match &reached {
            None if may_change_pods => scale::plan_pod_changes(&summary, backoff, now),
            _ => PodChanges::default(),
        };
        let active = summary.active.len() + changes.creates.len() - changes.removals.len();
        let finished = reached.or_else(|| finished_condition::find_completed(&summary, active));
        let deadline = match finished {
            None => finished_condition::deadline(&params, started_at),
            Some(_) => None,
        };
        let mut step = JobStep {
            started_at,
            may_change_pods,
            finished,
            creates: changes.creates,
            removals: changes.removals,
            untracked: Vec::new(),
            tracking: summary.tracking.clone(),
            wake_at: deadline.into_iter().chain(changes.wake_at).min(),
            summary,
        };
        step.choose_untracked();
        step
    }

    /// The number of active Pods after the step.
    pub(super) fn active(&self) -> usize {
        self.summary.active.len() + self.creates.len() - self.removals.len()
    }

    /// The number of ready Pods after the step.
    pub(super) fn ready(&self) -> usize {
        let ready = |pods: &[&PodView]| pods.iter().filter(|pod| pod.ready.is_some()).count();
        ready(&self.summary.active) - ready(&self.removals)
    }

    /// Whether no Pod is left to count or to wait for, so that a Job that has succeeded or failed
    /// gets its final condition.
    pub(super) fn has_no_pods_left(&self) -> bool {
        self.summary.active.is_empty()
            && self.summary.terminating == 0
            && self.summary.tracked().next().is_none()
            && self.tracking.uncounted.is_empty()
    }

    /// Chooses the Pods that lose their finalizer, and adds their UIDs to the status. Active Pods
    /// that are removed lose it without being recorded, because they have no result.
    fn choose_untracked(&mut self) {
        let summary = &self.summary;
        let mut finished: Vec<&PodView> =
            summary.tracked().filter(|pod| self.may_untrack(pod)).collect();
        // Recorded Pods come first, so that the status never has more UIDs than one step adds.
        finished.sort_by_key(|pod| (!summary.uncounted.contains(pod), pod.index));
        finished.truncate(STEP_PODS_MAX);
        let has_job_failed = self.finished.as_ref().is_some_and(|finished| finished.has_failed);
        for pod in &finished {
            self.tracking.add_uncounted(&summary.params, &summary.uncounted, pod, has_job_failed);
        }
        self.untracked = finished;
        if self.finished.is_some() {
            self.removals = self.removals_after_finish();
        } else {
            self.untracked.extend(self.removals.iter().filter(|pod| pod.is_tracked));
        }
    }

    fn may_untrack(&self, pod: &PodView) -> bool {
        if self.summary.params.is_deleting() {
            return true;
        }
        if self.finished.is_some() {
            // An active Pod loses its finalizer only in order to be deleted.
            return self.may_change_pods || !pod.is_active();
        }
        pod.phase == PodPhase::Succeeded
            || self.summary.params.has_failed(pod) && !self.summary.awaits_replacement(pod)
    }

    /// Returns the active Pods to delete after the Job has succeeded or failed: those without a
    /// finalizer after this step.
    fn removals_after_finish(&self) -> Vec<&'a PodView> {
        if !self.may_change_pods {
            return Vec::new();
        }
        let untracked: HashSet<&str> = self.untracked.iter().map(|pod| pod.uid.as_str()).collect();
        let active = self.summary.active.iter().copied();
        let deletable =
            active.filter(|pod| !pod.is_tracked || untracked.contains(pod.uid.as_str()));
        deletable.take(STEP_PODS_MAX).collect()
    }
}

/// Returns `status.startTime`, or `now` for a Job that starts. A suspended Job has no start time.
fn started_at(params: &JobParams<'_>, now: Timestamp) -> Option<Timestamp> {
    let recorded = params.job.status.start_time;
    recorded.or_else(|| (!params.is_suspended()).then(|| Time::new(now))).map(Time::timestamp)
}
