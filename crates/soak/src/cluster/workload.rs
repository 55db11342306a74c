//! The CronJobs and ScheduledJobs of the test.
//!
//! Under policies that only start the latest slot (scheduled time), the deadline is shorter than
//! the period, so that at most one slot is pending. Under CatchUp, which runs all pending slots in
//! order, there is no deadline. So every slot has a Job, unless its
//! deadline passed first.

use jiff::{SignedDuration, Timestamp};
use punctual_testing::{ConcurrencyPolicy, TestRng};
use serde_json::{Map, Value, json};

/// The namespace of all objects.
pub(super) const NAMESPACE: &str = "default";

/// The kinds that the controller handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadKind {
    CronJob,
    ScheduledJob,
}

impl WorkloadKind {
    pub(super) const ALL: [WorkloadKind; 2] = [WorkloadKind::CronJob, WorkloadKind::ScheduledJob];

    fn api_version(self) -> &'static str {
        match self {
            WorkloadKind::CronJob => "batch/v1",
            WorkloadKind::ScheduledJob => "punctual.dev/v1",
        }
    }

    pub(super) fn collection_path(self) -> String {
        let plural = format!("{self:?}s").to_lowercase();
        format!("/apis/{}/namespaces/{NAMESPACE}/{plural}", self.api_version())
    }
}

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunBehavior {
    Succeed,
    Fail,
    Sleep,
    /// The Job is suspended: it has no Pod and never ends.
    Suspend,
}

/// The specification of one object.
#[derive(Clone, Debug)]
pub(super) struct WorkloadSpec {
    pub(super) name: String,
    pub(super) kind: WorkloadKind,
    pub(super) policy: ConcurrencyPolicy,
    pub(super) period: SignedDuration,
    pub(super) deadline: Option<SignedDuration>,
    behavior: RunBehavior,
    /// The number of finished Jobs that are kept.
    history_limit: u64,
    /// Whether its Jobs are deleted as soon as they have finished.
    has_zero_ttl: bool,
}

/// An object that was created.
#[derive(Clone, Debug)]
pub(super) struct WorkloadObject {
    pub(super) spec: WorkloadSpec,
    pub(super) uid: String,
    /// The first slot is one period later.
    pub(super) created: Timestamp,
}

/// Generates specs: of six, two have CatchUp, two Replace, one Allow and one Forbid.
pub(super) fn generate(count: usize, rng: &TestRng) -> Vec<WorkloadSpec> {
    (0..count).map(|number| WorkloadSpec::generate(number, rng)).collect()
}

impl WorkloadSpec {
    fn generate(number: usize, rng: &TestRng) -> WorkloadSpec {
        use ConcurrencyPolicy::{Allow, CatchUp, Forbid, Replace};
        let is_cron_job = (number / 6).is_multiple_of(2);
        let (policy, period, behavior) = match number % 6 {
            0 | 1 => (CatchUp, 6 + rng.below(4), RunBehavior::Succeed),
            2 | 3 => (Replace, 6 + rng.below(4), RunBehavior::Suspend),
            4 if rng.once_in(4) => (Allow, 20 + rng.below(41), RunBehavior::Fail),
            4 => (Allow, 20 + rng.below(41), RunBehavior::Succeed),
            _ if rng.percent(50) => (Forbid, 10 + rng.below(11), RunBehavior::Sleep),
            _ => (Forbid, 10 + rng.below(11), RunBehavior::Succeed),
        };
        let period = SignedDuration::from_secs(period.cast_signed());
        let deadline = match policy {
            CatchUp => None,
            // So short that the slot is missed during an election.
            Allow if rng.once_in(4) => Some(SignedDuration::from_secs(4)),
            _ => Some(period - SignedDuration::from_secs(1)),
        };
        WorkloadSpec {
            name: format!("{policy}-{number:04}").to_lowercase(),
            kind: if is_cron_job { WorkloadKind::CronJob } else { WorkloadKind::ScheduledJob },
            policy,
            period,
            deadline,
            behavior,
            history_limit: rng.below(3),
            has_zero_ttl: rng.once_in(2) && behavior != RunBehavior::Suspend,
        }
    }

    /// The object to create.
    pub(super) fn manifest(&self) -> Value {
        let mut spec = Map::from_iter([
            ("schedule".to_owned(), json!(format!("@every {}s", self.period.as_secs()))),
            ("successfulJobsHistoryLimit".to_owned(), json!(self.history_limit)),
            ("failedJobsHistoryLimit".to_owned(), json!(self.history_limit)),
            ("jobTemplate".to_owned(), json!({"spec": self.job_spec()})),
        ]);
        let mut annotations = Map::new();
        // kube-apiserver does not accept CatchUp in a CronJob.
        if self.kind == WorkloadKind::CronJob && self.policy == ConcurrencyPolicy::CatchUp {
            annotations.insert("punctual.dev/concurrency-policy".to_owned(), json!("CatchUp"));
        } else {
            spec.insert("concurrencyPolicy".to_owned(), json!(self.policy.to_string()));
        }
        if let Some(deadline) = self.deadline {
            spec.insert("startingDeadlineSeconds".to_owned(), json!(deadline.as_secs()));
        }
        json!({
            "apiVersion": self.kind.api_version(),
            "kind": format!("{:?}", self.kind),
            "metadata": {"name": self.name, "annotations": annotations},
            "spec": spec,
        })
    }

    fn job_spec(&self) -> Value {
        let command = match self.behavior {
            RunBehavior::Fail => json!(["false"]),
            RunBehavior::Sleep => json!(["sleep", "1"]),
            RunBehavior::Succeed | RunBehavior::Suspend => json!(["true"]),
        };
        let container = json!({"name": "main", "image": "none", "command": command});
        let ttl = if self.has_zero_ttl { json!(0) } else { Value::Null };
        json!({
            "backoffLimit": 0,
            "suspend": self.behavior == RunBehavior::Suspend,
            "ttlSecondsAfterFinished": ttl,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        })
    }

    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.kind.collection_path(), self.name)
    }

    #[cfg(test)]
    pub(super) fn for_test(policy: ConcurrencyPolicy, period: i64, deadline: Option<i64>) -> Self {
        WorkloadSpec {
            name: "a".into(),
            kind: WorkloadKind::ScheduledJob,
            policy,
            period: SignedDuration::from_secs(period),
            deadline: deadline.map(SignedDuration::from_secs),
            behavior: RunBehavior::Succeed,
            history_limit: 1,
            has_zero_ttl: false,
        }
    }
}

impl WorkloadObject {
    /// The slots up to and including an instant.
    pub(super) fn slots(&self, until: Timestamp) -> impl Iterator<Item = Timestamp> {
        let period = self.spec.period;
        let next = move |slot: &Timestamp| slot.checked_add(period).ok();
        std::iter::successors(next(&self.created), next).take_while(move |slot| *slot <= until)
    }

    /// Whether its schedule has this slot.
    pub(super) fn has_slot(&self, slot: Timestamp) -> bool {
        let since = slot.duration_since(self.created);
        since.is_positive()
            && since.subsec_nanos() == 0
            && since.as_secs() % self.spec.period.as_secs() == 0
    }

    /// The deadline of a slot.
    pub(super) fn deadline(&self, slot: Timestamp) -> Option<Timestamp> {
        self.spec.deadline.and_then(|deadline| slot.checked_add(deadline).ok())
    }
}

#[cfg(test)]
mod tests;
