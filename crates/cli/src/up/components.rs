//! Starts the controllers and the Pod runner of `punctual up`.

use std::sync::Arc;

use anyhow::Context;
use punctual_api::CronJobKind;
use punctual_client::{ApiClient, SystemClock, WatchSource};
use punctual_controller::{
    ClusterOptions, CronJobOptions, run_cron_jobs, run_garbage_collector, run_jobs,
    run_namespace_defaults,
};
use punctual_runner::{
    ProcessRuntime, ProcessRuntimeOptions, Runner, RunnerOptions, register_node,
};
use punctual_schedule::Zone;
use punctual_server::Server;

use super::task_group::TaskGroup;
use crate::args::{Dialect, UpArgs};
use crate::instance::{self, Instance, SharedState};

/// The running executable. It stays valid if the file is replaced by a newer version.
const SELF_EXE: &str = "/proc/self/exe";

/// The inputs for starting the controllers and the runner.
pub(super) struct ComponentStarter<'a> {
    pub(super) server: &'a Server,
    pub(super) instance: &'a Instance<'a>,
    pub(super) args: &'a UpArgs,
    pub(super) zone: &'a Zone,
    pub(super) node: &'a str,
}

impl ComponentStarter<'_> {
    /// Registers the Node and starts the runner and the controllers.
    pub(super) async fn start(
        &self,
        shared: &SharedState,
        tasks: &mut TaskGroup,
    ) -> anyhow::Result<()> {
        self.start_runner(shared, tasks).await?;
        self.start_controllers(shared, tasks);
        Ok(())
    }

    fn start_controllers(&self, shared: &SharedState, tasks: &mut TaskGroup) {
        let context =
            |component: &str| instance::controller_context(self.server, component, shared);
        let garbage = context("punctual-garbage-collector");
        tasks.spawn("the garbage collector", |stop| run_garbage_collector(garbage, stop));
        // Creates the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` in each namespace.
        let namespaces = context("punctual-namespace-defaults");
        let root_ca = self.instance.identity.ca_pem.clone();
        tasks.spawn("the namespace defaults controller", |stop| {
            run_namespace_defaults(namespaces, root_ca, stop)
        });
        let jobs = context("job-controller");
        let workers = self.args.concurrent_syncs as usize;
        tasks.spawn("the Job controller", |stop| run_jobs(jobs, workers, stop));
        let cron_jobs = context("cronjob-controller");
        let options = CronJobOptions {
            run_requests: true,
            kinds: vec![CronJobKind::BatchV1, CronJobKind::ScheduledJob],
            default_zone: self.zone.clone(),
            gates: self.args.gates.feature_gates(),
            workers,
            cluster: ClusterOptions {
                pruned_kinds: self.pruned_kinds(),
                ..ClusterOptions::default()
            },
        };
        tasks.spawn("the CronJob controller", |stop| run_cron_jobs(cron_jobs, options, stop));
    }

    /// The kinds of which the server drops our own status fields, as kube-apiserver does.
    fn pruned_kinds(&self) -> Vec<CronJobKind> {
        match self.args.dialect {
            Dialect::Kubernetes => vec![CronJobKind::BatchV1],
            Dialect::Punctual => Vec::new(),
        }
    }

    async fn start_runner(
        &self,
        shared: &SharedState,
        tasks: &mut TaskGroup,
    ) -> anyhow::Result<()> {
        let client = instance::client(self.server, "punctual-runner");
        let data_dir = &self.instance.data_dir;
        let max_pods = self.args.max_pods as usize;
        let api = ApiClient::new(client.clone(), Arc::new(()));
        register_node(&api, &SystemClock, self.node, max_pods)
            .await
            .with_context(|| format!("could not register the Node {:?}", self.node))?;
        let metrics = shared.metrics.clone();
        let options = RunnerOptions {
            max_pods,
            watches: WatchSource::Shared(shared.watches.clone()),
            on_pod_started: Some(Arc::new(move |after| metrics.observe_pod_start(after))),
            ..RunnerOptions::new(client, self.node)
        };
        let runtime_options = ProcessRuntimeOptions {
            open_files_soft_max: self.instance.descriptors.inherited_soft,
            adopt_orphans: true,
            ..ProcessRuntimeOptions::new(data_dir.clone(), SELF_EXE.into())
        };
        let failed = || format!("could not start the Pod runner in {}", data_dir.display());
        let runtime = ProcessRuntime::new(runtime_options).with_context(failed)?;
        let runner = Runner::new(options, Arc::new(runtime)).await.with_context(failed)?;
        tasks.spawn("the Pod runner", |stop| runner.run(stop));
        Ok(())
    }
}
