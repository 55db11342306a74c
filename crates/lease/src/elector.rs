//! [`Elector`]: the state machine of one candidate for leadership.

use jiff::Timestamp;

use crate::phase::{ElectorPhase, NextRequest};
use crate::record::ObservedLease;
use crate::{
    ConfigError, ElectionConfig, ElectorAction, LeaseReadResult, LeaseRecord, LeaseWriteResult,
    MonotonicTime, ResourceVersion,
};

/// A candidate for leadership. See the [crate documentation](crate) for its guarantees.
#[derive(Clone, Debug)]
pub struct Elector {
    config: ElectionConfig,
    identity: String,
    phase: ElectorPhase,
    /// The Lease as last observed. It remains if the Lease is deleted, because its holder may still
    /// lead.
    observed: Option<ObservedLease>,
    is_absent: bool,
    /// The start of the last successful renewal, while the Lease is ours.
    renewed_at: Option<MonotonicTime>,
    is_releasing: bool,
    /// A write failed, the Lease was read again at once, and no wait has elapsed since.
    retried_at_once: bool,
}

impl Elector {
    /// Creates a candidate. The identity must be unique to this process; an earlier process of the same
    /// name must have had another identity.
    pub fn new(config: ElectionConfig, identity: impl Into<String>) -> Result<Self, ConfigError> {
        config.validate()?;
        let identity = identity.into();
        if identity.is_empty() {
            return Err(ConfigError::IdentityEmpty);
        }
        Ok(Self {
            config,
            identity,
            phase: ElectorPhase::Read,
            observed: None,
            is_absent: false,
            renewed_at: None,
            is_releasing: false,
            retried_at_once: false,
        })
    }

    /// Reports whether this candidate leads, so that it may act.
    pub fn is_leader(&self, now: MonotonicTime) -> bool {
        self.leads_until().is_some_and(|until| now < until)
    }

    /// Returns the end of leadership unless it is renewed. Requests must end before it.
    pub fn leads_until(&self) -> Option<MonotonicTime> {
        if self.is_releasing {
            return None;
        }
        Some(self.renewed_at?.saturating_add(self.config.renew_deadline))
    }

    /// Returns the Lease as last observed or written.
    pub fn record(&self) -> Option<&LeaseRecord> {
        if self.is_absent {
            return None;
        }
        self.observed.as_ref().map(|observed| &observed.record)
    }

    /// Returns the next action. Call it at the start, after each other call, and after sleeping.
    ///
    /// `wall` is only written into the Lease. `random` is any random number; it spreads the attempts of
    /// candidates that started together.
    pub fn poll(&mut self, now: MonotonicTime, wall: Timestamp, random: u32) -> ElectorAction {
        if let ElectorPhase::Wait { from, then } = self.phase {
            self.phase = ElectorPhase::Sleep { until: self.wait_end(from, random), then };
        }
        if let ElectorPhase::Sleep { until, then } = self.phase
            && until <= now
        {
            self.retried_at_once = false;
            self.phase = then.into();
        }
        match self.phase {
            ElectorPhase::Read => {
                self.phase = ElectorPhase::Reading;
                ElectorAction::Get
            }
            ElectorPhase::Write => self.write(now, wall),
            ElectorPhase::Sleep { until, .. } => {
                ElectorAction::Sleep(self.cap_at_term_end(until, now))
            }
            ElectorPhase::Wait { .. } | ElectorPhase::Reading | ElectorPhase::Writing { .. } => {
                ElectorAction::Sleep(
                    self.cap_at_term_end(now.saturating_add(self.config.retry_period), now),
                )
            }
            ElectorPhase::Released => ElectorAction::Released,
        }
    }

    /// Reports the result of a read. A result without a read in flight is ignored, because it may be
    /// older than our last write.
    pub fn on_observed(&mut self, read: LeaseReadResult, now: MonotonicTime) {
        if !matches!(self.phase, ElectorPhase::Reading) {
            return;
        }
        match read {
            LeaseReadResult::Present(record, version) => self.observe(record, version, now),
            // A candidate that never observed our Lease may create one at once, so our term ends.
            LeaseReadResult::Absent => {
                self.is_absent = true;
                self.renewed_at = None;
            }
            LeaseReadResult::Failed => {
                self.phase = ElectorPhase::Wait { from: now, then: NextRequest::Read };
                return;
            }
        }
        self.phase = if self.is_releasing {
            if self.is_ours() && !self.is_absent {
                ElectorPhase::Write
            } else {
                ElectorPhase::Released
            }
        } else if self.may_take(now) {
            ElectorPhase::Write
        } else {
            ElectorPhase::Wait { from: now, then: NextRequest::Read }
        };
    }

