//! Simulates one Job, its Pods, the node that runs them, and the clock.
//!
//! It rejects the same status updates as kube-apiserver, and checks each effect: no Pod may lose
//! its finalizer before its result is in the status.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::{JobStatus, condition};
use punctual_api::pod::status::{ContainerStateRunning, ContainerStateTerminated};
use punctual_api::pod::{ContainerState, ContainerStatus, PodCondition};
use punctual_api::well_known::finalizers::JOB_TRACKING;
use punctual_api::{Job, Pod, Time, validate};
use punctual_engine::PendingEvent;
use punctual_engine::job::{Backoff, Indexes, Observed, Plan, PodView, decide};

/// The outcome of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodOutcome {
    /// The Pod finishes with this exit code.
    Exit(i32),
    /// The Pod runs until it is deleted, and is ready.
    Run,
    /// The Pod runs until it is deleted, with this restart count.
    Restart(i32),
    /// A user deletes the Pod while it runs.
    Deleted,
}

/// Chooses the outcome of a Pod by its number in the order of creation.
pub(crate) type OutcomeFn = Box<dyn FnMut(usize, &Pod) -> PodOutcome>;

/// How long a Pod runs at least before it finishes.
const RUN_SECS: i64 = 1;

/// How long it takes to delete a Pod.
const DELETE_SECS: i64 = 1;

pub(crate) struct JobSimulator {
    pub(crate) now: Timestamp,
    pub(crate) job: Option<Job>,
    pub(crate) pods: BTreeMap<String, Pod>,
    /// Deleted Pods in their last state.
    pub(crate) deleted_pods: Vec<Pod>,
    pub(crate) events: Vec<PendingEvent>,
    /// The statuses in the order in which they were written.
    pub(crate) written: Vec<JobStatus>,
    backoff: Backoff,
    /// The changes of Pods to come, by time and Pod.
    scheduled_changes: BTreeMap<(Timestamp, String), PodChange>,
    pub(crate) outcome_of: OutcomeFn,
    created: usize,
    /// The maximum difference between the run times of Pods.
    pub(crate) spread_secs: usize,
    /// Whether a deleted Pod reports an exit code.
    pub(crate) reports_exit_on_delete: bool,
    /// The recorded results of Pods that lost the finalizer.
    pub(crate) recorded: RecordedCounts,
}

#[derive(Clone, Copy, Debug)]
enum PodChange {
    Finish(PodOutcome),
    Delete,
}

/// The numbers of Pods that lost the finalizer, by their result in the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedCounts {
    pub(crate) succeeded: i32,
    pub(crate) failed: i32,
}

impl JobSimulator {
    pub(crate) fn new(job: Job, now: Timestamp) -> Self {
        JobSimulator {
            now,
            job: Some(job),
            pods: BTreeMap::new(),
            deleted_pods: Vec::new(),
            events: Vec::new(),
            written: Vec::new(),
            backoff: Backoff::default(),
            scheduled_changes: BTreeMap::new(),
            outcome_of: Box::new(|_, _| PodOutcome::Exit(0)),
            created: 0,
            spread_secs: 0,
            reports_exit_on_delete: false,
            recorded: RecordedCounts::default(),
        }
    }

    pub(crate) fn decide(&self, status_only: bool) -> Plan {
        let Some(job) = &self.job else { return Plan::default() };
        let pods: Vec<PodView> = self.pods.values().map(PodView::from_pod).collect();
        let observed = Observed { job, pods: &pods, backoff: &self.backoff, status_only };
        decide(&observed, self.now)
    }

    /// Drops all state that is not in an object.
    pub(crate) fn crash(&mut self) {
        self.backoff = Backoff::default();
    }

    /// Executes a plan, but at most `effects_max` of its effects.
    pub(crate) fn execute(&mut self, plan: &Plan, effects_max: usize) {
        let mut spent = 0;
        let mut next = || {
            spent += 1;
            spent <= effects_max
        };
        self.backoff = plan.backoff.clone();
        for create in &plan.pods_to_create {
            if !next() {
                return;
            }
            self.create(&create.pod);
            self.events.push(create.created_event());
        }
        if let Some(status) = &plan.status {
            if !next() {
                return;
            }
            self.write(status);
        }
        for key in &plan.finalizers_to_remove {
            if !next() {
                return;
            }
            self.remove_finalizer(&key.name, plan);
        }
        for delete in &plan.pods_to_delete {
            if !next() {
                return;
            }
            self.delete(&delete.key.name);
            self.events.push(delete.deleted_event());
        }
        if let Some(delete) = &plan.delete_job {
            let job = self.job.take().unwrap();
            assert_eq!(delete.uid, job.metadata.uid);
            self.deleted_pods.extend(std::mem::take(&mut self.pods).into_values());
        }
        self.events.extend(plan.events.iter().cloned());
    }

