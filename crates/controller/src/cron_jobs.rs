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

use punctual_api::Flavor;
use punctual_queue::{Backoff, Failure};
use punctual_schedule::Zone;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::cache::Cache;
use self::effects::Effects;
use self::seen::{JobSeen, Key};
use crate::clock::Clock;
use crate::driver::{Driver, Rank};
use crate::metrics::Metrics;
use crate::recorder::Recorder;
use crate::tasks::first_panic;
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
    let asked = driver.clone();
    tools.metrics.next_due(move || asked.next_wake());
    let controller = Arc::new(Controller {
        cache: Cache::new(config.zone, driver.clone(), tools.metrics.clone()),
        driver,
        effects: Effects::new(tools.calls()),
        recorder,
        clock: tools.clock.clone(),
        metrics: tools.metrics.clone(),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(recording);
    controller.watch(&tools, &config.flavors, &mut tasks, &stop);
    tokio::select! {
        () = controller.clone().work(config.flavors.len() + 1, config.workers, stop.clone()) => {}
        () = first_panic(&mut tasks) => return,
    }
    silence.cancel();
    while tasks.join_next().await.is_some() {}
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
    fn watch(
        self: &Arc<Self>,
        tools: &Tools,
        flavors: &[Flavor],
        tasks: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) {
        for flavor in flavors.iter().copied() {
            let kind = resource(flavor.api_version(), flavor.kind(), flavor.plural());
            let (us, client, stop) = (self.clone(), tools.client.clone(), stop.clone());
            tasks.spawn(async move {
                follow(client, kind, &us.cache.of_flavor(flavor), us.cache.listed(), stop).await;
            });
        }
        let kind = resource("batch/v1", "Job", "jobs");
        let (us, client, stop) = (self.clone(), tools.client.clone(), stop.clone());
        tasks.spawn(async move {
            follow::<JobSeen>(client, kind, &us.cache, us.cache.listed(), stop).await;
        });
    }

    async fn work(self: Arc<Self>, kinds: usize, workers: usize, stop: CancellationToken) {
        // Nothing is decided on half a world.
        tokio::select! {
            () = stop.cancelled() => return,
            () = self.cache.listed().wait_for(kinds) => {}
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
