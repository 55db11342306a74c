//! The smallest world in which the same goes wrong.

use crate::scenario::{Asked, Scenario};

/// So many worlds are lived through at most.
const TRIES_MAX: usize = 300;

/// Takes away whatever is not needed for the fault to show.
pub fn shrink(scenario: &Scenario, is_faulty: impl Fn(&Scenario) -> bool) -> Scenario {
    let mut best = scenario.clone();
    let mut tries = 0;
    loop {
        let smaller = candidates(&best).into_iter().find(|candidate| {
            tries += 1;
            tries <= TRIES_MAX && is_faulty(candidate)
        });
        match smaller {
            Some(candidate) => best = candidate,
            None => return best,
        }
    }
}

/// Worlds with a little less in them, the greatest savings first.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut found = Vec::new();
    for which in scenario.cron_jobs() {
        found.push(Scenario { deeds: without(scenario, which), ..scenario.clone() });
    }
    for place in 0..scenario.troubles.len() {
        let mut smaller = scenario.clone();
        smaller.troubles.remove(place);
        found.push(smaller);
    }
    for (place, deed) in scenario.deeds.iter().enumerate() {
        if !matches!(deed.what, Asked::Create(..)) {
            let mut smaller = scenario.clone();
            smaller.deeds.remove(place);
            found.push(smaller);
        }
    }
    if let Some(latest) = latest(scenario).filter(|latest| latest + 60_000 < scenario.length) {
        found.push(Scenario { length: latest + 60_000, ..scenario.clone() });
    }
    found.retain(|smaller| smaller != scenario && !smaller.deeds.is_empty());
    found
}

fn without(scenario: &Scenario, which: usize) -> Vec<crate::scenario::Deed> {
    let is_about = |what: &Asked| match what {
        Asked::Create(whom, _) | Asked::Replace(whom, _) => *whom == which,
        Asked::Suspend(whom, _) | Asked::TakeName(whom, _) => *whom == which,
        Asked::Delete(whom) | Asked::DeleteJob(whom) | Asked::Touch(whom) => *whom == which,
    };
    scenario.deeds.iter().filter(|deed| !is_about(&deed.what)).cloned().collect()
}

/// When the last thing begins that is asked for, or the last trouble ends.
fn latest(scenario: &Scenario) -> Option<i64> {
    let deeds = scenario.deeds.iter().map(|deed| deed.at);
    deeds.chain(scenario.troubles.iter().map(|trouble| trouble.to)).max()
}