    fn create(&mut self, pod: &Pod) {
        let mut pod = pod.clone();
        let name = pod.metadata.name.clone();
        assert!(name.starts_with(&pod.metadata.generate_name), "{name}");
        assert!(!self.pods.contains_key(&name), "{name} already exists");
        pod.metadata.uid = format!("uid-of-pod-{}", self.created);
        pod.metadata.creation_timestamp = Some(Time::new(self.now));
        pod.status.phase = "Pending".to_owned();
        let outcome = (self.outcome_of)(self.created, &pod);
        let extra_secs = self.created * 3 % (self.spread_secs + 1);
        let due_at = self.now + SignedDuration::from_secs(RUN_SECS + extra_secs as i64);
        self.created += 1;
        self.scheduled_changes.insert((due_at, name.clone()), PodChange::Finish(outcome));
        self.pods.insert(name, pod);
    }

    fn write(&mut self, status: &JobStatus) {
        let old = self.job.as_ref().unwrap();
        let mut new = old.clone();
        new.status = status.clone();
        let errors = validate::job_status_update(&new, old);
        assert!(errors.is_empty(), "{errors:?}\nold {:?}\nnew {status:?}", old.status);
        self.written.push(status.clone());
        self.job = Some(new);
    }

    fn remove_finalizer(&mut self, name: &str, plan: &Plan) {
        let pod = &self.pods[name];
        assert!(is_tracked(pod), "{name} had no finalizer");
        self.check_recorded(pod, plan);
        let uncounted = self.uncounted();
        self.recorded.succeeded += i32::from(uncounted.0.contains(&pod.metadata.uid));
        self.recorded.failed += i32::from(uncounted.1.contains(&pod.metadata.uid));
        let pod = self.pods.get_mut(name).unwrap();
        pod.metadata.finalizers.retain(|finalizer| finalizer != JOB_TRACKING);
        self.remove_if_deleted(name);
    }

    fn uncounted(&self) -> (Vec<String>, Vec<String>) {
        let pods = self.job.as_ref().unwrap().status.uncounted_terminated_pods.clone();
        let pods = pods.unwrap_or_default();
        (pods.succeeded, pods.failed)
    }

    /// Checks that the result of a Pod is in the status before the Pod loses its finalizer.
    fn check_recorded(&self, pod: &Pod, plan: &Plan) {
        let job = self.job.as_ref().unwrap();
        let (succeeded, failed) = self.uncounted();
        let uid = &pod.metadata.uid;
        if job.status.is_finished() || succeeded.contains(uid) || failed.contains(uid) {
            return;
        }
        let view = PodView::from_pod(pod);
        let is_index_in = |text: &str| {
            view.index.is_some_and(|index| Indexes::parse(text, u32::MAX).contains(index))
        };
        let message = format!("{} ({}) was not recorded", pod.metadata.name, pod.status.phase);
        match pod.status.phase.as_str() {
            "Succeeded" => {
                let failed_indexes = job.status.failed_indexes.as_deref().unwrap_or_default();
                let is_completed = is_index_in(&job.status.completed_indexes);
                assert!(is_completed || is_index_in(failed_indexes), "{message}");
            }
            "Failed" => assert!(is_ignored(job, &view), "{message}"),
            _ => {
                let is_removed = plan.pods_to_delete.iter().any(|delete| delete.key.uid == *uid);
                let is_over = job.status.is_true(condition::SUCCESS_CRITERIA_MET);
                let is_deleting = job.metadata.deletion_timestamp.is_some();
                assert!(
                    is_removed || is_over || is_deleting || is_ignored(job, &view),
                    "{message}"
                );
            }
        }
    }

