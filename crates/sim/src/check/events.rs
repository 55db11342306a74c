//! What is told: once for every start, once for every end. Judged only where nothing goes wrong,
//! since an event may be lost or told twice where something does.

use std::collections::HashMap;

use punctual_api::ConcurrencyPolicy::Forbid;

use super::Case;
use super::life::{Life, Run};
use super::objects::{Ending, EventText};
use super::weather::SLACK;

/// With more runs than these some events may be left out: ten alike within ten minutes are combined,
/// and above 25 about one object they are dropped.
const TOLD_MAX: usize = 6;

pub(super) fn judge(case: &mut Case<'_>) {
    if !case.scenario.troubles.is_empty() {
        return;
    }
    let facts = case.facts;
    let mut told: HashMap<&str, Vec<&EventText>> = HashMap::new();
    for event in &facts.events {
        told.entry(&event.involved_object.uid).or_default().push(event);
    }
    for life in &facts.lives {
        let told = told.get(life.uid.as_str()).map_or(&[][..], Vec::as_slice);
        for what in life.runs.iter().flat_map(|run| misreported(life, run, told)) {
            case.accuse(life, case.end, "events", &what);
        }
    }
}

fn misreported(life: &Life, run: &Run, told: &[&EventText]) -> Vec<String> {
    let count = |reason: &str, message: &str| -> i64 {
        let about = told.iter().filter(|event| event.reason == reason && event.message == message);
        about.map(|event| event.count).sum()
    };
    let name = run.name();
    let created = count("SuccessfulCreate", &format!("Created job {name}"));
    let mut wrong = Vec::new();
    // A run that is forbidden is told again and again, which uses up what may be told.
    let forbids = life.stretches.iter().any(|stretch| stretch.spec.policy == Forbid);
    let is_few = life.runs.len() <= TOLD_MAX && !forbids;
    if created > 1 || (created == 0 && is_few) {
        wrong.push(format!("that {name} was created is told {created} times"));
    }
    let Some(end) = run.end else { return wrong };
    let message = format!("Saw completed job: {name}, condition: {:?}", end.ending);
    let seen = count("SawCompletedJob", &message);
    if seen > 1 || (seen == 0 && is_few && is_seen(life, run, end.ending)) {
        wrong.push(format!("that {name} has ended is told {seen} times"));
    }
    wrong
}

/// Whether somebody must have told the end of a Job: it was not deleted by a user, or at once for want
/// of room, or with its CronJob.
fn is_seen(life: &Life, run: &Run, ending: Ending) -> bool {
    let limits = life.stretches.iter().map(|stretch| stretch.spec.limits);
    let mut limits = limits.map(|limits| match ending {
        Ending::Complete => limits.0,
        Ending::Failed => limits.1,
    });
    let is_replaced = run.deleted_at <= run.ended_at() + SLACK;
    limits.all(|limit| limit > 0)
        && !run.is_unwanted
        && !is_replaced
        && life.deleted_at > run.ended_at() + SLACK
}
