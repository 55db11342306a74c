//! The CronJobs and ScheduledJobs of the trial.
//!
//! Deadlines are shorter than the time between slots, or there are none under CatchUp: so at most one
//! slot waits at a time where only the latest would start, and every slot must have its Job.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// All of them are in this namespace.
pub(super) const NAMESPACE: &str = "default";

/// The kinds that the controller looks after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    CronJob,
    ScheduledJob,
}

impl Kind {
    pub(super) const BOTH: [Kind; 2] = [Kind::CronJob, Kind::ScheduledJob];

    fn api_version(self) -> &'static str {
        match self {
            Kind::CronJob => "batch/v1",
            Kind::ScheduledJob => "punctual.dev/v1",
        }
    }

    /// The path of their list.
    pub(super) fn path(self) -> String {
        let plural = format!("{self:?}s").to_lowercase();
        format!("/apis/{}/namespaces/{NAMESPACE}/{plural}", self.api_version())
    }
}

/// What happens when a run is due and another still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Allow,
    Forbid,
    Replace,
    CatchUp,
}

impl Policy {
    /// Whether a slot waits until the run before it has ended.
    pub(super) fn waits(self) -> bool {
        matches!(self, Policy::Forbid | Policy::CatchUp)
    }

    /// Whether two runs may be at work at the same time.
    pub(super) fn may_overlap(self) -> bool {
        self == Policy::Allow
    }
}

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Succeeds,
    Fails,
    Sleeps,
    /// The Job is suspended: it has no Pod and never ends.
    Rests,
}

/// One of the fleet.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) policy: Policy,
    pub(super) period: SignedDuration,
    pub(super) deadline: Option<SignedDuration>,
    work: Work,
    /// How many finished Jobs are kept.
    history: u64,
    /// Whether its Jobs go as soon as they have finished.
    is_brief: bool,
}

/// One of the fleet as the server has it.
#[derive(Clone, Debug)]
pub(super) struct Enlisted {
    pub(super) member: Member,
    pub(super) uid: String,
    /// The first slot is one period after this.
    pub(super) created: Timestamp,
}

/// Draws so many: of each six two catch up, two replace, and one each allows and forbids.
pub(super) fn draw(count: usize, dice: &mut Dice) -> Vec<Member> {
    (0..count).map(|number| Member::draw(number, dice)).collect()
}

impl Member {
    fn draw(number: usize, dice: &mut Dice) -> Member {
        let kind = if (number / 6).is_multiple_of(2) { Kind::CronJob } else { Kind::ScheduledJob };
        let (policy, period, work) = match number % 6 {
            0 | 1 => (Policy::CatchUp, 6 + dice.below(4), Work::Succeeds),
            2 | 3 => (Policy::Replace, 6 + dice.below(4), Work::Rests),
            4 if dice.once_in(4) => (Policy::Allow, 20 + dice.below(41), Work::Fails),
            4 => (Policy::Allow, 20 + dice.below(41), Work::Succeeds),
            _ if dice.chance(50) => (Policy::Forbid, 10 + dice.below(11), Work::Sleeps),
            _ => (Policy::Forbid, 10 + dice.below(11), Work::Succeeds),
        };
        let period = SignedDuration::from_secs(period.cast_signed());
        let deadline = match policy {
            Policy::CatchUp => None,
            // Some are so strict that an election makes them miss.
            Policy::Allow if dice.once_in(4) => Some(SignedDuration::from_secs(4)),
            _ => Some(period - SignedDuration::from_secs(1)),
        };
        let name = format!("{policy:?}-{number:04}").to_lowercase();
        let (history, is_brief) = (dice.below(3), dice.once_in(2) && work != Work::Rests);
        Member { name, kind, policy, period, deadline, work, history, is_brief }
    }

