//! The CronJob controller: slots become Jobs.
//!
//! `cache` is what the watches have told, `effects` what can be done, `turn` one look at one CronJob:
//! ask the engine, do what it says, write down what came of it. When many are due at once, a turn
//! ends after the create, and the writing waits until the others have been started too.

mod cache;
mod echo;
mod effects;
mod held;
mod options;
mod places;
mod seen;
mod signals;
mod storage;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use punctual_client::resources::{JOBS, cron_jobs_of};
use punctual_client::{Clock, EventRecorder, WatchScope, watch_resource};
use punctual_queue::{Backoff, Failure};
use tokio_util::sync::CancellationToken;

use self::cache::{Cache, Scope};
use self::echo::Echo;
use self::effects::Effects;
pub use self::options::{ClusterOptions, CronJobOptions};
use self::places::{Place, Unlisted, places};
use self::seen::Key;
pub use self::signals::Signals;
use crate::context::Context;
use crate::metrics::Metrics;
use crate::work_queue::{Priority, WorkQueue};

const COMPONENT: &str = "cronjob-controller";

/// Runs the CronJob controller until `stop` is cancelled.
pub async fn run_cron_jobs(context: Context, config: CronJobOptions, stop: CancellationToken) {
    let _reset = ResetOnDrop(context.clone());
    // Events are written until the last note was taken.
    let silence = CancellationToken::new();
    let (recorder, recording) = context.recorder(COMPONENT, silence.clone());
    let backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(60));
    let queue = WorkQueue::new(Priority::High, "cronjob", backoff, &context);
    // The counters outlive this run where there are several, one after the other.
    let asked = Arc::downgrade(&queue);
    context.metrics.next_due(move || asked.upgrade()?.next_wake());
    let controller = Arc::new(Controller {
        cache: Cache::new(config.default_zone.clone(), queue.clone(), context.metrics.clone()),
        queue,
        effects: Effects::new(context.calls(), config.cluster.pruned_kinds.clone()),
        recorder,
        clock: context.clock.clone(),
        metrics: context.metrics.clone(),
        places: places(&config),
        echo: Echo::new(config.cluster.late_create_window, context.clock.clone()),
    });
    let working = async {
        controller.clone().work(&config, stop.clone()).await;
        silence.cancel();
    };
    // All in one task: what is heard must not take the other core from what is to be started.
    let watching = controller.watch(&context, &config, &stop);
    tokio::join!(recording, working, watching);
}

/// Resets shared state that would be wrong after the controller ends, even if its work is cancelled.
struct ResetOnDrop(Context);

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        self.0.metrics.set_cron_jobs(0);
        self.0.burst_gate.set_burst(false);
    }
}

struct Controller {
    cache: Cache,
    queue: Arc<WorkQueue<Key>>,
    effects: Effects,
    recorder: EventRecorder,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    places: Vec<Place>,
    echo: Echo,
}

impl Controller {
    /// Watches into the cache.
    async fn watch(&self, context: &Context, config: &CronJobOptions, stop: &CancellationToken) {
        let jobs = self.places.iter().map(|Place { namespace, jobs, .. }| {
            let at = WatchScope::new(&JOBS, namespace.clone());
            let scope = Scope::new(&self.cache, config, namespace.clone());
            let (client, stop) = (context.client.clone(), stop.clone());
            async move { watch_resource(client, at, &scope.jobs(), jobs.clone(), stop).await }
        });
        let kinds = self.places.iter().flat_map(|Place { namespace, kinds, .. }| {
            kinds.iter().map(move |(flavor, listed)| (namespace, *flavor, listed))
        });
        let cron_jobs = kinds.map(|(namespace, flavor, listed)| {
            let at = WatchScope::new(cron_jobs_of(flavor), namespace.clone());
            let scope = Scope::new(&self.cache, config, namespace.clone());
            let cron_jobs = scope.cron_jobs(self.effects.storage(flavor), self.clock.now());
            let (client, stop) = (context.client.clone(), stop.clone());
            async move { watch_resource(client, at, &cron_jobs, listed.clone(), stop).await }
        });
        tokio::join!(join_all(cron_jobs), join_all(jobs));
    }

    async fn work(self: Arc<Self>, config: &CronJobOptions, stop: CancellationToken) {
        let mut unlisted = Unlisted::new(&self.places, &self.metrics);
        let first = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            first = unlisted.next() => first,
        };
        self.cache.open(&first);
        let _listing = config.cluster.signals.set_synced();
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
            () = self.queue.run(config.workers.max(1), work, stop) => {}
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
