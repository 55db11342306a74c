//! What happens in one simulation: what users do and which faults occur when. A scenario is a value
//! generated from a seed, so that it can be printed, shrunk and run again.

use std::borrow::Cow;

use crate::ConcurrencyPolicy;
use jiff::{SignedDuration, Timestamp};

/// One simulation. Times are milliseconds since its start, on the true clock, which no simulated
/// process can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Determines delays, UIDs and the outcome of faults with a probability.
    pub seed: u64,
    /// The start.
    pub start: Timestamp,
    /// How long users act and faults occur. Afterwards the system must settle.
    pub length: Millis,
    /// The number of CronJob controllers, one to three, each a process of its own.
    pub controllers: usize,
    /// The number of Pods that the node runs at the same time.
    pub max_pods: usize,
    /// What users do, in order of time.
    pub actions: Vec<UserAction>,
    /// The faults.
    pub faults: Vec<FaultWindow>,
}

/// Milliseconds since the start of a simulation.
pub type Millis = i64;

/// How long the system runs undisturbed before all CronJobs are suspended.
const UNDISTURBED: Millis = 110_000;

/// Something that a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAction {
    /// The time of the first request. It is repeated every second while the server is down.
    pub at: Millis,
    /// What the user does.
    pub kind: ActionKind,
}

/// The kinds of action. CronJobs are in the namespace `default` and are named `c0`, `c1` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Creates a CronJob.
    Create(usize, ScenarioCronJob),
    /// Replaces the spec of a CronJob.
    Replace(usize, ScenarioCronJob),
    /// Sets `spec.suspend`.
    Suspend(usize, bool),
    /// Suspends the CronJob until this time.
    SuspendUntil(usize, Timestamp),
    /// Changes an annotation without a meaning, so that the controller reconciles the CronJob.
    Touch(usize),
    /// Deletes the CronJob with background propagation.
    Delete(usize),
    /// Deletes the CronJob's newest Job, finished or not.
    DeleteJob(usize),
    /// Creates a RunRequest for the CronJob.
    RequestRuns(usize, ScenarioRequest),
    /// Deletes all RunRequests for the CronJob.
    DeleteRequests(usize),
    /// Creates a Job of the user's own with the name that the slot at this time would take.
    CreateForeignJob(usize, Timestamp),
}

/// A CronJob of a scenario: the fields of its manifest, and what its Pods do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioCronJob {
    /// Whether it is a ScheduledJob instead of a `batch/v1` CronJob.
    pub is_scheduled_job: bool,
    /// `spec.schedule`.
    pub schedule: Cow<'static, str>,
    /// `spec.timeZone`; none is UTC.
    pub zone: Option<&'static str>,
    /// `spec.concurrencyPolicy`.
    pub policy: ConcurrencyPolicy,
    /// `startingDeadlineSeconds`.
    pub deadline: Option<i64>,
    /// `spec.suspend`.
    pub is_suspended: bool,
    /// `spec.jitter`, in percent.
    pub jitter: i32,
    /// `successfulJobsHistoryLimit` and `failedJobsHistoryLimit`.
    pub history: (i32, i32),
    /// `ttlSecondsAfterFinished` of the Jobs.
    pub ttl: Option<i32>,
    /// How long a Pod runs, in milliseconds.
    pub pod_duration: Millis,
    /// How many of ten Pods fail on average. A failed Pod fails its Job (`backoffLimit: 0`).
    pub failing_pods_per_ten: u8,
}

/// A RunRequest of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioRequest {
    /// For how long before the request the slots are asked for; `None` asks for a run now.
    pub slots_of_last: Option<Millis>,
    /// `spec.runs`; empty is the default.
    pub runs: &'static str,
    /// Whether the policy is `Allow` instead of that of the CronJob.
    pub is_always_allowed: bool,
    /// `spec.parallelism`.
    pub parallelism: i32,
}

/// The shortest time between two slots of a schedule that the generator uses.
const SLOT_DISTANCE_MIN: Millis = 20_000;
/// How long a requested run waits between the end of the run before and its start.
const REQUEST_REACTION: Millis = 20_000;

impl ScenarioRequest {
    /// The most runs that it can ask for.
    fn runs_max(&self) -> Millis {
        self.slots_of_last.map_or(1, |length| length / SLOT_DISTANCE_MIN + 2)
    }
}

/// A process that faults can affect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessId {
    /// A CronJob controller.
    Controller(usize),
    /// The Job controller, the garbage collector and the runner of Pods.
    JobsAndPods,
}

/// A fault and when it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultWindow {
    /// The start.
    pub from: Millis,
    /// The end. A clock that was stepped stays wrong.
    pub to: Millis,
    /// The fault.
    pub fault: Fault,
}

