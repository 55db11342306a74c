//! What the objects say when everything is over. They must agree with the record.

use jiff::Timestamp;
use punctual_api::Time;
use punctual_e2e::Client;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ability::Span,
    checker::ended,
    fleet::{Enlisted, Kind, Policy},
    record::{End, Run},
};

#[derive(Debug, Deserialize)]
struct List {
    items: Vec<Object>,
}

/// A CronJob or a ScheduledJob.
#[derive(Debug, Deserialize)]
pub(super) struct Object {
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Deserialize)]
struct Meta {
    uid: String,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    active: Vec<Reference>,
    last_schedule_time: Option<Time>,
    successful_runs: usize,
    failed_runs: usize,
    missed_runs: usize,
}

#[derive(Debug, Deserialize)]
struct Reference {
    uid: String,
}

/// Reads all of them.
pub(super) fn objects(client: &mut Client) -> anyhow::Result<Vec<Object>> {
    let mut objects = Vec::new();
    for kind in Kind::BOTH {
        let list: Value = client.get(&kind.path())?;
        objects.extend(List::deserialize(&list)?.items);
    }
    Ok(objects)
}

/// What does not agree of one of the fleet. It was suspended at some instant of a span.
pub(super) fn disagreements(
    enlisted: &Enlisted,
    objects: &[Object],
    runs: &[&Run],
    suspended: Span,
) -> Vec<String> {
    let name = &enlisted.member.name;
    let Some(object) = objects.iter().find(|object| object.metadata.uid == enlisted.uid) else {
        return vec![format!("{name} is gone")];
    };
    let (missed_least, missed_most) = missed(enlisted, runs, suspended);
    let mut words = object.standing(runs);
    words.extend(object.counters(enlisted.member.kind, runs));
    let missed = object.missed(enlisted.member.kind);
    if !(missed_least..=missed_most).contains(&missed) {
        words.push(format!("counts {missed} misses, not {missed_least} to {missed_most}"));
    }
    words.into_iter().map(|words| format!("{name} {words}")).collect()
}

/// How many slots without a Job there are: those whose deadline had passed, and all.
fn missed(enlisted: &Enlisted, runs: &[&Run], suspended: Span) -> (usize, usize) {
    let without = |slot: &Timestamp| runs.iter().all(|run| run.slot != *slot);
    let all: Vec<Timestamp> = enlisted.slots(suspended.to).filter(without).collect();
    let is_over =
        |slot: &&Timestamp| enlisted.deadline(**slot).is_some_and(|at| at < suspended.from);
    match enlisted.member.policy {
        // Without a deadline nothing is missed, however late.
        Policy::CatchUp => (0, 0),
        _ => (all.iter().filter(is_over).count(), all.len()),
    }
}

impl Object {
    /// What it says of its last run and of those at work.
    fn standing(&self, runs: &[&Run]) -> Vec<String> {
        let mut words = Vec::new();
        let last = runs.iter().map(|run| run.slot).max();
        let said = self.status.last_schedule_time.map(Time::timestamp);
        if said != last {
            words.push(format!("says {said:?} was its last slot, but it was {last:?}"));
        }
        let mut said: Vec<&str> = self.status.active.iter().map(|entry| &*entry.uid).collect();
        let at_work = runs.iter().filter(|run| run.end.is_none());
        let mut at_work: Vec<&str> = at_work.map(|run| &*run.uid).collect();
        said.sort_unstable();
        at_work.sort_unstable();
        if said != at_work {
            words.push(format!("says {said:?} are at work, but {at_work:?} are"));
        }
        words
    }

    /// What it counts; kube-apiserver keeps no counters of CronJobs.
    fn counters(&self, kind: Kind, runs: &[&Run]) -> Option<String> {
        let (good, bad) = (ended(runs, End::Complete), ended(runs, End::Failed));
        let Status { successful_runs, failed_runs, missed_runs, .. } = self.status;
        let is_right = successful_runs == good && failed_runs == bad + missed_runs;
        (kind == Kind::ScheduledJob && !is_right).then(|| {
            format!(
                "counts {successful_runs} good runs and {failed_runs} bad ones with {missed_runs} \
                 misses, but {good} were good and {bad} bad"
            )
        })
    }

    fn missed(&self, kind: Kind) -> usize {
        let noted = self.metadata.annotations.get("punctual.dev/missed");
        let noted = noted.and_then(|text| text.split(' ').nth(1)?.parse().ok());
        match kind {
            Kind::CronJob => noted.unwrap_or_default(),
            Kind::ScheduledJob => self.status.missed_runs,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{fleet::Member, record::Moment},
        *,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Of the slots 120, 140 and 160 the second has no Job.
    fn words(status: Value) -> Vec<String> {
        let member = Member::for_test(Policy::Allow, 20, Some(15));
        let enlisted = Enlisted { member, uid: "u".into(), created: at(100) };
        let run = |slot: i64| {
            let moment = Moment { version: slot.unsigned_abs(), at: at(slot) };
            let mut run = Run::for_test(&slot.to_string(), at(slot), moment);
            run.end = Some((moment, End::Complete));
            run
        };
        let runs = [run(120), run(160)];
        let object: Object =
            serde_json::from_value(json!({"metadata": {"uid": "u"}, "status": status})).unwrap();
        let suspended = Span { from: at(170), to: at(171) };
        disagreements(&enlisted, &[object], &runs.each_ref(), suspended)
    }

    fn status(last: i64, good: usize, bad: usize, missed: usize) -> Value {
        json!({"lastScheduleTime": at(last).to_string(), "successfulRuns": good,
               "failedRuns": bad, "missedRuns": missed})
    }

    #[test]
    fn a_status_must_say_what_the_record_says() {
        assert_eq!(words(status(160, 2, 1, 1)), Vec::<String>::new());
        for wrong in [status(140, 2, 1, 1), status(160, 1, 1, 1), status(160, 2, 2, 1)] {
            assert_eq!(words(wrong.clone()).len(), 1, "{wrong}");
        }
        let uncounted = words(status(160, 2, 0, 0));
        assert_eq!(uncounted, ["a counts 0 misses, not 1 to 1"]);
    }

    #[test]
    fn what_is_said_to_be_at_work_must_be() {
        let mut status = status(160, 2, 1, 1);
        status["active"] = json!([{"uid": "160"}]);
        assert_eq!(words(status).len(), 1);
    }
}
