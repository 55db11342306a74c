//! Kills `punctual up` at random times and restarts it. Prints how many runs have begun and ended
//! according to the event logs that the runs write.

use std::{fmt, ops::RangeInclusive, time::Duration};

use punctual_e2e::{Cluster, load::latency::Latencies};
use punctual_testing::TestRng;
use tokio::time::sleep;

use super::{event_log::RunEventKind, workload::KillsWorkload};
use crate::{instance::UpInstance, timing::random_millis};

/// Milliseconds from ready to killed.
const UPTIME_MS: RangeInclusive<u64> = 200..=4_000;
/// Milliseconds from started to killed, before it may be ready.
const EARLY_UPTIME_MS: RangeInclusive<u64> = 0..=200;
/// One restart in this many is killed early.
const EARLY_KILL_ONE_IN: u64 = 4;
const PROGRESS_INTERVAL: usize = 20;
const START_ATTEMPTS_MAX: usize = 5;
const RETRY_DELAY: Duration = Duration::from_millis(100);

pub(super) struct Killer<'a> {
    pub(super) instance: &'a UpInstance,
    pub(super) workload: &'a KillsWorkload,
    /// The number of kills to do, in addition to early ones.
    pub(super) target_kills: usize,
    pub(super) rng: TestRng,
}

/// Counts and durations of all restarts.
pub(super) struct RestartStats {
    kills: usize,
    early_kills: usize,
    /// Failed starts. They are retried and are not a violation.
    failed_starts: usize,
    latencies: Latencies,
}

impl Killer<'_> {
    /// Kills and restarts `punctual up`. Returns the cluster of the last restart, which is still running.
    pub(super) async fn run(self, cluster: Cluster) -> anyhow::Result<(Cluster, RestartStats)> {
        let mut running = cluster;
        let mut early_kills = 0;
        let mut failed_starts = 0;
        let mut durations = Vec::new();
        for kill in 1..=self.target_kills {
            sleep(random_millis(&self.rng, UPTIME_MS)).await;
            drop(running);
            if self.rng.once_in(EARLY_KILL_ONE_IN) {
                early_kills += 1;
                let starting = self.instance.spawn()?;
                sleep(random_millis(&self.rng, EARLY_UPTIME_MS)).await;
                drop(starting);
            }
            let (cluster, duration) = self.restart(&mut failed_starts).await?;
            running = cluster;
            durations.push(duration);
            if kill % PROGRESS_INTERVAL == 0 {
                self.print_progress(kill)?;
            }
        }
        let kills = self.target_kills + early_kills;
        let latencies = Latencies::new(durations);
        Ok((running, RestartStats { kills, early_kills, failed_starts, latencies }))
    }

    /// Starts `punctual up`, again if it exits, as a process supervisor would.
    async fn restart(&self, failed_starts: &mut usize) -> anyhow::Result<(Cluster, Duration)> {
        for _ in 1..START_ATTEMPTS_MAX {
            match self.instance.start() {
                Ok(started) => return Ok(started),
                Err(error) => println!("failed start: {error:#}"),
            }
            *failed_starts += 1;
            sleep(RETRY_DELAY).await;
        }
        self.instance.start()
    }

    fn print_progress(&self, kill: usize) -> anyhow::Result<()> {
        let event_logs = self.workload.event_logs()?;
        let begun: usize = event_logs.iter().map(|event_log| event_log.run_count()).sum();
        let events = event_logs.iter().flat_map(|event_log| &event_log.events);
        let ended = events.filter(|event| event.kind == RunEventKind::End).count();
        println!("{kill} of {} kills; {begun} runs began, {ended} ended", self.target_kills);
        Ok(())
    }
}

impl fmt::Display for RestartStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RestartStats { kills, early_kills, failed_starts, latencies } = self;
        write!(
            f,
            "{kills} kills, {early_kills} of them during a start; {failed_starts} starts failed; ready \
             again after {:.0?} (p50), {:.0?} (p99), {:.0?} (max)",
            latencies.percentile(50),
            latencies.percentile(99),
            latencies.max(),
        )
    }
}