    /// The object to create.
    pub(super) fn manifest(&self) -> Value {
        let mut spec = Map::from_iter([
            ("schedule".to_owned(), json!(format!("@every {}s", self.period.as_secs()))),
            ("successfulJobsHistoryLimit".to_owned(), json!(self.history)),
            ("failedJobsHistoryLimit".to_owned(), json!(self.history)),
            ("jobTemplate".to_owned(), json!({"spec": self.job()})),
        ]);
        let mut annotations = Map::new();
        // kube-apiserver knows no such policy.
        if (self.kind, self.policy) == (Kind::CronJob, Policy::CatchUp) {
            annotations.insert("punctual.dev/concurrency-policy".to_owned(), json!("CatchUp"));
        } else {
            spec.insert("concurrencyPolicy".to_owned(), json!(format!("{:?}", self.policy)));
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

    fn job(&self) -> Value {
        let command = match self.work {
            Work::Fails => json!(["false"]),
            Work::Sleeps => json!(["sleep", "1"]),
            Work::Succeeds | Work::Rests => json!(["true"]),
        };
        let container = json!({"name": "main", "image": "none", "command": command});
        let pod = json!({"restartPolicy": "Never", "containers": [container]});
        let mut job = json!({
            "backoffLimit": 0,
            "suspend": self.work == Work::Rests,
            "template": {"spec": pod},
        });
        if let Some(job) = job.as_object_mut().filter(|_| self.is_brief) {
            job.insert("ttlSecondsAfterFinished".to_owned(), json!(0));
        }
        job
    }

    /// Where it is.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.kind.path(), self.name)
    }

    #[cfg(test)]
    pub(super) fn for_test(policy: Policy, period: i64, deadline: Option<i64>) -> Member {
        let [period, deadline] =
            [Some(period), deadline].map(|it| it.map(SignedDuration::from_secs));
        Member {
            name: "a".into(),
            kind: Kind::ScheduledJob,
            policy,
            period: period.unwrap(),
            deadline,
            work: Work::Succeeds,
            history: 1,
            is_brief: false,
        }
    }
}

impl Enlisted {
    /// The slots until an instant, that included.
    pub(super) fn slots(&self, until: Timestamp) -> impl Iterator<Item = Timestamp> {
        let period = self.member.period;
        let next = move |slot: &Timestamp| slot.checked_add(period).ok();
        std::iter::successors(next(&self.created), next).take_while(move |slot| *slot <= until)
    }

    /// Whether its schedule has this slot.
    pub(super) fn has_slot(&self, slot: Timestamp) -> bool {
        let since = slot.duration_since(self.created);
        since.is_positive()
            && since.subsec_nanos() == 0
            && since.as_secs() % self.member.period.as_secs() == 0
    }

    /// A run must have started before this, if ever.
    pub(super) fn deadline(&self, slot: Timestamp) -> Option<Timestamp> {
        self.member.deadline.and_then(|deadline| slot.checked_add(deadline).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_a_fleet_of_all_policies_and_kinds() {
        let texts = |seed| -> Vec<String> {
            draw(48, &mut Dice(seed)).iter().map(|member| member.manifest().to_string()).collect()
        };
        assert_eq!(texts(1), texts(1));
        assert_ne!(texts(1), texts(2));
        let text = texts(1).concat();
        for word in ["Allow", "Forbid", "Replace", "CatchUp", "ttlSecondsAfterFinished"] {
            for kind in ["batch/v1", "punctual.dev/v1"] {
                assert!(text.contains(&format!("\"{word}\"")) && text.contains(kind), "{word}");
            }
        }
    }

    #[test]
    fn at_most_one_slot_waits_where_only_the_latest_would_start() {
        for member in draw(600, &mut Dice(3)) {
            let is_short = member.deadline.is_some_and(|deadline| deadline < member.period);
            assert!(is_short || member.policy == Policy::CatchUp, "{member:?}");
        }
    }

    #[test]
    fn slots_are_whole_periods_after_the_creation() {
        let member = Member::for_test(Policy::Allow, 5, Some(4));
        let at = |second| Timestamp::from_second(second).unwrap();
        let enlisted = Enlisted { member, uid: "u".into(), created: at(100) };
        assert_eq!(enlisted.slots(at(110)).collect::<Vec<_>>(), [at(105), at(110)]);
        assert!(enlisted.has_slot(at(105)) && !enlisted.has_slot(at(106)));
        assert!(!enlisted.has_slot(at(100)) && !enlisted.has_slot(at(95)));
        assert_eq!(enlisted.deadline(at(105)), Some(at(109)));
    }
}
