//! One candidate.

use jiff::Timestamp;

use crate::phase::{Next, Phase};
use crate::record::View;
use crate::{Action, Config, ConfigError, Mono, Read, Record, Version, Written};

/// A candidate for leadership; see the [crate](crate) for what it promises.
#[derive(Clone, Debug)]
pub struct Elector {
    config: Config,
    identity: String,
    phase: Phase,
    /// The Lease as it was last seen, even if it is absent now: its holder may live on.
    view: Option<View>,
    is_absent: bool,
    /// When the last acknowledged renewal began, while the Lease is ours.
    renewed_from: Option<Mono>,
    is_releasing: bool,
    /// The last write went wrong, and it was not waited since.
    is_hurried: bool,
}

impl Elector {
    /// A candidate that has seen nothing yet. The identity must belong to this process alone, and
    /// not to the one before it under the same name.
    pub fn new(config: Config, identity: impl Into<String>) -> Result<Self, ConfigError> {
        config.validate()?;
        let identity = Some(identity.into()).filter(|identity| !identity.is_empty());
        Ok(Self {
            config,
            identity: identity.ok_or(ConfigError::IdentityEmpty)?,
            phase: Phase::Read,
            view: None,
            is_absent: false,
            renewed_from: None,
            is_releasing: false,
            is_hurried: false,
        })
    }

    /// Whether effects are allowed at this moment.
    pub fn is_leader(&self, now: Mono) -> bool {
        self.leads_until().is_some_and(|until| now < until)
    }

    /// When leadership ends unless it is renewed. Effects must be cut off in time for that.
    pub fn leads_until(&self) -> Option<Mono> {
        let from = self.renewed_from.filter(|_| !self.is_releasing)?;
        Some(from.saturating_add(self.config.renew_deadline))
    }

    /// The Lease as it was last seen or written: who leads, as far as we know.
    pub fn record(&self) -> Option<&Record> {
        self.view.as_ref().map(|view| &view.record).filter(|_| !self.is_absent)
    }

    /// What to do now. To be called at the start, after each other call, and after sleeping.
    ///
    /// `wall` is written into the Lease and has no other meaning; `dice` is any random number,
    /// which spreads candidates that started together.
    pub fn poll(&mut self, now: Mono, wall: Timestamp, dice: u32) -> Action {
        if let Phase::Rest { from, then } = self.phase {
            self.phase = Phase::Sleep { until: self.rested(from, dice), then };
        }
        if let Phase::Sleep { until, then } = self.phase
            && until <= now
        {
            self.is_hurried = false;
            self.phase = then.into();
        }
        match self.phase {
            Phase::Read => {
                self.phase = Phase::Reading;
                Action::Get
            }
            Phase::Write => self.write(now, wall),
            Phase::Sleep { until, .. } => Action::Sleep(self.watchful(until, now)),
            Phase::Rest { .. } | Phase::Reading | Phase::Writing { .. } => {
                Action::Sleep(self.watchful(now.saturating_add(self.config.retry_period), now))
            }
            Phase::Released => Action::Released,
        }
    }

    /// The answer to a read. One that was not asked for is ignored, since it may be older than what
    /// we wrote.
    pub fn on_observed(&mut self, read: Read, now: Mono) {
        if !matches!(self.phase, Phase::Reading) {
            return;
        }
        match read {
            Read::Present(record, version) => self.see(record, version, now),
            // Whoever has not seen ours may have a Lease at once, so our term ends here.
            Read::Absent => {
                self.is_absent = true;
                self.renewed_from = None;
            }
            Read::Failed => {
                self.phase = Phase::Rest { from: now, then: Next::Read };
                return;
            }
        }
        self.phase = match self.is_releasing {
            true if self.is_ours() && !self.is_absent => Phase::Write,
            true => Phase::Released,
            false if self.may_take(now) => Phase::Write,
            false => Phase::Rest { from: now, then: Next::Read },
        };
    }

