//! What this machine does besides serving: the controllers, and running Pods.

use std::sync::Arc;

use anyhow::Context;
use punctual_api::CronJobKind;
use punctual_controller::{
    ClusterOptions, CronJobOptions, Metrics, run_cron_jobs, run_garbage_collector, run_jobs,
    run_namespace_defaults,
};
use punctual_runner::{Runner, register_node};
use punctual_schedule::Zone;
use punctual_server::Server;

use super::task_group::TaskGroup;
use crate::args::UpArgs;
use crate::instance::{self, Instance, SharedState};

/// This program, even when its file is replaced by a newer one.
const OURSELVES: &str = "/proc/self/exe";

/// The machine and what it is to do.
pub(super) struct Components<'a> {
    pub(super) server: &'a Server,
    pub(super) instance: &'a Instance<'a>,
    pub(super) args: &'a UpArgs,
    pub(super) zone: &'a Zone,
    pub(super) node: &'a str,
}

impl Components<'_> {
    /// Starts everything that works on the objects.
    pub(super) async fn start(
        &self,
        shared: &SharedState,
        tasks: &mut TaskGroup,
    ) -> anyhow::Result<()> {
        self.start_runner(shared.metrics.clone(), tasks).await?;
        self.start_controllers(shared, tasks);
        Ok(())
    }

    fn start_controllers(&self, shared: &SharedState, tasks: &mut TaskGroup) {
        let context = |part: &str| instance::controller_context(self.server, part, shared);
        let workers = self.args.concurrent_syncs as usize;
        let options = CronJobOptions {
            kinds: vec![CronJobKind::BatchV1, CronJobKind::ScheduledJob],
            default_zone: self.zone.clone(),
            workers,
            cluster: ClusterOptions::default(),
        };
        let root_ca = self.instance.identity.ca_pem.clone();
        let garbage = context("punctual-garbage-collector");
        tasks.spawn("the garbage collector", |stop| run_garbage_collector(garbage, stop));
        let namespaces = context("punctual-namespace-defaults");
        tasks.spawn("the namespace defaults controller", |stop| {
            run_namespace_defaults(namespaces, root_ca, stop)
        });
        let jobs = context("job-controller");
        tasks.spawn("the Job controller", |stop| run_jobs(jobs, workers, stop));
        let cron_jobs = context("cronjob-controller");
        tasks.spawn("the CronJob controller", |stop| run_cron_jobs(cron_jobs, options, stop));
    }

    async fn start_runner(&self, metrics: Metrics, tasks: &mut TaskGroup) -> anyhow::Result<()> {
        let (client, folder) =
            (instance::client(self.server, "punctual-runner"), &self.instance.folder);
        let max_pods = self.args.max_pods as usize;
        register_node(client.clone(), self.node, max_pods)
            .await
            .context("the node could not be registered")?;
        let config = punctual_runner::Config {
            max_pods,
            started: Some(Arc::new(move |after| metrics.pod_started(after))),
            ..punctual_runner::Config::new(client, self.node, folder.clone(), OURSELVES.into())
        };
        let runner = Runner::start(config)
            .with_context(|| format!("no Pods can be run in {}", folder.display()))?;
        tasks.spawn("the runner", |stop| runner.run(stop));
        Ok(())
    }
}
