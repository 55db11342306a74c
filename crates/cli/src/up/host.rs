//! What this machine does besides serving: the controllers, and running Pods.

use std::sync::Arc;

use anyhow::Context;
use punctual_api::Flavor;
use punctual_controller::{Cluster, CronJobs, Metrics, collect, furnish, run_cron_jobs, run_jobs};
use punctual_runner::{Runner, register_node};
use punctual_schedule::Zone;
use punctual_server::Server;

use super::parts::Parts;
use crate::args::Up;
use crate::site::{self, Shared, Site};

/// This program, even when its file is replaced by a newer one.
const OURSELVES: &str = "/proc/self/exe";

/// The machine and what it is to do.
pub(super) struct Host<'a> {
    pub(super) server: &'a Server,
    pub(super) site: &'a Site<'a>,
    pub(super) up: &'a Up,
    pub(super) zone: &'a Zone,
    pub(super) node: &'a str,
}

impl Host<'_> {
    /// Starts everything that works on the objects.
    pub(super) async fn start(&self, shared: &Shared, parts: &mut Parts) -> anyhow::Result<()> {
        self.start_runner(shared.metrics.clone(), parts).await?;
        self.start_controllers(shared, parts);
        Ok(())
    }

    fn start_controllers(&self, shared: &Shared, parts: &mut Parts) {
        let tools = |part: &str| site::tools(self.server, part, shared);
        let workers = self.up.concurrent_syncs as usize;
        let cron_jobs = CronJobs {
            flavors: vec![Flavor::BatchV1, Flavor::ScheduledJob],
            zone: self.zone.clone(),
            workers,
            cluster: Cluster::default(),
        };
        let root_ca = self.site.identity.authority_pem.clone();
        let (collector, furnisher) = (tools("punctual-collector"), tools("punctual-furnisher"));
        let (jobs, scheduler) = (tools("job-controller"), tools("cronjob-controller"));
        parts.start("the collector", |stop| collect(collector, stop));
        parts.start("the furnisher", |stop| furnish(furnisher, root_ca, stop));
        parts.start("the Job controller", |stop| run_jobs(jobs, workers, stop));
        parts.start("the CronJob controller", |stop| run_cron_jobs(scheduler, cron_jobs, stop));
    }

    async fn start_runner(&self, metrics: Metrics, parts: &mut Parts) -> anyhow::Result<()> {
        let (client, folder) = (site::client(self.server, "punctual-runner"), &self.site.folder);
        let max_pods = self.up.max_pods as usize;
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
        parts.start("the runner", |stop| runner.run(stop));
        Ok(())
    }
}
