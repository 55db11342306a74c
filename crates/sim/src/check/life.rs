//! What there was: CronJobs from their creation to their end, each with its runs. Made once from the
//! history; the rules look at it and at nothing else.

use std::sync::Arc;

use jiff::Timestamp;

use super::objects::{Ending, Spec, StatusText};
use super::oracle::Seconds;
use crate::scenario::Millis;

/// Later than everything.
pub(super) const NEVER: Millis = Millis::MAX / 4;

/// A CronJob of one UID.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) uid: String,
    /// `CronJob` or `ScheduledJob`.
    pub(super) kind: &'static str,
    /// `c0` and so on.
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) created_at: Millis,
    /// When it was created by the clock of the server.
    pub(super) creation: Seconds,
    /// What it was to do, in the order of time; each holds until the next.
    pub(super) stretches: Vec<Stretch>,
    /// What its status said, in the order of time.
    pub(super) statuses: Vec<(Millis, StatusText)>,
    /// When it was gone, or marked to go; [`NEVER`] if it is still there.
    pub(super) deleted_at: Millis,
    /// The Jobs that it controls, in the order of their creation.
    pub(super) runs: Vec<Run>,
}

/// A time in which a CronJob was to do the same.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) from: Millis,
    pub(super) to: Millis,
    /// Since when the schedule and the zone are these.
    pub(super) scheduled_since: Millis,
    pub(super) spec: Spec,
}

/// A Job.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) uid: String,
    pub(super) key: Arc<str>,
    /// The UID of whoever controls it.
    pub(super) owner: Option<String>,
    /// The kind that it says this is of.
    pub(super) owner_kind: String,
    /// The slot that it says it is for.
    pub(super) slot: Option<Seconds>,
    pub(super) created_at: Millis,
    pub(super) started: Option<Timestamp>,
    pub(super) end: Option<End>,
    /// How many Pods it has counted that ended well, and that did not.
    pub(super) counted: (i64, i64),
    /// When it was marked to go, or gone at once.
    pub(super) deleted_at: Millis,
    pub(super) gone_at: Millis,
    /// Whether it waits for its slot to be recorded, as it was last seen.
    pub(super) is_held: bool,
    pub(super) has_ttl: bool,
    /// Whether a user may have asked for its deletion.
    pub(super) is_unwanted: bool,
}

/// How and when a Job ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) at: Millis,
    pub(super) ending: Ending,
    pub(super) completed: Option<Timestamp>,
}

/// A Pod.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) key: Arc<str>,
    pub(super) job: Option<String>,
    pub(super) gone_at: Millis,
}

impl Life {
    /// What may have been known of it at an instant, by somebody who is behind by so much.
    pub(super) fn known(&self, at: Millis, behind: Millis) -> impl Iterator<Item = &Stretch> {
        let last = self.stretches.last().map_or(0, |last| last.from);
        let is_known = move |stretch: &&Stretch| {
            stretch.from <= at && (stretch.to > at - behind || stretch.from == last)
        };
        self.stretches.iter().filter(is_known)
    }

    /// What its status said at an instant.
    pub(super) fn status_at(&self, at: Millis) -> Option<&StatusText> {
        let past = self.statuses.iter().rev().find(|(from, _)| *from <= at);
        past.map(|(_, status)| status)
    }

    /// The run for a slot that was created first.
    pub(super) fn run_for(&self, slot: Seconds) -> Option<&Run> {
        self.runs.iter().find(|run| run.slot == Some(slot))
    }

    pub(super) fn is_there_at_the_end(&self) -> bool {
        self.deleted_at == NEVER
    }

    /// What it is to do at the end.
    pub(super) fn last_spec(&self) -> Option<&Spec> {
        self.stretches.last().map(|stretch| &stretch.spec)
    }

    /// The key of the Job for a slot.
    pub(super) fn job_key(&self, slot: Seconds) -> String {
        let Life { namespace, name, .. } = self;
        let number = if slot % 60 == 0 { slot / 60 } else { slot };
        format!("/jobs.batch/{namespace}/{name}-{number}")
    }
}

impl Run {
    pub(super) fn ended_at(&self) -> Millis {
        self.end.map_or(NEVER, |end| end.at)
    }

    /// Until when it kept others from running: it ended, or was gone.
    pub(super) fn unfinished_until(&self) -> Millis {
        self.ended_at().min(self.gone_at)
    }

    pub(super) fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }
}
