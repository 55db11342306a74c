//! One step of a Job's life: which Pods come, which go, and which may lose their finalizer.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_api::Time;

use super::Observed;
use super::backoff::Backoff;
use super::census::Census;
use super::ledger::{Ledger, STEP_PODS_MAX};
use super::scale::{self, Change};
use super::terms::Terms;
use super::verdict::{self, Verdict};
use super::view::{Phase, PodView};

/// One step.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) census: Census<'a>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) may_touch_pods: bool,
    pub(super) verdict: Option<Verdict>,
    pub(super) creates: Vec<Option<u32>>,
    pub(super) removals: Vec<&'a PodView>,
    /// Pods that lose their finalizer once the status is written.
    pub(super) released: Vec<&'a PodView>,
    /// The ledger with the released Pods entered.
    pub(super) ledger: Ledger,
    pub(super) wake_at: Option<Timestamp>,
}

impl<'a> Step<'a> {
    pub(super) fn next(
        terms: Terms<'a>,
        seen: &Observed<'a>,
        backoff: &Backoff,
        now: Timestamp,
    ) -> Self {
        let census = Census::take(terms, seen.pods);
        let started_at = started_at(&terms, now);
        // The Pods of a Job that is being deleted are the garbage collector's, or nobody's.
        let may_touch_pods = !seen.hands_off && !terms.is_deleting();
        let reached = verdict::reached(&census, started_at, now);
        let change = match &reached {
            None if may_touch_pods => scale::change(&census, backoff, now),
            _ => Change::default(),
        };
        let active = census.active.len() + change.creates.len() - change.removals.len();
        let verdict = reached.or_else(|| verdict::completed(&census, active));
        let deadline = verdict::deadline(&terms, started_at).filter(|_| verdict.is_none());
        let mut step = Step {
            started_at,
            may_touch_pods,
            verdict,
            creates: change.creates,
            removals: change.removals,
            released: Vec::new(),
            ledger: census.ledger.clone(),
            wake_at: deadline.into_iter().chain(change.wake_at).min(),
            census,
        };
        step.release();
        step
    }

    /// Active Pods after the step.
    pub(super) fn active(&self) -> usize {
        self.census.active.len() + self.creates.len() - self.removals.len()
    }

    /// Ready Pods after the step.
    pub(super) fn ready(&self) -> usize {
        let ready = |pods: &[&PodView]| pods.iter().filter(|pod| pod.ready.is_some()).count();
        ready(&self.census.active) - ready(&self.removals)
    }

    /// Whether the Job, having come to its end, has nothing left to count or to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.census.active.is_empty()
            && self.census.terminating == 0
            && self.census.tracked().next().is_none()
            && self.ledger.uncounted.is_empty()
    }

    /// Chooses the Pods that lose their finalizer and enters them in the ledger. Pods that are
    /// removed lose it without an entry: what they would have become, nobody will know.
    fn release(&mut self) {
        let census = &self.census;
        let mut ended: Vec<&PodView> =
            census.tracked().filter(|pod| self.may_release(pod)).collect();
        // Those that have an entry come first, so that the entries never exceed one step's.
        ended.sort_by_key(|pod| (!census.entries.has(pod), pod.index));
        ended.truncate(STEP_PODS_MAX);
        let all_failed = self.verdict.as_ref().is_some_and(|verdict| verdict.has_failed);
        for pod in &ended {
            self.ledger.enter(&census.terms, &census.entries, pod, all_failed);
        }
        self.released = ended;
        if self.verdict.is_some() {
            self.removals = self.dismissed();
        } else {
            self.released.extend(self.removals.iter().filter(|pod| pod.is_tracked));
        }
    }

    fn may_release(&self, pod: &PodView) -> bool {
        if self.census.terms.is_deleting() {
            return true;
        }
        if self.verdict.is_some() {
            // An active Pod is let go only to be deleted.
            return self.may_touch_pods || !pod.is_active();
        }
        pod.phase == Phase::Succeeded
            || self.census.terms.has_failed(pod) && !self.census.awaits_successor(pod)
    }

    /// The active Pods of a Job that has come to its end, as far as they are released.
    fn dismissed(&self) -> Vec<&'a PodView> {
        if !self.may_touch_pods {
            return Vec::new();
        }
        let released: HashSet<&str> = self.released.iter().map(|pod| pod.uid.as_str()).collect();
        let active = self.census.active.iter().copied();
        let ready_to_go =
            active.filter(|pod| !pod.is_tracked || released.contains(pod.uid.as_str()));
        ready_to_go.take(STEP_PODS_MAX).collect()
    }
}

/// Since when the Job is active. A suspended Job that never was has no start.
fn started_at(terms: &Terms<'_>, now: Timestamp) -> Option<Timestamp> {
    let before = terms.job.status.start_time;
    before.or_else(|| (!terms.is_suspended()).then(|| Time::new(now))).map(Time::timestamp)
}
