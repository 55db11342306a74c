//! The shell around the engine, as small as it can be, with a fault wherever something can fail.

use jiff::Timestamp;
use punctual_engine::cronjob::{
    self, CreateResult, Decision, EffectResult, JobView, Observed, Plan, Timetable,
};
use punctual_schedule::Zones;

use crate::{dice::Dice, server::Server};

/// What may go wrong in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Death after so many effects.
    Crash(u64),
    /// The create succeeds, but nobody learns of it.
    LostAnswer,
    /// The create is refused.
    Refused,
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// All effects were carried out and their answers heard.
    pub(crate) is_whole: bool,
    /// Anything was written at all.
    pub(crate) has_written: bool,
    pub(crate) faults: u64,
    /// It is to be done again at once.
    pub(crate) again: bool,
}

/// What the controller remembers between turns; a crash forgets it.
#[derive(Default)]
pub(crate) struct Memory {
    /// Jobs of which it does not know whether they were created.
    uncertain: Vec<String>,
    /// The Jobs as the cache had them one turn ago.
    cache: Option<Vec<JobView>>,
}

#[derive(PartialEq)]
struct Dead;

/// Counts effects until death.
struct Effects {
    left: u64,
    written: bool,
}

impl Effects {
    fn done(&mut self) -> Result<(), Dead> {
        self.written = true;
        self.left = self.left.checked_sub(1).ok_or(Dead)?;
        Ok(())
    }
}

pub(crate) fn turn(
    server: &mut Server,
    memory: &mut Memory,
    fault: Fault,
    dice: &mut Dice,
    now: Timestamp,
) -> Turn {
    let left = if let Fault::Crash(left) = fault { left } else { u64::MAX };
    let mut effects = Effects { left, written: false };
    let jobs = cached_jobs(server, memory, dice, fault == Fault::None);
    let result = try_turn(server, memory, (fault, &jobs), &mut effects, now);
    if result.is_err() {
        *memory = Memory::default();
    }
    let is_whole = result.is_ok() && matches!(fault, Fault::None | Fault::Crash(_));
    let hit = result.is_err() || fault == Fault::LostAnswer || fault == Fault::Refused;
    let again = result == Ok(true);
    Turn { is_whole, has_written: effects.written, faults: u64::from(hit), again }
}

/// The cache may be a turn behind, but never right after a start, which begins with a list.
fn cached_jobs(server: &Server, memory: &mut Memory, dice: &mut Dice, fresh: bool) -> Vec<JobView> {
    let now = server.views();
    let before = memory.cache.replace(now.clone());
    before.filter(|_| !fresh && dice.once_in(3)).unwrap_or(now)
}

fn try_turn(
    server: &mut Server,
    memory: &mut Memory,
    (fault, jobs): (Fault, &[JobView]),
    effects: &mut Effects,
    now: Timestamp,
) -> Result<bool, Dead> {
    let cron_job = server.cron_job.clone();
    let timetable = Timetable::from_cron_job(&cron_job, &Zones::bundled().utc());
    let uncertain = std::mem::take(&mut memory.uncertain);
    let mut live: Vec<_> =
        uncertain.into_iter().map(|name| (name.clone(), server.view(&name))).collect();
    let plan = loop {
        let seen = Observed { cron_job: &cron_job, timetable: &timetable, jobs, live_jobs: &live };
        match cronjob::decide(&seen, now) {
            Decision::Execute(plan) => break *plan,
            Decision::ReadJobs(names) => {
                live.extend(names.into_iter().map(|name| (name.clone(), server.view(&name))));
            }
        }
    };
    let outcomes = carry_out(server, memory, &plan, (fault, &timetable), effects, now)?;
    let settled = cronjob::settle(plan, &outcomes, now);
    if let Some(status) = settled.status {
        server.cron_job.status = status;
        effects.done()?;
    }
    for delete in settled.jobs_to_clean_up {
        server.delete(&delete.name, &delete.uid, now);
        effects.done()?;
    }
    for release in settled.finalizers_to_remove {
        server.release(&release.name);
        effects.done()?;
    }
    if let Some(since) = settled.schedule_to_record {
        let annotations = &mut server.cron_job.metadata.annotations;
        annotations.insert(cronjob::ScheduleSince::ANNOTATION.into(), since.to_annotation());
        effects.done()?;
    }
    Ok(settled.wake_at.is_some_and(|at| at <= now))
}

#[expect(clippy::too_many_arguments, reason = "everything there is in this small world")]
fn carry_out(
    server: &mut Server,
    memory: &mut Memory,
    plan: &Plan,
    (fault, timetable): (Fault, &Result<Timetable, cronjob::ScheduleError>),
    effects: &mut Effects,
    now: Timestamp,
) -> Result<Vec<EffectResult>, Dead> {
    let mut outcomes = Vec::new();
    for delete in &plan.jobs_to_replace {
        server.replace(&delete.name, &delete.uid, now);
        effects.done()?;
        outcomes.push(EffectResult::Deleted(delete.name.clone(), Ok(())));
    }
    let (Some(create), Ok(timetable)) = (&plan.job_to_create, timetable) else {
        return Ok(outcomes);
    };
    if fault == Fault::Refused {
        let refusal =
            cronjob::CreateError { message: "quota".into(), is_namespace_terminating: false };
        outcomes.push(EffectResult::Created(CreateResult::Failed(refusal)));
        return Ok(outcomes);
    }
    let text = cronjob::build_job_manifest(&server.cron_job, timetable, create.slot).unwrap();
    let attempt = match server.create(&text, now) {
        Ok(JobView { uid, resource_version, .. }) => {
            CreateResult::Created { uid, resource_version }
        }
        Err(known) => CreateResult::AlreadyExists(*known),
    };
    effects.done()?;
    if fault == Fault::LostAnswer {
        memory.uncertain.push(create.name.clone());
        return Ok(outcomes);
    }
    outcomes.push(EffectResult::Created(attempt));
    Ok(outcomes)
}
