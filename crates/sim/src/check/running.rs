//! What really ran on the node: every Pod once, every Job one Pod, and no two runs of a CronJob that
//! wants but one.

use std::collections::HashMap;
use std::sync::Arc;

use punctual_api::ConcurrencyPolicy::{CatchUp, Forbid};

use super::Case;
use super::life::{End, Life, NEVER, Run};
use super::objects::Ending;
use super::overlap::is_policy;
use crate::history::{Happened, Record};
use crate::scenario::Millis;

/// A Pod that ran.
struct Process<'a> {
    pod: &'a Arc<str>,
    job: &'a Arc<str>,
    from: Millis,
    to: Millis,
    /// None if it was killed, or still runs.
    exit: Option<i32>,
}

pub(super) fn judge(case: &mut Case<'_>, history: &[Record]) {
    let processes = processes(history);
    doubled(case, &processes);
    misjudged(case, &processes);
    let facts = case.facts;
    for life in &facts.lives {
        overlapping(case, life, &processes);
    }
}

fn processes(history: &[Record]) -> Vec<Process<'_>> {
    let mut processes = Vec::new();
    let mut running: HashMap<&Arc<str>, usize> = HashMap::new();
    for Record { at, what } in history {
        match what {
            Happened::Began { pod, job } => {
                running.insert(pod, processes.len());
                processes.push(Process { pod, job, from: *at, to: NEVER, exit: None });
            }
            Happened::Ended { pod, exit } => {
                let ended = running.remove(pod).and_then(|n| processes.get_mut(n));
                ended.into_iter().for_each(|process| (process.to, process.exit) = (*at, *exit));
            }
            _ => {}
        }
    }
    processes
}

/// Jobs here run one Pod, and do not try again.
fn doubled(case: &mut Case<'_>, processes: &[Process<'_>]) {
    let (mut pods, mut jobs) = (HashMap::new(), HashMap::new());
    for Process { pod, job, from, .. } in processes {
        if let Some(first) = pods.insert(*pod, *from) {
            let text = format!("the Pod {pod} began at {first} ms, and again");
            case.report(*from, "doubled-pod", text);
        } else if let Some(first) = jobs.insert(*job, *pod) {
            case.report(*from, "doubled-pod", format!("the Job {job} ran {first}, and now {pod}"));
        }
    }
}

/// A Job says of its Pod what became of it, and no Pod is killed whose Job goes on.
fn misjudged(case: &mut Case<'_>, processes: &[Process<'_>]) {
    // Of a Job that ran two, which is told elsewhere, the first.
    let of_job: HashMap<&str, &Process<'_>> =
        processes.iter().rev().map(|process| (&**process.job, process)).collect();
    let facts = case.facts;
    let runs = facts.lives.iter().flat_map(|life| &life.runs).chain(&facts.strangers);
    for run in runs {
        let process = of_job.get(run.uid.as_str()).copied();
        let wrongs = [miscounted(run, process), killed(run, process)];
        for (at, rule, what) in wrongs.into_iter().flatten() {
            case.report(at, rule, format!("{}: {what}", run.key));
        }
    }
}

type Finding = (Millis, &'static str, String);

fn miscounted(run: &Run, process: Option<&Process<'_>>) -> Option<Finding> {
    let End { at, ending, .. } = run.end?;
    let ended = process.filter(|process| process.to <= at);
    let is_well = ended.is_some_and(|process| process.exit == Some(0));
    let (right, counted) = match ending {
        Ending::Complete => (is_well, (1, 0)),
        Ending::Failed => (ended.is_some() && !is_well, (0, 1)),
    };
    let what = format!("it is {ending:?} and has counted {:?}", run.counted);
    (!right || run.counted != counted).then_some((at, "job-counters", what))
}

fn killed(run: &Run, process: Option<&Process<'_>>) -> Option<Finding> {
    let Process { to, pod, .. } = process.filter(|process| process.exit.is_none())?;
    let what = || format!("its Pod {pod} is killed, though it goes on");
    (*to < run.unfinished_until().min(run.deleted_at)).then(|| (*to, "killed", what()))
}

/// No two runs at once of a CronJob that forbids it. A Job that somebody deleted may have left a
/// process behind that has not died yet.
fn overlapping(case: &mut Case<'_>, life: &Life, processes: &[Process<'_>]) {
    if !life.stretches.iter().any(|stretch| [Forbid, CatchUp].contains(&stretch.spec.policy)) {
        return;
    }
    let jobs: HashMap<&str, &Run> = life.runs.iter().map(|run| (run.uid.as_str(), run)).collect();
    let own = processes.iter().filter_map(|process| Some((process, *jobs.get(&**process.job)?)));
    // Whichever of two Jobs was made later should have waited.
    let forbids = |run: &Run| is_policy(case, life, run.created_at, &[Forbid, CatchUp]);
    let forbidden: Vec<&str> =
        life.runs.iter().filter(|run| forbids(run)).map(|run| run.uid.as_str()).collect();
    let mut running: Vec<(&Process<'_>, &Run)> = Vec::new();
    for (process, run) in own {
        running.retain(|(other, _)| other.to > process.from);
        let other = running
            .iter()
            .find(|(other, of)| other.job != process.job && of.deleted_at > process.from);
        if let Some((_, other)) = other
            && let later = if other.created_at > run.created_at { other } else { &run }
            && forbidden.contains(&later.uid.as_str())
        {
            let what = format!("a Pod of {} began while one of {} ran", run.name(), other.name());
            case.accuse(life, process.from, "overlap", &what);
        }
        running.push((process, run));
    }
}