    /// Reports the result of a write. A result without a write in flight is ignored.
    pub fn on_write(&mut self, written: LeaseWriteResult, now: MonotonicTime) {
        let ElectorPhase::Writing { record, started_at } = &self.phase else {
            return;
        };
        match written {
            LeaseWriteResult::Done(version) => {
                let observed = ObservedLease::new(record.clone(), version, now);
                let started_at = *started_at;
                self.finish_write(observed, started_at);
            }
            // Reading at once resolves the doubt soonest. A server that always reports a conflict
            // must not be queried without a pause, so the second failure waits.
            LeaseWriteResult::Conflict | LeaseWriteResult::Unknown if self.retried_at_once => {
                self.phase = ElectorPhase::Wait { from: now, then: NextRequest::Read };
            }
            LeaseWriteResult::Conflict | LeaseWriteResult::Unknown => {
                self.retried_at_once = true;
                self.phase = ElectorPhase::Read;
            }
        }
    }

    /// Ends leadership at once and permanently. [`Elector::poll`] then releases the Lease, so that a
    /// successor need not wait. All requests of the leader must have ended before this call, because
    /// another candidate may lead a moment later. The caller decides how long it keeps polling; a Lease
    /// that is not released expires.
    pub fn release(&mut self) {
        if self.is_releasing {
            return;
        }
        self.is_releasing = true;
        self.phase = match &self.phase {
            ElectorPhase::Wait { then, .. } | ElectorPhase::Sleep { then, .. } => (*then).into(),
            other => other.clone(),
        };
        if matches!(self.phase, ElectorPhase::Write) && (self.is_absent || !self.is_ours()) {
            self.phase = ElectorPhase::Released;
        }
    }

    fn observe(&mut self, record: LeaseRecord, version: ResourceVersion, now: MonotonicTime) {
        self.is_absent = false;
        self.observed = Some(match self.observed.take() {
            Some(observed) => observed.update(record, version, now),
            None => ObservedLease::new(record, version, now),
        });
        if !self.is_ours() {
            self.renewed_at = None;
        }
    }

    /// Updates the state after a successful write that started at `started_at`.
    fn finish_write(&mut self, observed: ObservedLease, started_at: MonotonicTime) {
        self.observed = Some(observed);
        self.is_absent = false;
        self.retried_at_once = false;
        if !self.is_ours() {
            self.renewed_at = None;
            self.phase = ElectorPhase::Released;
            return;
        }
        self.renewed_at = Some(started_at);
        self.phase = if self.is_releasing {
            ElectorPhase::Write
        } else {
            ElectorPhase::Wait { from: started_at, then: NextRequest::Write }
        };
    }

    /// We are the holder of the Lease as last observed.
    fn is_ours(&self) -> bool {
        self.observed.as_ref().is_some_and(|observed| observed.record.holder == self.identity)
    }

    /// Reports whether no other candidate can still lead, according to our observations.
    ///
    /// The deletion of a Lease does not end its holder's term: a candidate that observed the holder
    /// waits for the end of the term as if the Lease existed.
    fn may_take(&self, now: MonotonicTime) -> bool {
        self.taken_until().is_none_or(|until| until <= now)
    }

    /// Returns the end of another holder's term.
    fn taken_until(&self) -> Option<MonotonicTime> {
        let observed = self.observed.as_ref()?;
        if observed.record.holder.is_empty() || self.is_ours() {
            return None;
        }
        Some(observed.expires_at(self.config.lease_duration))
    }

    /// Returns the end of a wait. A wait ends no later than the term of another holder, so that an
    /// expired Lease is taken at once.
    fn wait_end(&self, from: MonotonicTime, random: u32) -> MonotonicTime {
        let end = from.saturating_add(self.config.jittered_retry_period(random));
        match self.taken_until() {
            Some(until) if until > from => end.min(until),
            _ => end,
        }
    }

    /// Limits a sleep to the end of our own term, so that the caller notices it.
    fn cap_at_term_end(&self, until: MonotonicTime, now: MonotonicTime) -> MonotonicTime {
        self.leads_until().filter(|end| *end > now).map_or(until, |end| until.min(end))
    }

    fn write(&mut self, now: MonotonicTime, wall: Timestamp) -> ElectorAction {
        let old = self.observed.as_ref().map(|observed| &observed.record);
        let record = if self.is_releasing {
            LeaseRecord::release(old, wall)
        } else {
            LeaseRecord::claim(old, &self.identity, self.config.lease_seconds(), wall)
        };
        self.phase = ElectorPhase::Writing { record: record.clone(), started_at: now };
        match &self.observed {
            Some(observed) if !self.is_absent => {
                ElectorAction::Update(record, observed.version.clone())
            }
            _ => ElectorAction::Create(record),
        }
    }
}
