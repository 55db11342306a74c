//! One step of a Job's life: which Pods come, which go, and which may lose their finalizer.

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

/// One step.
#[derive(Debug)]
pub(super) struct JobStep<'a> {
    pub(super) summary: PodSummary<'a>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) may_touch_pods: bool,
    pub(super) finished: Option<FinishedCondition>,
    pub(super) creates: Vec<Option<u32>>,
    pub(super) removals: Vec<&'a PodView>,
    /// Pods that lose their finalizer once the status is written.
    pub(super) released: Vec<&'a PodView>,
    /// The tracking with the released Pods entered.
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
        // The Pods of a Job that is being deleted are the garbage collector's, or nobody's.
        let may_touch_pods = !observed.status_only && !params.is_deleting();
        let reached = finished_condition::reached(&summary, started_at, now);
        let change = match &reached {
            None if may_touch_pods => scale::change(&summary, backoff, now),
            _ => PodChanges::default(),
        };
        let active = summary.active.len() + change.creates.len() - change.removals.len();
        let finished = reached.or_else(|| finished_condition::completed(&summary, active));
        let deadline =
            finished_condition::deadline(&params, started_at).filter(|_| finished.is_none());
        let mut step = JobStep {
            started_at,
            may_touch_pods,
            finished,
            creates: change.creates,
            removals: change.removals,
            released: Vec::new(),
            tracking: summary.tracking.clone(),
            wake_at: deadline.into_iter().chain(change.wake_at).min(),
            summary,
        };
        step.release();
        step
    }

    /// Active Pods after the step.
    pub(super) fn active(&self) -> usize {
        self.summary.active.len() + self.creates.len() - self.removals.len()
    }

    /// Ready Pods after the step.
    pub(super) fn ready(&self) -> usize {
        let ready = |pods: &[&PodView]| pods.iter().filter(|pod| pod.ready.is_some()).count();
        ready(&self.summary.active) - ready(&self.removals)
    }

    /// Whether the Job, having come to its end, has nothing left to count or to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.summary.active.is_empty()
            && self.summary.terminating == 0
            && self.summary.tracked().next().is_none()
            && self.tracking.uncounted.is_empty()
    }

    /// Chooses the Pods that lose their finalizer and enters them in the tracking. Pods that are
    /// removed lose it without an entry: what they would have become, nobody will know.
    fn release(&mut self) {
        let summary = &self.summary;
        let mut ended: Vec<&PodView> =
            summary.tracked().filter(|pod| self.may_release(pod)).collect();
        // Those that have an entry come first, so that the entries never exceed one step's.
        ended.sort_by_key(|pod| (!summary.entries.has(pod), pod.index));
        ended.truncate(STEP_PODS_MAX);
        let all_failed = self.finished.as_ref().is_some_and(|finished| finished.has_failed);
        for pod in &ended {
            self.tracking.enter(&summary.params, &summary.entries, pod, all_failed);
        }
        self.released = ended;
        if self.finished.is_some() {
            self.removals = self.dismissed();
        } else {
            self.released.extend(self.removals.iter().filter(|pod| pod.is_tracked));
        }
    }

    fn may_release(&self, pod: &PodView) -> bool {
        if self.summary.params.is_deleting() {
            return true;
        }
        if self.finished.is_some() {
            // An active Pod is let go only to be deleted.
            return self.may_touch_pods || !pod.is_active();
        }
        pod.phase == PodPhase::Succeeded
            || self.summary.params.has_failed(pod) && !self.summary.awaits_successor(pod)
    }

    /// The active Pods of a Job that has come to its end, as far as they are released.
    fn dismissed(&self) -> Vec<&'a PodView> {
        if !self.may_touch_pods {
            return Vec::new();
        }
        let released: HashSet<&str> = self.released.iter().map(|pod| pod.uid.as_str()).collect();
        let active = self.summary.active.iter().copied();
        let ready_to_go =
            active.filter(|pod| !pod.is_tracked || released.contains(pod.uid.as_str()));
        ready_to_go.take(STEP_PODS_MAX).collect()
    }
}

/// Since when the Job is active. A suspended Job that never was has no start.
fn started_at(params: &JobParams<'_>, now: Timestamp) -> Option<Timestamp> {
    let before = params.job.status.start_time;
    before.or_else(|| (!params.is_suspended()).then(|| Time::new(now))).map(Time::timestamp)
}
