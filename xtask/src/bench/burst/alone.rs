//! One CronJob with nothing beside it.

use std::{path::Path, time::Duration};

use super::{
    super::{
        arrivals::{self, JobWatch},
        connection::{Connection, Target},
        contender::Contender,
        create,
        latency::Latencies,
    },
    manifest,
};

const SCHEDULE: &str = "@every 2s";
/// Some slots.
const SILENCE: Duration = Duration::from_secs(15);

/// What is to be measured of whom.
pub(super) struct Alone<'a> {
    pub(super) contender: &'a Contender,
    pub(super) slots: usize,
    pub(super) folder: &'a Path,
}

impl Alone<'_> {
    /// The skew of each slot.
    pub(super) async fn measure(&self) -> anyhow::Result<Latencies> {
        println!("one alone, {} slots", self.slots);
        let (cluster, _) = self.contender.start(self.folder)?;
        let target = Target::of(&cluster)?;
        let watch = JobWatch::open(&target).await?;
        let mut connection = Connection::open(&target).await?;
        connection.post(create::PATH, manifest::body("alone", SCHEDULE)).await?;
        arrivals::skews(&watch.hear(self.slots, SILENCE).await?)
    }
}
