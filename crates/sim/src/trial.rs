//! One world, lived and judged.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{self, AssertUnwindSafe, catch_unwind};

use crate::check::{Verdict, Violation, check};
use crate::history::{Happened, History};
use crate::scenario::Scenario;
use crate::world::live;

thread_local! {
    /// What panicked on this thread: a panic in a task is caught by whoever runs the task.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Has panics written down instead of printed. To be called once.
pub fn catch_panics() {
    panic::set_hook(Box::new(|panic| {
        PANICS.with_borrow_mut(|panics| panics.push(panic.to_string()));
    }));
}

/// What came of a world.
pub struct Trial {
    /// What happened.
    pub history: History,
    /// What is to be said about it.
    pub verdict: Verdict,
}

/// Lives through a scenario, and judges what happened.
pub fn attempt(scenario: &Scenario) -> Trial {
    PANICS.with_borrow_mut(Vec::clear);
    // A world that panics is over; nothing of it is used again.
    let lived = catch_unwind(AssertUnwindSafe(|| live(scenario)));
    let (history, mut verdict) = match lived {
        Ok(Ok((history, end))) => {
            let verdict = check(scenario, &history, end);
            (history, verdict)
        }
        Ok(Err(why)) => (History::new(), broken("no-runtime", why.to_string())),
        Err(_) => (History::new(), broken("panic", "the world ended in a panic".to_owned())),
    };
    let panics = PANICS.with_borrow_mut(std::mem::take);
    let panics =
        panics.into_iter().map(|text| Violation { at: scenario.length, rule: "panic", text });
    verdict.violations.extend(panics);
    Trial { history, verdict }
}

fn broken(rule: &'static str, text: String) -> Verdict {
    let violation = Violation { at: 0, rule, text };
    Verdict { violations: vec![violation], ..Verdict::default() }
}

/// A number that two histories share only if they are the same.
pub fn digest(history: &History) -> u64 {
    let mut hasher = DefaultHasher::new();
    for record in history {
        record.at.hash(&mut hasher);
        match &record.what {
            Happened::Written { revision, key, value } => (revision, key, value).hash(&mut hasher),
            other => format!("{other:?}").hash(&mut hasher),
        }
    }
    hasher.finish()
}

impl Trial {
    /// How many changes the disk took.
    pub fn writes(&self) -> u64 {
        let is_write = |what: &Happened| matches!(what, Happened::Written { .. });
        self.history.iter().filter(|record| is_write(&record.what)).count() as u64
    }
}
