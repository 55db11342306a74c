//! What happens in one world: who asks for what, and what goes wrong when. A value, made of a seed, so
//! that it can be printed, cut down and lived again.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use punctual_api::ConcurrencyPolicy;

/// One world, from its first instant to the last fault. Times are since the start, in milliseconds, on
/// the true clock that nobody in the world can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// What delays, UIDs and chances are drawn from.
    pub seed: u64,
    /// The first instant.
    pub start: Timestamp,
    /// How long users ask and faults happen. Then come the calm, in which everything has to settle.
    pub length: Millis,
    /// Each is a process of its own: one to three.
    pub controllers: usize,
    /// What users do, in the order of time.
    pub deeds: Vec<Deed>,
    /// What goes wrong.
    pub troubles: Vec<Trouble>,
}

/// Milliseconds since the start of a world.
pub type Millis = i64;

/// How long all goes on as usual after the last trouble, before everything is suspended.
const CALM: Millis = 110_000;

/// What a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// When it is asked for. A server that is away is asked again every second until it is there.
    pub at: Millis,
    /// What.
    pub what: Asked,
}

/// What can be asked for. CronJobs are in the namespace `default`, named `c0`, `c1` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A CronJob, which is not there.
    Create(usize, Wish),
    /// Another specification for one that may be there.
    Replace(usize, Wish),
    /// `spec.suspend`.
    Suspend(usize, bool),
    /// An annotation that nobody reads, so that it is looked at.
    Touch(usize),
    /// To delete it, its Jobs in the background.
    Delete(usize),
    /// To delete the newest Job that it has, finished or not.
    DeleteJob(usize),
    /// A Job of somebody else, under the name that the slot at this time would take.
    TakeName(usize, Timestamp),
}

/// The specification of a CronJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// `batch/v1` CronJob, or our own kind.
    pub is_scheduled_job: bool,
    /// The schedule.
    pub schedule: Cow<'static, str>,
    /// The zone; none is UTC.
    pub zone: Option<&'static str>,
    /// What to do about runs that overlap.
    pub policy: ConcurrencyPolicy,
    /// `startingDeadlineSeconds`.
    pub deadline: Option<i64>,
    /// `spec.suspend`.
    pub is_suspended: bool,
    /// Percent.
    pub jitter: i32,
    /// `successfulJobsHistoryLimit` and `failedJobsHistoryLimit`.
    pub history: (i32, i32),
    /// `ttlSecondsAfterFinished` of the Jobs.
    pub ttl: Option<i32>,
    /// How long a Pod runs, in milliseconds.
    pub work: Millis,
    /// How many of ten Pods fail, chosen by the slot. A failed Pod fails its Job (`backoffLimit: 0`).
    pub failures_of_ten: u8,
}

/// A process that may be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Process {
    /// A CronJob controller.
    Controller(usize),
    /// The Job controller, with the collector.
    Jobs,
}

/// Something that goes wrong for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// From then.
    pub from: Millis,
    /// To then; all is well again, as far as this trouble goes. Clocks that were stepped stay so.
    pub to: Millis,
    /// What.
    pub what: Fault,
}

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed at the so-manieth call that it makes from then on, before or after the
    /// server does what was asked, and started anew at the end.
    Kill(Process, u32, Moment),
    /// The process is stopped, and goes on at the end.
    Pause(Process),
    /// The process is asked to end, gives its Lease back, and is started anew at the end.
    Stop(Process),
    /// No call of the process reaches the server, and no answer comes back.
    Cut(Process),
    /// So many of a thousand calls of the process go wrong.
    Lossy(Process, Wrong, u32),
    /// Every status that the process writes is refused, as by an admission webhook that is away.
    NoStatus(Process),
    /// Calls take up to so many milliseconds each way.
    Slow(Process, Millis),
    /// What the process watches comes so many milliseconds late, in heaps.
    Stale(Process, Millis),
    /// What the process watches comes late, by up to so many milliseconds, one after the other, and
    /// each watch by a time of its own.
    Lag(Process, Millis),
    /// The watches of the process are cut, again and again, every so many milliseconds.
    CutWatches(Process, Millis),
    /// The server forgets all changes but the last few, again and again.
    Compact,
    /// The server dies at its so-manieth commit from then on, which is on the disk or is not, and is
    /// started anew at the end.
    Crash(u32, Moment),
    /// The disk takes nothing until the end. The server goes on answering for a moment, and dies.
    DiskFull,
    /// The wall clock of a process is put forward or back.
    Step(Who, Millis),
    /// The wall clock of a process gains or loses so many millionths.
    Drift(Who, i64),
}

/// Whose clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// A process.
    Process(Process),
    /// The server.
    Server,
}

/// Before or after the deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It has not happened.
    Before,
    /// It has happened, and nobody has heard.
    After,
    /// As after; and only creates are counted, of Jobs and Pods. Nobody has written down that there is
    /// something new.
    AfterCreate,
}

impl Moment {
    /// Whether a deed counts, by whether it is a create.
    pub(crate) fn counts(self, is_create: bool) -> bool {
        self != Moment::AfterCreate || is_create
    }
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is lost on the way, and the connection is reset.
    Lost,
    /// It is done, and the answer is lost.
    Unheard,
    /// It is done, and the answer never comes: the caller has to give up.
    Hangs,
    /// It arrives twice.
    Twice,
    /// It arrives when nobody waits for it any more. Creates are lost.
    Late,
    /// It is not done, and the server says this.
    Refused(u16),
    /// It is done, and the server says 500 all the same.
    DoneAnd500,
}

impl Scenario {
    /// An instant on the true clock.
    pub fn at(&self, since_start: Millis) -> Timestamp {
        self.start.saturating_add(SignedDuration::from_millis(since_start)).unwrap_or(self.start)
    }

    /// When all CronJobs are suspended, so that everything comes to rest.
    pub fn suspended_at(&self) -> Millis {
        self.length + CALM
    }

    /// When nothing may be left to do.
    pub fn at_rest(&self) -> Millis {
        let wishes = self.deeds.iter().filter_map(|deed| match &deed.what {
            Asked::Create(_, wish) | Asked::Replace(_, wish) => Some(wish),
            _ => None,
        });
        let lasts =
            wishes.map(|wish| wish.work + Millis::from(wish.ttl.unwrap_or_default()) * 1000);
        self.suspended_at() + lasts.max().unwrap_or_default() + 60_000
    }

    /// When the world ends.
    pub fn end(&self) -> Millis {
        self.at_rest() + 60_000
    }

    /// The numbers of all CronJobs that are ever asked for.
    pub fn cron_jobs(&self) -> impl Iterator<Item = usize> {
        let created = self.deeds.iter().filter_map(|deed| match deed.what {
            Asked::Create(which, _) => Some(which),
            _ => None,
        });
        0..created.max().map_or(0, |most| most + 1)
    }
}

impl Trouble {
    /// Whether it is that time.
    pub fn is_on(&self, at: Millis) -> bool {
        self.from <= at && at < self.to
    }
}
