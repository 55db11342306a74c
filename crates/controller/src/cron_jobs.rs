//! The CronJob controller: slots become Jobs.
//!
//! `cache` is what the watches have told, `effects` what can be done, `turn` one look at one CronJob:
//! ask the engine, do what it says, write down what came of it. When many are due at once, a turn
//! ends after the create, and the writing waits until the others have been started too.

mod cache;
mod effects;
mod held;
mod seen;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use punctual_api::Flavor;
use punctual_bugs::{Bug, has};
use punctual_queue::{Backoff, Failure};
use punctual_schedule::Zone;
use tokio_util::sync::CancellationToken;

use self::cache::Cache;
use self::effects::Effects;
use self::seen::{JobSeen, Key};
use crate::clock::Clock;
use crate::driver::{Driver, Rank};
use crate::metrics::Metrics;
use crate::recorder::Recorder;
use crate::tools::Tools;
use crate::watching::{follow, resource};

const COMPONENT: &str = "cronjob-controller";

/// What the CronJob controller is to look after, and how.
#[derive(Clone, Debug)]
pub struct CronJobs {
    /// The kinds.
    pub flavors: Vec<Flavor>,
    /// The zone of schedules that name none.
    pub zone: Zone,
    /// How many are looked at at a time.
    pub workers: usize,
}

/// Looks after CronJobs until told to stop.
pub async fn run_cron_jobs(tools: Tools, config: CronJobs, stop: CancellationToken) {
    // Events are written until the last note was taken.
    let silence = CancellationToken::new();
    let (recorder, recording) = Recorder::new(&tools, COMPONENT, silence.clone());
    let backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(60));
    let driver = Driver::new(Rank::First, "cronjob", backoff, &tools);
    // The counters outlive this run where there are several, one after the other.
    let asked = Arc::downgrade(&driver);
    tools.metrics.next_due(move || asked.upgrade()?.next_wake());
    let controller = Arc::new(Controller {
        cache: Cache::new(config.zone, driver.clone(), tools.metrics.clone()),
        driver,
        effects: Effects::new(tools.calls()),
        recorder,
        clock: tools.clock.clone(),
        metrics: tools.metrics.clone(),
    });
    let working = async {
        controller.clone().work(config.flavors.len() + 1, config.workers, stop.clone()).await;
        silence.cancel();
    };
    // All in one task: what is heard must not take the other core from what is to be started.
    let watching = controller.watch(&tools, &config.flavors, &stop);
    tokio::join!(recording, working, watching);
}

struct Controller {
    cache: Cache,
    driver: Arc<Driver<Key>>,
    effects: Effects,
    recorder: Recorder,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
}

impl Controller {
    /// Watches into the cache.
    async fn watch(&self, tools: &Tools, flavors: &[Flavor], stop: &CancellationToken) {
        let cron_jobs = flavors.iter().map(|flavor| {
            let kind = resource(flavor.api_version(), flavor.kind(), flavor.plural());
            let kept = self.cache.of_flavor(*flavor);
            let (client, stop) = (tools.client.clone(), stop.clone());
            async move { follow(client, kind, &kept, self.cache.listed().clone(), stop).await }
        });
        let jobs = follow::<JobSeen, _>(
            tools.client.clone(),
            resource("batch/v1", "Job", "jobs"),
            &self.cache,
            self.cache.listed().clone(),
            stop.clone(),
        );
        tokio::join!(join_all(cron_jobs), jobs);
    }

    async fn work(self: Arc<Self>, kinds: usize, workers: usize, stop: CancellationToken) {
        // Nothing is decided on half a world.
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = self.cache.listed().wait_for(kinds - usize::from(has(Bug::HalfWorld))) => {}
        }
        let work = |key| {
            let controller = self.clone();
            async move { controller.look_at(&key).await }
        };
        self.driver.run(workers.max(1), work, stop).await;
    }

    async fn look_at(&self, key: &Key) -> Result<(), Failure> {
        match key {
            Key::CronJob(name) => self.turn(key, name).await,
            Key::Held(name) => self.let_go(name).await,
        }
    }
}
