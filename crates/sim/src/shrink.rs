//! Finds a smaller scenario with the same violation.

use punctual_testing::scenario::{ActionKind, Scenario, UserAction};

/// The number of simulations to spend at most.
const ATTEMPTS_MAX: usize = 300;

/// Removes actions, faults and time as long as the violation remains.
pub fn shrink(scenario: &Scenario, has_violation: impl Fn(&Scenario) -> bool) -> Scenario {
    let mut smallest = scenario.clone();
    let mut attempts = 0;
    loop {
        let smaller = candidates(&smallest).into_iter().find(|candidate| {
            attempts += 1;
            attempts <= ATTEMPTS_MAX && has_violation(candidate)
        });
        match smaller {
            Some(candidate) => smallest = candidate,
            None => return smallest,
        }
    }
}

/// Slightly smaller scenarios, the greatest savings first.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut found = Vec::new();
    for number in scenario.cron_jobs() {
        found.push(Scenario { actions: actions_without(scenario, number), ..scenario.clone() });
    }
    for index in 0..scenario.faults.len() {
        let mut smaller = scenario.clone();
        smaller.faults.remove(index);
        found.push(smaller);
    }
    for (index, action) in scenario.actions.iter().enumerate() {
        if !matches!(action.kind, ActionKind::Create(..)) {
            let mut smaller = scenario.clone();
            smaller.actions.remove(index);
            found.push(smaller);
        }
    }
    if let Some(latest) = latest(scenario)
        && latest + 60_000 < scenario.length
    {
        found.push(Scenario { length: latest + 60_000, ..scenario.clone() });
    }
    found.retain(|smaller| smaller != scenario && !smaller.actions.is_empty());
    found
}

/// The actions that do not concern the CronJob with this number.
fn actions_without(scenario: &Scenario, number: usize) -> Vec<UserAction> {
    let concerned = |kind: &ActionKind| match kind {
        ActionKind::Create(concerned, _)
        | ActionKind::Replace(concerned, _)
        | ActionKind::Suspend(concerned, _)
        | ActionKind::SuspendUntil(concerned, _)
        | ActionKind::CreateForeignJob(concerned, _)
        | ActionKind::Delete(concerned)
        | ActionKind::RequestRuns(concerned, _)
        | ActionKind::DeleteRequests(concerned)
        | ActionKind::DeleteJob(concerned)
        | ActionKind::Touch(concerned) => *concerned,
    };
    let others = scenario.actions.iter().filter(|action| concerned(&action.kind) != number);
    others.cloned().collect()
}

/// When the last action starts or the last fault ends.
fn latest(scenario: &Scenario) -> Option<i64> {
    let actions = scenario.actions.iter().map(|action| action.at);
    actions.chain(scenario.faults.iter().map(|window| window.to)).max()
}
