//! Kills and starts again.

use std::{fmt, time::Duration};

use punctual_e2e::Cluster;

use super::{super::site::Site, diary::Mark, fleet::Fleet};
use crate::dice::Dice;
use punctual_e2e::load::latency::Latencies;

/// Milliseconds between a start and the next kill.
const LIFE_MS: (u64, u64) = (200, 4_000);
/// Of those that may not even get ready.
const YOUNG_LIFE_MS: u64 = 200;
/// One in so many is killed while it starts.
const YOUNG_ONE_IN: u64 = 4;
const TELL_EVERY: usize = 20;
/// Whoever cannot start so often in a row cannot start at all.
const STARTS_MAX: usize = 5;
const START_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What is killed how often.
pub(super) struct Killer<'a> {
    pub(super) site: &'a Site,
    pub(super) fleet: &'a Fleet,
    pub(super) kills: usize,
    pub(super) dice: Dice,
}

/// How long it took to be back.
pub(super) struct Restarts {
    kills: usize,
    young: usize,
    /// Starts that failed, of which nothing but time is lost.
    refused: usize,
    latencies: Latencies,
}

impl Killer<'_> {
    /// Kills the server so many times; the one that is left alive.
    pub(super) async fn run(mut self, cluster: Cluster) -> anyhow::Result<(Cluster, Restarts)> {
        let (mut alive, mut young, mut took, mut refused) = (cluster, 0, Vec::new(), 0);
        for kill in 1..=self.kills {
            let (shortest, longest) = LIFE_MS;
            self.live(shortest, longest).await;
            drop(alive);
            // A kill more than was asked for.
            if self.dice.once_in(YOUNG_ONE_IN) {
                young += 1;
                let unready = self.site.start_unready()?;
                self.live(0, YOUNG_LIFE_MS).await;
                drop(unready);
            }
            let (cluster, restart) = self.start(&mut refused).await?;
            alive = cluster;
            took.push(restart);
            if kill % TELL_EVERY == 0 {
                self.tell(kill)?;
            }
        }
        let (kills, latencies) = (self.kills + young, Latencies::new(took));
        Ok((alive, Restarts { kills, young, refused, latencies }))
    }

    /// Starts it, again if it ends by itself, as whoever supervises it would do. Each is told, and counted.
    async fn start(&self, refused: &mut usize) -> anyhow::Result<(Cluster, Duration)> {
        for _ in 1..STARTS_MAX {
            match self.site.start() {
                Ok(started) => return Ok(started),
                Err(error) => println!("it did not start: {error:#}"),
            }
            *refused += 1;
            tokio::time::sleep(START_AGAIN_AFTER).await;
        }
        self.site.start()
    }

    async fn live(&mut self, shortest_ms: u64, longest_ms: u64) {
        let life = shortest_ms + self.dice.below(longest_ms - shortest_ms);
        tokio::time::sleep(Duration::from_millis(life)).await;
    }

    fn tell(&self, kill: usize) -> anyhow::Result<()> {
        let diaries = self.fleet.diaries()?;
        let begun: usize = diaries.iter().map(|diary| diary.runs()).sum();
        let entries = diaries.iter().flat_map(|diary| &diary.entries);
        let ended = entries.filter(|entry| entry.mark == Mark::End).count();
        println!("{kill} of {} kills; {begun} runs begun, {ended} ended", self.kills);
        Ok(())
    }
}

impl fmt::Display for Restarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Restarts { kills, young, refused, latencies } = self;
        write!(
            f,
            "{kills} kills, {young} of them right after a start; {refused} starts failed; ready again after {:.0?} (p50), {:.0?} \
             (p99), {:.0?} (max)",
            latencies.percentile(50),
            latencies.percentile(99),
            latencies.max(),
        )
    }
}
