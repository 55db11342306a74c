//! `punctual controller`: runs the CronJob controller on any cluster.
//!
//! ```text
//!  connect ─▶ discover served kinds ─▶ check for a competing controller ─▶ elect ─▶ reconcile CronJobs
//!                      ▲                                                                   │
//!                      └────────────── a missing kind is now served ◀──────────────────────┘
//! ```
//!
//! The process keeps no local state. After a crash a new process continues from the cluster's objects.

pub(crate) mod args;
mod connection;
mod readiness;
mod served_kinds;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context as _, bail};
use punctual_api::CronJobKind;
use punctual_controller::{
    BurstGate, ClusterOptions, CompetingController, Context, ControllerProbe, CronJobOptions,
    Election, ElectionConfig, Fence, LeaseAccess, Metrics, SystemClock, export_standby,
    run_cron_jobs, run_elected,
};
use punctual_engine::cronjob::RecordRetention;
use punctual_schedule::Zone;
use punctual_server::{HealthEndpoints, ServerEnv as _, SystemEnv, serve_health};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::args::{ControllerArgs, KindArg};
use self::connection::Connection;
use self::readiness::{LeaseReadiness, ReadinessCheck};
use self::served_kinds::ServedKinds;
use crate::descriptors::Descriptors;
use crate::printer::Printer;
use crate::{logging, output, signals};

/// How long after a time-out the server may still execute a create request. API calls have a deadline
/// of 30 seconds, and proxies drop older requests.
const LATE_CREATE_WINDOW: Duration = Duration::from_secs(30);

/// How many slot records the status of a ScheduledJob keeps. All of them are logged.
const RECORD_RETENTION: RecordRetention = RecordRetention::Newest(10);

/// The deadline for deleting the probe object on exit.
const PROBE_REMOVAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of connections to the health endpoints: enough for a kubelet and many Prometheus
/// servers.
const HEALTH_CONNECTIONS_MAX: usize = 256;

/// Silences kube's own log of failed requests. The controller logs each failure and what
/// follows from it.
const KUBE_CLIENT_FILTER: &str = "kube_client::client::builder=off";

pub(crate) fn run(args: &ControllerArgs, zone: &Zone) -> anyhow::Result<()> {
    let log = Printer::start(io::stderr())?;
    logging::init(&format!("{KUBE_CLIENT_FILTER},{}", args.log), log.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let result = run_until_stopped(args, zone).await;
        log.flush().await;
        result
    })
}

async fn run_until_stopped(args: &ControllerArgs, zone: &Zone) -> anyhow::Result<()> {
    let stop = signals::stop_token()?;
    let connection = Connection::open(args).await?;
    let process = ControllerProcess::new(args, zone, connection)?;
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!("could not listen on {}; choose another address with --listen", args.listen)
    })?;
    output::print(&format!("listening http://{}\n", listener.local_addr()?))?;
    let stop_serving = CancellationToken::new();
    let serving =
        tokio::spawn(serve_health(process.health_endpoints(), listener, stop_serving.clone()));
    let result = tokio::select! {
        result = Box::pin(process.manage_kinds(&stop)) => result,
        error = process.wait_for_competing_controller() => Err(error),
    };
    process.remove_probe().await;
    stop_serving.cancel();
    serving.await.context("the server of /healthz, /readyz and /metrics failed")?;
    result
}

/// The state of one `punctual controller` process.
struct ControllerProcess<'a> {
    args: &'a ControllerArgs,
    zone: &'a Zone,
    context: Context,
    cluster: ClusterOptions,
    election: Election,
    has_started: Arc<AtomicBool>,
    descriptors: Descriptors,
}

