//! What belongs to a CronJob goes with it.

use std::collections::HashSet;

use super::Case;
use super::life::{NEVER, Run};

pub(super) fn judge(case: &mut Case<'_>) {
    let facts = case.facts;
    let end = case.end;
    for life in facts.lives.iter().filter(|life| !life.is_there_at_the_end()) {
        for run in life.runs.iter().filter(|run| run.gone_at == NEVER) {
            case.accuse(life, end, "gone", &format!("{} is left behind", run.name()));
        }
    }
    // A Job that names an owner which never was is nobody's.
    for run in facts.strangers.iter().filter(|run| run.gone_at == NEVER && run.owner.is_some()) {
        case.report(end, "gone", format!("{} is left behind by an unknown owner", run.key));
    }
    let own = facts.strangers.iter().filter(|run| run.owner.is_none() && !run.is_unwanted);
    for run in own.filter(|run| run.gone_at != NEVER) {
        case.report(run.gone_at, "killed", format!("{} belongs to a user, and is gone", run.key));
    }
    let runs = facts.lives.iter().flat_map(|life| &life.runs).chain(&facts.strangers);
    let there: HashSet<&str> = runs.filter(|run| is_there(run)).map(|run| &*run.uid).collect();
    for pod in facts.pods.iter().filter(|pod| pod.gone_at == NEVER) {
        let is_owned = pod.job.as_deref().is_none_or(|job| there.contains(job));
        if !is_owned {
            case.report(end, "gone", format!("{} is left behind by its Job", pod.key));
        }
    }
}

fn is_there(run: &Run) -> bool {
    run.gone_at == NEVER
}