/// The kinds of fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed at its nth call, before or after the server executes it, and is restarted
    /// at the end of the window.
    Kill(ProcessId, u32, CrashPoint),
    /// The process is paused and continues at the end of the window.
    Pause(ProcessId),
    /// The process is asked to stop, releases its Lease, and is restarted at the end of the window.
    Stop(ProcessId),
    /// The process is disconnected from the server: no request and no response arrives.
    Disconnect(ProcessId),
    /// This many of a thousand calls of the process fail.
    FailCalls(ProcessId, CallFault, u32),
    /// Every status write of the process is rejected, as by an admission webhook that is down.
    RejectStatus(ProcessId),
    /// Calls take up to this many milliseconds in each direction.
    DelayCalls(ProcessId, Millis),
    /// Watch events arrive in bursts, up to this many milliseconds late.
    BatchWatches(ProcessId, Millis),
    /// Watch events arrive up to this many milliseconds late; each watch has a delay of its own.
    DelayWatches(ProcessId, Millis),
    /// Watches are closed repeatedly, at this interval in milliseconds.
    CloseWatches(ProcessId, Millis),
    /// The server repeatedly discards all changes but the last few from its watch history.
    Compact,
    /// The server crashes at its nth commit, which is or is not on the disk, and is restarted at the
    /// end of the window.
    CrashServer(u32, CrashPoint),
    /// The disk is full. The server answers for a moment more and then exits.
    DiskFull,
    /// The wall clock is set forward or back.
    StepClock(ClockOwner, Millis),
    /// The wall clock gains or loses this many parts per million.
    DriftClock(ClockOwner, i64),
}

/// The process that a clock belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClockOwner {
    /// A controller.
    Process(ProcessId),
    /// The server.
    Server,
}

/// Where in a call or a commit a crash occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// Before it takes effect.
    Before,
    /// After it takes effect and before the caller learns the result.
    After,
    /// As `After`, but only creates of Jobs and Pods and starts of Pods are counted: no status mentions
    /// the new object or process.
    AfterCreate,
}

impl CrashPoint {
    /// Whether a call or commit counts towards the nth one.
    pub fn counts(self, is_create: bool) -> bool {
        self != CrashPoint::AfterCreate || is_create
    }
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// The request is lost and the connection is reset.
    RequestLost,
    /// The request is executed and the response is lost.
    ResponseLost,
    /// The request is executed and the response never arrives, so the caller times out.
    ResponseHangs,
    /// The request arrives twice.
    Duplicated,
    /// The request arrives after the caller timed out. Creates are lost instead.
    Delayed,
    /// The request is not executed and the server responds with this status code.
    Rejected(u16),
    /// The request is executed and the server responds with 500.
    DoneAnd500,
}

impl Scenario {
    /// Converts to a timestamp on the true clock.
    pub fn at(&self, since_start: Millis) -> Timestamp {
        self.start.saturating_add(SignedDuration::from_millis(since_start)).unwrap_or(self.start)
    }

    /// When all CronJobs are suspended, so that the system becomes idle.
    pub fn all_suspended_at(&self) -> Millis {
        self.length + UNDISTURBED
    }

    /// When the system must be idle.
    pub fn idle_at(&self) -> Millis {
        let longest = self
            .specs()
            .map(|spec| spec.pod_duration + Millis::from(spec.ttl.unwrap_or_default()) * 1000)
            .max();
        self.all_suspended_at() + longest.unwrap_or_default() + self.requests_take() + 60_000
    }

    /// How long all requested runs take, one after another.
    pub fn requests_take(&self) -> Millis {
        let longest = self.specs().map(|spec| spec.pod_duration).max().unwrap_or_default();
        let requests = self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::RequestRuns(_, request) => Some(request.runs_max()),
            _ => None,
        });
        requests.sum::<Millis>() * (longest + REQUEST_REACTION)
    }

    /// When the simulation ends.
    pub fn end(&self) -> Millis {
        self.idle_at() + 60_000
    }

    /// The specs of all CronJobs that users create or replace.
    pub fn specs(&self) -> impl Iterator<Item = &ScenarioCronJob> {
        self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::Create(_, spec) | ActionKind::Replace(_, spec) => Some(spec),
            _ => None,
        })
    }

    /// The numbers of all CronJobs that users create.
    pub fn cron_jobs(&self) -> impl Iterator<Item = usize> {
        let created = self.actions.iter().filter_map(|action| match action.kind {
            ActionKind::Create(number, _) => Some(number),
            _ => None,
        });
        0..created.max().map_or(0, |most| most + 1)
    }
}

impl FaultWindow {
    /// Whether the fault occurs at this time.
    pub fn contains(&self, at: Millis) -> bool {
        self.from <= at && at < self.to
    }
}