    /// Requests the deletion of a Pod.
    pub(crate) fn delete(&mut self, name: &str) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        let grace = SignedDuration::from_secs(30);
        pod.metadata.deletion_timestamp.get_or_insert(Time::new(self.now + grace));
        pod.metadata.deletion_grace_period_seconds = Some(30);
        let due_at = self.now + SignedDuration::from_secs(DELETE_SECS);
        self.scheduled_changes.insert((due_at, name.to_owned()), PodChange::Delete);
    }

    /// Removes a deleted Pod that has stopped and has no finalizer.
    fn remove_if_deleted(&mut self, name: &str) {
        let is_removable = |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
                && pod.metadata.finalizers.is_empty()
                && (pod.status.is_terminal() || pod.status.reason == "Stopped")
        };
        if self.pods.get(name).is_some_and(is_removable) {
            self.deleted_pods.extend(self.pods.remove(name));
        }
    }

    /// Returns the time of the next change of a Pod.
    pub(crate) fn next_change_at(&self) -> Option<Timestamp> {
        self.scheduled_changes.keys().next().map(|(at, _)| *at)
    }

    /// Applies the changes of Pods that are due.
    pub(crate) fn apply_due_changes(&mut self) {
        while let Some(due) =
            self.scheduled_changes.first_entry().filter(|due| due.key().0 <= self.now)
        {
            let ((_, name), change) = due.remove_entry();
            match change {
                PodChange::Finish(outcome) => self.apply_outcome(&name, outcome),
                PodChange::Delete => self.stop(&name),
            }
        }
    }

    fn apply_outcome(&mut self, name: &str, outcome: PodOutcome) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        if pod.status.is_terminal() || pod.metadata.deletion_timestamp.is_some() {
            return;
        }
        pod.spec.node_name = "n1".to_owned();
        match outcome {
            PodOutcome::Exit(code) => finish(pod, code, self.now),
            PodOutcome::Run => run(pod, 0, true, self.now),
            PodOutcome::Restart(count) => run(pod, count, false, self.now),
            PodOutcome::Deleted => {
                run(pod, 0, true, self.now);
                self.delete(name);
            }
        }
    }

    fn stop(&mut self, name: &str) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        if !pod.status.is_terminal() && self.reports_exit_on_delete {
            finish(pod, 143, self.now);
        }
        pod.status.reason = "Stopped".to_owned();
        self.remove_if_deleted(name);
    }
}

/// Whether the failure policy of these tests ignores the failure of a Pod.
fn is_ignored(job: &Job, pod: &PodView) -> bool {
    let rules = job.spec.pod_failure_policy.as_ref().map(|policy| policy.rules.as_slice());
    let mut ignored = rules.unwrap_or_default().iter().filter(|rule| rule.action == "Ignore");
    ignored.any(|rule| {
        let codes = rule.on_exit_codes.as_ref();
        codes.is_some_and(|codes| pod.exits.iter().any(|exit| codes.values.contains(&exit.code)))
    })
}

pub(crate) fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().any(|finalizer| finalizer == JOB_TRACKING)
}

fn finish(pod: &mut Pod, code: i32, now: Timestamp) {
    pod.status.phase = if code == 0 { "Succeeded" } else { "Failed" }.to_owned();
    pod.status.conditions.clear();
    let terminated = ContainerStateTerminated {
        exit_code: code,
        finished_at: Some(Time::new(now)),
        ..ContainerStateTerminated::default()
    };
    pod.status.container_statuses = vec![ContainerStatus {
        name: "c".to_owned(),
        state: ContainerState { terminated: Some(terminated), ..ContainerState::default() },
        ..ContainerStatus::default()
    }];
}

fn run(pod: &mut Pod, restarts: i32, is_ready: bool, now: Timestamp) {
    pod.status.phase = "Running".to_owned();
    let running = Some(ContainerStateRunning { started_at: Some(Time::new(now)) });
    pod.status.container_statuses = vec![ContainerStatus {
        name: "c".to_owned(),
        restart_count: restarts,
        state: ContainerState { running, ..ContainerState::default() },
        ..ContainerStatus::default()
    }];
    if is_ready {
        pod.status.conditions = vec![PodCondition {
            condition_type: "Ready".to_owned(),
            status: "True".to_owned(),
            last_transition_time: Some(Time::new(now)),
            ..PodCondition::default()
        }];
    }
}
