//! What all simulated parts share: the scenario, the true time, what was seen so far.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::dice::Dice;
use crate::history::{Happened, History, Record};
use crate::scenario::{Millis, Scenario, Trouble};

/// Nobody has that many calls to make within a second of the world.
const CALLS_MAX: u32 = 60_000;
/// Nor has anybody to look at a clock that often.
const LOOKS_MAX: u64 = 2_000_000;

/// What all simulated parts share.
pub(crate) struct Stage {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) dice: Dice,
    started: Instant,
    history: Mutex<History>,
    /// How many calls there were in which second of the world.
    calls: Mutex<(Millis, u32)>,
    looks: Mutex<Looks>,
}

/// How often somebody looked at a clock.
#[derive(Default)]
struct Looks {
    all: u64,
    second: Millis,
    /// In that second of the world.
    within: u64,
}

impl Stage {
    /// To be called within the runtime of the world, whose clock stands still until somebody waits.
    pub(crate) fn new(scenario: Arc<Scenario>) -> Arc<Stage> {
        let dice = Dice::new(scenario.seed);
        Arc::new(Stage {
            scenario,
            dice,
            started: Instant::now(),
            history: Mutex::default(),
            calls: Mutex::default(),
            looks: Mutex::default(),
        })
    }

    /// The true time.
    pub(crate) fn now(&self) -> Millis {
        Millis::try_from(self.started.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// Counts a call. Whether there were so many at once that somebody must be going round in circles,
    /// which is told once: as a panic, for that is what ends it.
    pub(crate) fn is_overrun(&self) -> bool {
        let second = self.now() / 1000;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match *calls {
            (_, CALLS_MAX) => return true,
            (at, count) if at == second => *calls = (at, count + 1),
            _ => *calls = (second, 1),
        }
        if calls.1 == CALLS_MAX {
            tokio::spawn(async move { panic!("hot loop: {CALLS_MAX} calls in second {second}") });
        }
        calls.1 == CALLS_MAX
    }

    /// Counts a look at a clock. Who goes round in circles and asks for nothing does look at the clock,
    /// and is ended here: no time would ever pass.
    pub(crate) fn look(&self, now: Millis) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.all += 1;
        match now / 1000 == looks.second {
            true => looks.within += 1,
            false => (looks.second, looks.within) = (now / 1000, 1),
        }
        let (second, within) = (looks.second, looks.within);
        drop(looks);
        assert!(within < LOOKS_MAX, "hot loop: {LOOKS_MAX} looks at the clock in second {second}");
    }

    /// How often somebody has looked at a clock so far.
    pub(crate) fn looks(&self) -> u64 {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).all
    }

    /// Waits until it is that time.
    pub(crate) async fn until(&self, at: Millis) {
        let at = u64::try_from(at).unwrap_or_default();
        tokio::time::sleep_until(self.started + Duration::from_millis(at)).await;
    }

    /// Writes down what happened.
    pub(crate) fn record(&self, what: Happened) {
        let at = self.now();
        self.history.lock().unwrap_or_else(PoisonError::into_inner).push(Record { at, what });
    }

    /// What happened.
    pub(crate) fn take_history(&self) -> History {
        std::mem::take(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The troubles at a time.
    pub(crate) fn troubles_at(&self, at: Millis) -> impl Iterator<Item = &Trouble> {
        self.scenario.troubles.iter().filter(move |trouble| trouble.is_on(at))
    }
}