impl<'a> ControllerProcess<'a> {
    fn new(
        args: &'a ControllerArgs,
        zone: &'a Zone,
        connection: Connection,
    ) -> anyhow::Result<ControllerProcess<'a>> {
        let Connection { client, namespace } = connection;
        let clock = Arc::new(SystemClock);
        let metrics = Metrics::default();
        let burst_gate = BurstGate::default();
        let fence = if args.election.leader_elect {
            export_standby(&metrics);
            Fence::closed(clock.clone())
        } else {
            Fence::always_open()
        };
        let context = Context { client, shared_watches: None, clock, metrics, burst_gate, fence };
        let cluster = ClusterOptions {
            namespaces: deduplicate(&args.namespaces),
            // The schema of our CustomResourceDefinition has all fields, so only batch/v1 is pruned.
            pruned_kinds: vec![CronJobKind::BatchV1],
            late_create_window: LATE_CREATE_WINDOW,
            record_retention: RECORD_RETENTION,
            ..ClusterOptions::default()
        };
        let election = election(args, &namespace)?;
        let has_started = Arc::default();
        let descriptors = Descriptors::raise_limit();
        Ok(ControllerProcess { args, zone, context, cluster, election, has_started, descriptors })
    }

    fn health_endpoints(&self) -> HealthEndpoints {
        let Context { fence, metrics, clock, .. } = self.context.clone();
        let signals = self.cluster.signals.clone();
        let has_started = self.has_started.clone();
        let lease = self.args.election.leader_elect.then(|| LeaseReadiness {
            access: self.election.access.clone(),
            clock,
            tolerance: self.election.config.lease_duration,
        });
        let readiness = ReadinessCheck { lease, fence, signals, has_started };
        HealthEndpoints {
            check_ready: Arc::new(move || Box::pin(std::future::ready(readiness.check()))),
            metrics: Arc::new(move |page: &mut String| metrics.encode(page)),
            zones: self.zone.zones().clone(),
            connections_max: self.descriptors.for_clients(0).min(HEALTH_CONNECTIONS_MAX),
        }
    }

    /// Discovers the served kinds and manages them until `stop` is cancelled.
    async fn manage_kinds(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let mut needs_check = self.must_be_only_controller();
        while !stop.is_cancelled() {
            let kinds = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                kinds = ServedKinds::wait_for_any(&self.context.client, &self.args.kinds) => kinds,
            };
            if needs_check && kinds.served.contains(&CronJobKind::BatchV1) {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    result = self.check_for_competing_controller() => result?,
                }
                needs_check = false;
            }
            self.run_kinds(&kinds, stop).await?;
        }
        Ok(())
    }

    /// Manages the served kinds until `stop` is cancelled or a missing kind becomes served.
    async fn run_kinds(&self, kinds: &ServedKinds, stop: &CancellationToken) -> anyhow::Result<()> {
        let options = CronJobOptions {
            kinds: kinds.served.clone(),
            default_zone: self.zone.clone(),
            gates: self.args.gates.feature_gates(),
            run_requests: kinds.run_requests,
            workers: self.args.concurrent_syncs as usize,
            cluster: self.cluster.clone(),
        };
        self.has_started.store(true, Ordering::Relaxed);
        let stop_round = stop.child_token();
        let mut running = Box::pin(self.run_controller(options, stop_round.clone()));
        if kinds.is_incomplete() {
            tokio::select! {
                biased;
                result = &mut running => return result,
                () = kinds.wait_for_missing(&self.context.client) => stop_round.cancel(),
            }
        }
        running.await
    }

    /// Runs the controller, as the elected leader unless leader election is disabled.
    async fn run_controller(
        &self,
        options: CronJobOptions,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let kinds: Vec<&str> = options.kinds.iter().map(|kind| kind.plural()).collect();
        let context = self.context.clone();
        if !self.args.election.leader_elect {
            tracing::info!(?kinds, "managing CronJobs; leader election is disabled");
            run_cron_jobs(context, options, stop).await;
            return Ok(());
        }
        let election = self.election.clone();
        tracing::info!(
            ?kinds,
            namespace = election.namespace,
            lease = election.name,
            identity = election.identity,
            "campaigning for leadership"
        );
        let work = |context, stop| run_cron_jobs(context, options.clone(), stop);
        Ok(run_elected(context, election, work, stop).await?)
    }

    /// Whether another controller of batch/v1 CronJobs is an error.
    fn must_be_only_controller(&self) -> bool {
        !self.args.take_over && self.args.kinds.contains(&KindArg::CronJobs)
    }

    /// Fails if another controller of CronJobs is running. Continues if that cannot be determined.
    async fn check_for_competing_controller(&self) -> anyhow::Result<()> {
        match self.probe().detect().await {
            Ok(None) => Ok(()),
            Ok(Some(other)) => Err(competing_controller_error(&other)),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "could not check for another controller of CronJobs; starting anyway; the \
                     process exits if one is detected later"
                );
                Ok(())
            }
        }
    }

    fn probe(&self) -> ControllerProbe {
        ControllerProbe::new(&self.context, &self.election.namespace)
    }

    /// Returns when another controller of CronJobs is detected, unless `--take-over` permits it.
    async fn wait_for_competing_controller(&self) -> anyhow::Error {
        let probe = self.probe();
        let signals = &self.cluster.signals;
        if self.must_be_only_controller() {
            return tokio::select! {
                other = signals.competing_controller() => competing_controller_error(&other),
                other = probe.competing_controller() => competing_controller_error(&other),
            };
        }
        let other = signals.competing_controller().await;
        tracing::error!(
            controller = %other,
            "another controller manages the same CronJobs and overwrites their status; disable one of the two"
        );
        std::future::pending().await
    }

    /// Deletes the probe object. A failure is ignored because the object has no effect.
    async fn remove_probe(&self) {
        if self.must_be_only_controller() {
            let _ = tokio::time::timeout(PROBE_REMOVAL_TIMEOUT, self.probe().remove()).await;
        }
    }
}

fn competing_controller_error(other: &CompetingController) -> anyhow::Error {
    anyhow::anyhow!(
        "another controller of batch/v1 CronJobs is running: {other}. Two controllers must not manage \
         the same CronJobs. Start kube-controller-manager with --controllers=*,-cronjob-controller, or \
         manage only ScheduledJobs (--kinds scheduledjobs). Use --take-over to start anyway"
    )
}

fn election(args: &ControllerArgs, own_namespace: &str) -> anyhow::Result<Election> {
    let args = &args.election;
    let config = ElectionConfig {
        lease_duration: args.lease_duration,
        renew_deadline: args.renew_deadline,
        retry_period: args.retry_period,
    };
    if let Err(error) = config.validate() {
        bail!("{error}; set --lease-duration, --renew-deadline and --retry-period");
    }
    Ok(Election {
        namespace: args.lease_namespace.clone().unwrap_or_else(|| own_namespace.to_owned()),
        name: args.lease_name.clone(),
        identity: identity(),
        config,
        random: Arc::new(|| {
            let mut bytes = [0; 4];
            SystemEnv.fill_random(&mut bytes);
            u32::from_ne_bytes(bytes)
        }),
        access: LeaseAccess::default(),
    })
}

/// Returns an identity that no other process has, not even a restarted one on the same host.
fn identity() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}_{}", host.trim(), SystemEnv.new_uid())
}

/// Removes duplicate namespaces, which would otherwise be listed twice.
fn deduplicate(namespaces: &[String]) -> Vec<String> {
    let mut namespaces = namespaces.to_vec();
    namespaces.sort();
    namespaces.dedup();
    namespaces
}
