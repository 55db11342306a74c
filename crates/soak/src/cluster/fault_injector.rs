//! Injects faults into one controller, both controllers or the server.

use std::{ops::RangeInclusive, time::Duration};

use jiff::Timestamp;
use punctual_e2e::{Cluster, load::clock};
use punctual_testing::TestRng;
use tokio::{time::sleep, try_join};

use super::{
    availability::LeaseHold,
    controller_processes::{FaultyController, NAMES},
    fault::{FaultKind, FaultTarget, PlannedFault, RecordedFault},
    recorded_jobs::{LeaseTerms, RecordedJobs},
    recorder::WatchRecorder,
};
use crate::timing::{TimeSpan, random_millis};

const SERVER: &str = "kube-apiserver";
/// Milliseconds between two faults.
const PAUSE_MS: RangeInclusive<u64> = 500..=4_000;
/// One pause in this many is long enough for the system to settle.
const LONG_PAUSE_ONE_IN: u64 = 6;
const LONG_PAUSE: Duration = Duration::from_secs(9);
/// The time before the first fault, so that all parts have started.
const WARM_UP: Duration = Duration::from_secs(15);
const SERVER_DOWN_MS: RangeInclusive<u64> = 0..=4_000;
const PROGRESS_INTERVAL: usize = 10;

type BothControllers = [FaultyController; NAMES.len()];

pub(super) struct FaultInjector<'a> {
    pub(super) cluster: &'a mut Cluster,
    pub(super) jobs: &'a WatchRecorder<RecordedJobs>,
    pub(super) leases: &'a WatchRecorder<LeaseTerms>,
    pub(super) rng: TestRng,
}

impl FaultInjector<'_> {
    /// Injects faults until there were `count`, and returns them.
    pub(super) async fn run(
        &mut self,
        controllers: &mut BothControllers,
        count: usize,
    ) -> anyhow::Result<Vec<RecordedFault>> {
        let start = clock::now();
        let mut faults = Vec::new();
        sleep(WARM_UP).await;
        while faults.len() < count {
            let printed = faults.len() / PROGRESS_INTERVAL;
            let target = FaultTarget::generate(&self.rng);
            faults.extend(self.inject(controllers, target).await?);
            if faults.len() / PROGRESS_INTERVAL > printed {
                self.print_progress(faults.len(), start.elapsed());
            }
            let is_long = self.rng.once_in(LONG_PAUSE_ONE_IN);
            sleep(if is_long { LONG_PAUSE } else { random_millis(&self.rng, PAUSE_MS) }).await;
        }
        Ok(faults)
    }

    async fn inject(
        &mut self,
        controllers: &mut BothControllers,
        target: FaultTarget,
    ) -> anyhow::Result<Vec<RecordedFault>> {
        let holder = self.leases.recorded().value.0.last().map(|term| term.holder.clone());
        let leader = find_controller(controllers, &holder.unwrap_or_default())?;
        let [a, b] = controllers;
        // Without a leader the first controller takes its part.
        let (leading, standby) = if leader == Some(1) { (b, a) } else { (a, b) };
        let leading_number = leader.unwrap_or(0);
        let standby_number = 1 - leading_number;
        let record = |number, kind, span| RecordedFault {
            kind,
            controller: Some(number),
            was_leader: leader == Some(number),
            span,
        };
        if target == FaultTarget::Server {
            return Ok(vec![self.kill_server().await?]);
        }
        let fault = PlannedFault::generate(&self.rng);
        match target {
            FaultTarget::Standby => {
                let span = standby.inject(fault).await?;
                Ok(vec![record(standby_number, fault.kind, span)])
            }
            FaultTarget::Both(delay) => {
                let second = PlannedFault::generate(&self.rng);
                let delayed = async {
                    sleep(Duration::from_millis(delay)).await;
                    standby.inject(second).await
                };
                let (first_span, second_span) = try_join!(leading.inject(fault), delayed)?;
                Ok(vec![
                    record(leading_number, fault.kind, first_span),
                    record(standby_number, second.kind, second_span),
                ])
            }
            FaultTarget::Leader | FaultTarget::Server => {
                let span = leading.inject(fault).await?;
                Ok(vec![record(leading_number, fault.kind, span)])
            }
        }
    }

    async fn kill_server(&mut self) -> anyhow::Result<RecordedFault> {
        let duration = random_millis(&self.rng, SERVER_DOWN_MS);
        let from = clock::wall_time();
        self.cluster.kill(SERVER)?;
        sleep(duration).await;
        self.cluster.restart(SERVER)?;
        let span = TimeSpan { from, to: clock::wall_time() };
        Ok(RecordedFault { kind: FaultKind::KillServer, controller: None, was_leader: false, span })
    }

    fn print_progress(&self, faults: usize, elapsed: Duration) {
        let jobs = self.jobs.recorded().value.count();
        let changes = self.leases.recorded().value.changes();
        println!(
            "{faults} faults in {} s; {jobs} Jobs, {changes} leader changes",
            elapsed.as_secs()
        );
    }
}

/// The number of the controller with an identity.
fn find_controller(controllers: &BothControllers, identity: &str) -> anyhow::Result<Option<usize>> {
    for (number, controller) in controllers.iter().enumerate() {
        if controller.has_used_identity(identity)? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// The holders of the Lease until now.
pub(super) fn lease_holds(
    controllers: &BothControllers,
    terms: &LeaseTerms,
    now: Timestamp,
) -> anyhow::Result<Vec<LeaseHold>> {
    let ends = terms.0.iter().skip(1).map(|term| term.from).chain([now]);
    let holds = terms.0.iter().zip(ends).map(|(term, to)| {
        let controller = find_controller(controllers, &term.holder)?;
        Ok(LeaseHold { controller, span: TimeSpan { from: term.from, to } })
    });
    holds.collect()
}
