//! A tiny world: one Job, its Pods, a node that runs them as told, and a clock that jumps.
//!
//! The server in it refuses what kube-apiserver refuses of a status, and the checker in it looks at
//! each single effect: no Pod may lose its finalizer before what becomes of it is written down.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::{JobStatus, condition};
use punctual_api::pod::status::{ContainerStateRunning, ContainerStateTerminated};
use punctual_api::pod::{ContainerState, ContainerStatus, PodCondition};
use punctual_api::well_known::finalizers::JOB_TRACKING;
use punctual_api::{Job, Pod, Time, validate};
use punctual_engine::PendingEvent;
use punctual_engine::job::{Backoff, Indexes, Observed, Plan, PodView, decide};

/// What becomes of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectResult {
    /// Ends with that code.
    ContainerExit(i32),
    /// Runs until it is deleted, and is ready.
    Run,
    /// Runs until it is deleted, restarted so often so far.
    Restart(i32),
    /// Somebody deletes it while it runs.
    Deleted,
}

/// What becomes of a Pod, by its number in order of creation.
pub(crate) type Fate = Box<dyn FnMut(usize, &Pod) -> EffectResult>;

/// How long a Pod runs before it ends, at least, and how long it takes to go.
const RUN_SECS: i64 = 1;
const GO_SECS: i64 = 1;

pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) job: Option<Job>,
    pub(crate) pods: BTreeMap<String, Pod>,
    /// Pods that were there, as they were last.
    pub(crate) gone: Vec<Pod>,
    pub(crate) events: Vec<PendingEvent>,
    /// Statuses in the order they were written.
    pub(crate) written: Vec<JobStatus>,
    backoff: Backoff,
    /// When what happens to which Pod.
    agenda: BTreeMap<(Timestamp, String), Happening>,
    pub(crate) outcome_of: Fate,
    created: usize,
    /// By how much Pods differ in how long they run.
    pub(crate) spread_secs: usize,
    /// Whether a Pod that is deleted gets to say that it failed.
    pub(crate) dies_aloud: bool,
    /// What Pods were entered as when they lost the finalizer.
    pub(crate) entered: Entered,
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    EffectResult(EffectResult),
    Death,
}

/// Pods that lost the finalizer, by what the status said of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entered {
    pub(crate) succeeded: i32,
    pub(crate) failed: i32,
}

impl World {
    pub(crate) fn new(job: Job, now: Timestamp) -> Self {
        World {
            now,
            job: Some(job),
            pods: BTreeMap::new(),
            gone: Vec::new(),
            events: Vec::new(),
            written: Vec::new(),
            backoff: Backoff::default(),
            agenda: BTreeMap::new(),
            outcome_of: Box::new(|_, _| EffectResult::ContainerExit(0)),
            created: 0,
            spread_secs: 0,
            dies_aloud: false,
            entered: Entered::default(),
        }
    }

    pub(crate) fn decide(&self, status_only: bool) -> Plan {
        let Some(job) = &self.job else { return Plan::default() };
        let pods: Vec<PodView> = self.pods.values().map(PodView::from_pod).collect();
        let seen = Observed { job, pods: &pods, backoff: &self.backoff, status_only };
        decide(&seen, self.now)
    }

    /// Forgets what is not in an object.
    pub(crate) fn crash(&mut self) {
        self.backoff = Backoff::default();
    }