    /// The answer to a write. One that was not asked for is ignored.
    pub fn on_write(&mut self, written: Written, now: Mono) {
        let Phase::Writing { record, started_at } = &self.phase else {
            return;
        };
        match written {
            Written::Done(version) => {
                let (record, started_at) = (record.clone(), *started_at);
                self.hold(View::new(record, version, now), started_at);
            }
            // It is clear soonest by reading at once, but a server that always says so must not
            // be asked without a pause.
            Written::Conflict | Written::Unknown if self.is_hurried => {
                self.phase = Phase::Rest { from: now, then: Next::Read };
            }
            Written::Conflict | Written::Unknown => {
                self.is_hurried = true;
                self.phase = Phase::Read;
            }
        }
    }

    /// Ends leadership at once and for good, and has [`Elector::poll`] give the Lease back, so that
    /// a successor need not wait. The effects must be over: another may lead a moment later. How
    /// long to go on polling is for the shell to say; a Lease that is not given back expires.
    pub fn release(&mut self) {
        if self.is_releasing {
            return;
        }
        self.is_releasing = true;
        self.phase = match &self.phase {
            Phase::Rest { then, .. } | Phase::Sleep { then, .. } => (*then).into(),
            other => other.clone(),
        };
        if matches!(self.phase, Phase::Write) && (self.is_absent || !self.is_ours()) {
            self.phase = Phase::Released;
        }
    }

    fn see(&mut self, record: Record, version: Version, now: Mono) {
        self.is_absent = false;
        self.view = Some(match self.view.take() {
            Some(view) => view.refreshed(record, version, now),
            None => View::new(record, version, now),
        });
        self.renewed_from = self.renewed_from.filter(|_| self.is_ours());
    }

    fn hold(&mut self, view: View, started_at: Mono) {
        let is_ours = view.record.holder == self.identity;
        self.view = Some(view);
        self.is_absent = false;
        self.is_hurried = false;
        self.renewed_from = Some(started_at).filter(|_| is_ours);
        self.phase = match (is_ours, self.is_releasing) {
            (true, true) => Phase::Write,
            (true, false) => Phase::Rest { from: started_at, then: Next::Write },
            (false, _) => Phase::Released,
        };
    }

    /// Whether our name was the last one seen.
    fn is_ours(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.record.holder == self.identity)
    }

    /// Whether nobody else can believe in leading, by what we saw.
    ///
    /// A Lease that somebody deleted does not end its holder's term: who has seen the holder waits
    /// for the end of it, as if the Lease were there.
    fn may_take(&self, now: Mono) -> bool {
        self.taken_until().is_none_or(|until| until <= now)
    }

    fn taken_until(&self) -> Option<Mono> {
        let view = self.view.as_ref().filter(|view| !view.record.holder.is_empty())?;
        Some(view.expires_at(self.config.lease_duration)).filter(|_| !self.is_ours())
    }

    /// The end of a rest. It does not outlast the term of another, so that its end is met at once.
    fn rested(&self, from: Mono, dice: u32) -> Mono {
        let rested = from.saturating_add(self.config.rest(dice));
        match self.taken_until() {
            Some(until) if until > from => rested.min(until),
            _ => rested,
        }
    }

    /// Not later than the end of our own term, which the shell has to notice.
    fn watchful(&self, until: Mono, now: Mono) -> Mono {
        self.leads_until().filter(|end| *end > now).map_or(until, |end| until.min(end))
    }

    fn write(&mut self, now: Mono, wall: Timestamp) -> Action {
        let old = self.view.as_ref().map(|view| &view.record);
        let record = match self.is_releasing {
            true => Record::released(old, wall),
            false => Record::claimed(old, &self.identity, self.config.lease_seconds(), wall),
        };
        self.phase = Phase::Writing { record: record.clone(), started_at: now };
        match &self.view {
            Some(view) if !self.is_absent => Action::Update(record, view.version.clone()),
            _ => Action::Create(record),
        }
    }
}
