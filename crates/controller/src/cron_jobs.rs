//! The CronJob controller: slots become Jobs.
//!
//! `cache` is what the watches have told, `effects` what can be done, `turn` one look at one CronJob:
//! ask the engine, do what it says, write down what came of it. When many are due at once, a turn
//! ends after the create, and the writing waits until the others have been started too.

mod cache;
mod cluster;
mod echo;
mod effects;
mod held;
mod places;
mod seen;
mod storage;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use punctual_api::CronJobKind;
use punctual_queue::{Backoff, Failure};
use punctual_schedule::Zone;
use tokio_util::sync::CancellationToken;

use self::cache::{Cache, Scope};
pub use self::cluster::{Cluster, Signals};
use self::echo::Echo;
use self::effects::Effects;
use self::places::{Place, Unlisted, places};
use self::seen::Key;
use crate::clock::Clock;
use crate::driver::{Driver, Rank};
use crate::metrics::Metrics;
use crate::recorder::Recorder;
use crate::tools::Tools;
use crate::watching::{At, follow, resource};

const COMPONENT: &str = "cronjob-controller";

/// What the CronJob controller is to look after, and how.
#[derive(Clone, Debug)]
pub struct CronJobs {
    /// The kinds.
    pub flavors: Vec<CronJobKind>,
    /// The zone of schedules that name none.
    pub zone: Zone,
    /// How many are looked at at a time.
    pub workers: usize,
    /// Where they are.
    pub cluster: Cluster,
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
        cache: Cache::new(config.zone.clone(), driver.clone(), tools.metrics.clone()),
        driver,
        effects: Effects::new(tools.calls(), config.cluster.pruned.clone()),
        recorder,
        clock: tools.clock.clone(),
        metrics: tools.metrics.clone(),
        places: places(&config),
        echo: Echo::new(config.cluster.echo, tools.clock.clone()),
    });
    let working = async {
        controller.clone().work(&config, stop.clone()).await;
        silence.cancel();
    };
    // All in one task: what is heard must not take the other core from what is to be started.
    let watching = controller.watch(&tools, &config, &stop);
    tokio::join!(recording, working, watching);
}

struct Controller {
    cache: Cache,
    driver: Arc<Driver<Key>>,
    effects: Effects,
    recorder: Recorder,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    places: Vec<Place>,
    echo: Echo,
}

impl Controller {
    /// Watches into the cache.
    async fn watch(&self, tools: &Tools, config: &CronJobs, stop: &CancellationToken) {
        let jobs = self.places.iter().map(|Place { namespace, jobs, .. }| {
            let at = At::new(resource("batch/v1", "Job", "jobs"), namespace.clone());
            let scope = Scope::new(&self.cache, config, namespace.clone());
            let (client, stop) = (tools.client.clone(), stop.clone());
            async move { follow(client, at, &scope.jobs(), jobs.clone(), stop).await }
        });
        let kinds = self.places.iter().flat_map(|Place { namespace, kinds, .. }| {
            kinds.iter().map(move |(flavor, listed)| (namespace, *flavor, listed))
        });
        let cron_jobs = kinds.map(|(namespace, flavor, listed)| {
            let kind = resource(flavor.api_version(), flavor.kind(), flavor.plural());
            let at = At::new(kind, namespace.clone());
            let scope = Scope::new(&self.cache, config, namespace.clone());
            let cron_jobs = scope.cron_jobs(self.effects.storage(flavor), self.clock.now());
            let (client, stop) = (tools.client.clone(), stop.clone());
            async move { follow(client, at, &cron_jobs, listed.clone(), stop).await }
        });
        tokio::join!(join_all(cron_jobs), join_all(jobs));
    }

    async fn work(self: Arc<Self>, config: &CronJobs, stop: CancellationToken) {
        let mut unlisted = Unlisted::new(&self.places, &self.metrics);
        let first = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            first = unlisted.next() => first,
        };
        self.cache.open(&first);
        let _listing = config.cluster.signals.listed();
        let work = |key| {
            let controller = self.clone();
            async move { controller.look_at(&key).await }
        };
        let opening = async {
            loop {
                self.cache.open(&unlisted.next().await);
            }
        };
        tokio::select! {
            biased;
            () = opening => {}
            () = self.driver.run(config.workers.max(1), work, stop) => {}
        }
    }

    async fn look_at(&self, key: &Key) -> Result<(), Failure> {
        match key {
            Key::CronJob(name) if self.cache.puts_off(name) => Ok(()),
            Key::CronJob(name) => self.turn(key, name).await,
            Key::Held(name) => self.let_go(name).await,
        }
    }
}