    /// Carries out a plan, but no more than so many effects of it.
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
            self.untrack(&key.name, plan);
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
            self.gone.extend(std::mem::take(&mut self.pods).into_values());
        }
        self.events.extend(plan.events.iter().cloned());
    }

    fn create(&mut self, pod: &Pod) {
        let mut pod = pod.clone();
        let name = pod.metadata.name.clone();
        assert!(name.starts_with(&pod.metadata.generate_name), "{name}");
        assert!(!self.pods.contains_key(&name), "{name} is there already");
        pod.metadata.uid = format!("uid-of-pod-{}", self.created);
        pod.metadata.creation_timestamp = Some(Time::new(self.now));
        pod.status.phase = "Pending".to_owned();
        let outcome = (self.outcome_of)(self.created, &pod);
        let more = self.created * 3 % (self.spread_secs + 1);
        let due_at = self.now + SignedDuration::from_secs(RUN_SECS + more as i64);
        self.created += 1;
        self.agenda.insert((due_at, name.clone()), Happening::EffectResult(outcome));
        self.pods.insert(name, pod);
    }

    fn write(&mut self, status: &JobStatus) {
        let old = self.job.as_ref().unwrap();
        let mut new = old.clone();
        new.status = status.clone();
        let refused = validate::job_status_update(&new, old);
        assert!(refused.is_empty(), "{refused:?}\nold {:?}\nnew {status:?}", old.status);
        self.written.push(status.clone());
        self.job = Some(new);
    }

    fn untrack(&mut self, name: &str, plan: &Plan) {
        let pod = &self.pods[name];
        assert!(is_tracked(pod), "{name} had no finalizer");
        self.check_entry(pod, plan);
        let uncounted = self.uncounted();
        self.entered.succeeded += i32::from(uncounted.0.contains(&pod.metadata.uid));
        self.entered.failed += i32::from(uncounted.1.contains(&pod.metadata.uid));
        let pod = self.pods.get_mut(name).unwrap();
        pod.metadata.finalizers.retain(|finalizer| finalizer != JOB_TRACKING);
        self.reap(name);
    }

    fn uncounted(&self) -> (Vec<String>, Vec<String>) {
        let pods = self.job.as_ref().unwrap().status.uncounted_terminated_pods.clone();
        let pods = pods.unwrap_or_default();
        (pods.succeeded, pods.failed)
    }

    /// What is known of a Pod must be in the status before the Pod may go.
    fn check_entry(&self, pod: &Pod, plan: &Plan) {
        let job = self.job.as_ref().unwrap();
        let (succeeded, failed) = self.uncounted();
        let uid = &pod.metadata.uid;
        if job.status.is_finished() || succeeded.contains(uid) || failed.contains(uid) {
            return;
        }
        let view = PodView::from_pod(pod);
        let index_is_in = |text: &str| {
            view.index.is_some_and(|index| Indexes::parse(text, u32::MAX).contains(index))
        };
        let what = format!("{} ({}) left without a trace", pod.metadata.name, pod.status.phase);
        match pod.status.phase.as_str() {
            "Succeeded" => {
                let failed_indexes = job.status.failed_indexes.as_deref().unwrap_or_default();
                let is_known = index_is_in(&job.status.completed_indexes);
                assert!(is_known || index_is_in(failed_indexes), "{what}");
            }
            "Failed" => assert!(is_ignored(job, &view), "{what}"),
            _ => {
                let is_removed = plan.pods_to_delete.iter().any(|delete| delete.key.uid == *uid);
                let is_over = job.status.is_true(condition::SUCCESS_CRITERIA_MET);
                let is_deleting = job.metadata.deletion_timestamp.is_some();
                assert!(is_removed || is_over || is_deleting || is_ignored(job, &view), "{what}");
            }
        }
    }

    /// Asks a Pod to go, as a controller or a person would.
    pub(crate) fn delete(&mut self, name: &str) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        let grace = SignedDuration::from_secs(30);
        pod.metadata.deletion_timestamp.get_or_insert(Time::new(self.now + grace));
        pod.metadata.deletion_grace_period_seconds = Some(30);
        let due_at = self.now + SignedDuration::from_secs(GO_SECS);
        self.agenda.insert((due_at, name.to_owned()), Happening::Death);
    }

    /// Removes a Pod that nothing holds any more.
    fn reap(&mut self, name: &str) {
        let is_dead = |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
                && pod.metadata.finalizers.is_empty()
                && (pod.status.is_terminal() || pod.status.reason == "Dead")
        };
        if self.pods.get(name).is_some_and(is_dead) {
            self.gone.extend(self.pods.remove(name));
        }
    }

    /// When something happens to a Pod next.
    pub(crate) fn next_happening(&self) -> Option<Timestamp> {
        self.agenda.keys().next().map(|(at, _)| *at)
    }

    /// Lets happen to the Pods what is due.
    pub(crate) fn let_happen(&mut self) {
        while let Some(due) = self.agenda.first_entry().filter(|due| due.key().0 <= self.now) {
            let ((_, name), happening) = due.remove_entry();
            match happening {
                Happening::EffectResult(outcome) => self.become_of(&name, outcome),
                Happening::Death => self.die(&name),
            }
        }
    }

    fn become_of(&mut self, name: &str, outcome: EffectResult) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        if pod.status.is_terminal() || pod.metadata.deletion_timestamp.is_some() {
            return;
        }
        pod.spec.node_name = "n1".to_owned();
        match outcome {
            EffectResult::ContainerExit(code) => end(pod, code, self.now),
            EffectResult::Run => run(pod, 0, true, self.now),
            EffectResult::Restart(count) => run(pod, count, false, self.now),
            EffectResult::Deleted => {
                run(pod, 0, true, self.now);
                self.delete(name);
            }
        }
    }

    fn die(&mut self, name: &str) {
        let Some(pod) = self.pods.get_mut(name) else { return };
        if !pod.status.is_terminal() && self.dies_aloud {
            end(pod, 143, self.now);
        }
        pod.status.reason = "Dead".to_owned();
        self.reap(name);
    }
}

/// Whether the policy of these tests has a failure not count, or it has no index to count for.
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

fn end(pod: &mut Pod, code: i32, now: Timestamp) {
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
