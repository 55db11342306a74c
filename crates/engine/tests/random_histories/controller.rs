//! A minimal controller around the engine, for the random histories. A fault can occur at every
//! effect.

use jiff::Timestamp;
use punctual_engine::cronjob::{
    self, CreateError, CreateResult, Decision, EffectResult, FeatureGates, JobView, Observed, Plan,
    RecordRetention, ScheduleError, Timetable,
};
use punctual_schedule::Zones;
use punctual_testing::TestRng;

use crate::server::FakeServer;

/// The fault of one reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    None,
    /// The controller crashes after this many effects.
    Crash(u64),
    /// The create succeeds, but its response is lost.
    LostResponse,
    /// The server rejects the create.
    Rejected,
}

/// The result of one reconcile.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReconcileResult {
    /// All effects were executed and their responses received.
    pub(crate) is_complete: bool,
    /// At least one effect was executed.
    pub(crate) has_written: bool,
    pub(crate) faults: u64,
    /// The controller must reconcile again at once.
    pub(crate) reconcile_again: bool,
}

/// The state that the controller keeps between reconciles. A crash resets it.
#[derive(Default)]
pub(crate) struct ControllerState {
    /// Jobs of unconfirmed creates.
    unconfirmed: Vec<String>,
    /// The Jobs of the server at the last reconcile.
    cache: Option<Vec<JobView>>,
}

#[derive(PartialEq)]
struct Crashed;

/// The fault of a reconcile and the number of effects until its crash.
struct EffectBudget {
    fault: InjectedFault,
    left: u64,
    has_written: bool,
}

impl EffectBudget {
    fn spend(&mut self) -> Result<(), Crashed> {
        self.has_written = true;
        self.left = self.left.checked_sub(1).ok_or(Crashed)?;
        Ok(())
    }
}

pub(crate) fn reconcile(
    server: &mut FakeServer,
    state: &mut ControllerState,
    fault: InjectedFault,
    rng: &TestRng,
    now: Timestamp,
) -> ReconcileResult {
    let left = if let InjectedFault::Crash(left) = fault { left } else { u64::MAX };
    let mut budget = EffectBudget { fault, left, has_written: false };
    let jobs = cached_jobs(server, state, rng, fault == InjectedFault::None);
    let result = try_reconcile(server, state, &jobs, &mut budget, now);
    if result.is_err() {
        *state = ControllerState::default();
    }
    let is_complete =
        result.is_ok() && matches!(fault, InjectedFault::None | InjectedFault::Crash(_));
    let is_faulty =
        result.is_err() || fault == InjectedFault::LostResponse || fault == InjectedFault::Rejected;
    ReconcileResult {
        is_complete,
        has_written: budget.has_written,
        faults: u64::from(is_faulty),
        reconcile_again: result == Ok(true),
    }
}

/// Returns the cached Jobs. The cache may be one reconcile behind, except after a restart, which
/// begins with a list.
fn cached_jobs(
    server: &FakeServer,
    state: &mut ControllerState,
    rng: &TestRng,
    must_be_current: bool,
) -> Vec<JobView> {
    let current = server.views();
    let previous = state.cache.replace(current.clone());
    match previous {
        Some(previous) if !must_be_current && rng.once_in(3) => previous,
        _ => current,
    }
}

/// Returns whether the controller must reconcile again at once.
fn try_reconcile(
    server: &mut FakeServer,
    state: &mut ControllerState,
    jobs: &[JobView],
    budget: &mut EffectBudget,
    now: Timestamp,
) -> Result<bool, Crashed> {
    let cron_job = server.cron_job.clone();
    let timetable =
        Timetable::from_cron_job(&cron_job, &Zones::bundled().utc(), &FeatureGates::default());
    let unconfirmed = std::mem::take(&mut state.unconfirmed);
    let mut live: Vec<_> =
        unconfirmed.into_iter().map(|name| (name.clone(), server.view(&name))).collect();
    let plan = loop {
        let observed = Observed {
            cron_job: &cron_job,
            timetable: &timetable,
            jobs,
            live_jobs: &live,
            read_records: &[],
            requests: &[],
            older_object_of_same_name: None,
            gates: FeatureGates::default(),
            retention: RecordRetention::Archived,
            counts_manual_jobs: true,
            waits_for_replaced_pods: true,
        };
        match cronjob::decide(&observed, now) {
            Decision::Execute(plan) => break *plan,
            Decision::ReadJobs(names) => {
                live.extend(names.into_iter().map(|name| (name.clone(), server.view(&name))));
            }
            Decision::ReadRecords(query) => {
                panic!("no run is requested here, but {query:?} is read")
            }
        }
    };
    // The watch reports that Jobs are gone.
    let mut has_deleted_jobs = !plan.jobs_to_replace.is_empty();
    let results = execute(server, state, &plan, &timetable, budget, now)?;
    let settled = cronjob::settle(plan, &results, now);
    if let Some(status) = settled.status {
        server.write_status(status);
        budget.spend()?;
    }
    for job in settled.jobs_to_clean_up {
        server.delete(&job.name, &job.uid, now);
        budget.spend()?;
    }
    for job in settled.finalizers_to_remove {
        has_deleted_jobs = true;
        server.remove_finalizers(&job.name);
        budget.spend()?;
    }
    if let Some(since) = settled.schedule_to_record {
        let annotations = &mut server.cron_job.metadata.annotations;
        annotations.insert(cronjob::EffectiveSchedule::ANNOTATION.into(), since.to_annotation());
        budget.spend()?;
    }
    Ok(has_deleted_jobs || settled.wake_at.is_some_and(|at| at <= now))
}

#[expect(clippy::too_many_arguments, reason = "a test helper with the whole state of the test")]
fn execute(
    server: &mut FakeServer,
    state: &mut ControllerState,
    plan: &Plan,
    timetable: &Result<Timetable, ScheduleError>,
    budget: &mut EffectBudget,
    now: Timestamp,
) -> Result<Vec<EffectResult>, Crashed> {
    let mut results = Vec::new();
    for job in &plan.jobs_to_replace {
        server.replace(&job.name, &job.uid, now);
        budget.spend()?;
        results.push(EffectResult::Deleted(job.name.clone(), Ok(())));
    }
    let (Some(create), Ok(timetable)) = (&plan.job_to_create, timetable) else {
        return Ok(results);
    };
    if budget.fault == InjectedFault::Rejected {
        let error = CreateError { message: "quota".into(), is_namespace_terminating: false };
        results.push(EffectResult::Created(CreateResult::Failed(error)));
        return Ok(results);
    }
    let manifest = cronjob::build_job_manifest(&server.cron_job, Some(timetable), create).unwrap();
    let create_result = match server.create(&manifest, now) {
        Ok(JobView { uid, resource_version, created_at, .. }) => {
            CreateResult::Created { uid, resource_version, created_at }
        }
        Err(existing) => CreateResult::AlreadyExists(existing),
    };
    budget.spend()?;
    if budget.fault == InjectedFault::LostResponse {
        state.unconfirmed.push(create.name.clone());
        return Ok(results);
    }
    results.push(EffectResult::Created(create_result));
    Ok(results)
}
