//! `punctual controller`: the CronJob controller on any cluster.
//!
//! ```text
//!  which cluster? ─▶ which kinds? ─▶ alone? ─▶ election ─▶ CronJobs, for as long as we lead
//!                        ▲                                   │
//!                        └──── a kind that was missing ◀─────┘
//! ```
//!
//! Nothing is kept on this machine. Whatever ends it, the next one goes on from what the cluster says.

pub(crate) mod args;
mod connection;
mod readiness;
mod served_kinds;
mod transport;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use punctual_api::CronJobKind;
use punctual_controller::{
    BurstGate, ClusterOptions, CompetingController, Context, ControllerProbe, CronJobOptions,
    Election, ElectionConfig, Fence, Metrics, RealClock, export_standby, run_cron_jobs,
    run_elected,
};
use punctual_schedule::Zone;
use punctual_server::{HealthEndpoints, ServerEnv as _, SystemEnv, serve_health};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::args::{ControllerArgs, KindArg};
use self::connection::Connection;
use self::readiness::ReadinessCheck;
use self::served_kinds::ServedKinds;
use crate::{logging, output, signals};

/// Calls end after half a minute; what takes longer on its way has been dropped by somebody.
const LATE_CREATE_WINDOW: Duration = Duration::from_secs(30);

/// How long taking our probe away may take.
const PROBE_REMOVAL_TIMEOUT: Duration = Duration::from_secs(1);

/// What kube's client says of every request that failed; we say what we make of it.
const LOG_FILTER_KUBE: &str = "kube_client::client::builder=off";

pub(crate) fn run(args: &ControllerArgs, zone: &Zone) -> anyhow::Result<()> {
    logging::init(&format!("{LOG_FILTER_KUBE},{}", args.log), std::io::stderr)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run_until_stopped(args, zone))
}

async fn run_until_stopped(args: &ControllerArgs, zone: &Zone) -> anyhow::Result<()> {
    let stop = signals::stop_token()?;
    let connection = Connection::open(args).await?;
    let service = ControllerProcess::new(args, zone, connection)?;
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!("could not listen on {}; choose another address with --listen", args.listen)
    })?;
    output::print(&format!("listening http://{}\n", listener.local_addr()?))?;
    let front = CancellationToken::new();
    let serving = tokio::spawn(serve_health(service.pages(), listener, front.clone()));
    let result = tokio::select! {
        result = Box::pin(service.work(&stop)) => result,
        rival = service.rival() => Err(rival),
    };
    service.leave().await;
    front.cancel();
    serving.await.context("the pages did not end cleanly")?;
    result
}

/// What is done for as long as the process lives.
struct ControllerProcess<'a> {
    args: &'a ControllerArgs,
    zone: &'a Zone,
    context: Context,
    cluster: ClusterOptions,
    election: Election,
    has_started: Arc<AtomicBool>,
}

impl<'a> ControllerProcess<'a> {
    fn new(
        args: &'a ControllerArgs,
        zone: &'a Zone,
        connection: Connection,
    ) -> anyhow::Result<ControllerProcess<'a>> {
        let Connection { client, namespace } = connection;
        let clock = Arc::new(RealClock);
        let metrics = Metrics::default();
        let fence = match args.election.leader_elect {
            true => {
                export_standby(&metrics);
                Fence::shut(clock.clone())
            }
            false => Fence::open(),
        };
        let burst_gate = BurstGate::default();
        let context = Context { client, clock, metrics, burst_gate, fence };
        let cluster = ClusterOptions {
            namespaces: distinct(&args.namespaces),
            // The definition of ScheduledJobs is ours, and has every field.
            pruned_kinds: vec![CronJobKind::BatchV1],
            late_create_window: LATE_CREATE_WINDOW,
            ..ClusterOptions::default()
        };
        let election = election(args, &namespace)?;
        let has_started = Arc::default();
        Ok(ControllerProcess { args, zone, context, cluster, election, has_started })
    }

    fn pages(&self) -> HealthEndpoints {
        let Context { client, fence, metrics, .. } = self.context.clone();
        let (signals, has_started) = (self.cluster.signals.clone(), self.has_started.clone());
        let readiness = ReadinessCheck { client, fence, signals, has_started };
        HealthEndpoints {
            check_ready: Arc::new(move || readiness.check()),
            metrics: Arc::new(move |page: &mut String| metrics.encode(page)),
        }
    }

    /// Works until told to stop.
    async fn work(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let mut is_alone = !self.must_be_alone();
        while !stop.is_cancelled() {
            let kinds = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                kinds = ServedKinds::find(&self.context.client, &self.args.kinds) => kinds,
            };
            if !is_alone && kinds.served.contains(&CronJobKind::BatchV1) {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    refused = self.refuse_rival() => refused?,
                }
                is_alone = true;
            }
            self.look_after(&kinds, stop).await?;
        }
        Ok(())
    }

    /// Looks after the kinds that are served until told to stop, or until there are more of them.
    async fn look_after(
        &self,
        kinds: &ServedKinds,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let options = CronJobOptions {
            kinds: kinds.served.clone(),
            default_zone: self.zone.clone(),
            workers: self.args.concurrent_syncs as usize,
            cluster: self.cluster.clone(),
        };
        self.has_started.store(true, Ordering::Relaxed);
        let round = stop.child_token();
        let mut working = Box::pin(self.lead(options, round.clone()));
        if !kinds.missing.is_empty() {
            tokio::select! {
                biased;
                result = &mut working => return result,
                () = kinds.changed(&self.context.client) => round.cancel(),
            }
        }
        working.await
    }

    async fn lead(&self, options: CronJobOptions, stop: CancellationToken) -> anyhow::Result<()> {
        let kinds: Vec<&str> = options.kinds.iter().map(|kind| kind.plural()).collect();
        let context = self.context.clone();
        let election = self.election.clone();
        match self.args.election.leader_elect {
            true => {
                let (lease, identity) = (&election.name, &election.identity);
                let namespace = &election.namespace;
                tracing::info!(?kinds, namespace, lease, identity, "campaigning for leadership");
                let work = |context, stop| run_cron_jobs(context, options.clone(), stop);
                Ok(run_elected(context, election, work, stop).await?)
            }
            false => {
                tracing::info!(?kinds, "leader election disabled");
                run_cron_jobs(context, options, stop).await;
                Ok(())
            }
        }
    }

    /// Whether the cluster's own controller of CronJobs is in our way.
    fn must_be_alone(&self) -> bool {
        !self.args.take_over && self.args.kinds.contains(&KindArg::CronJobs)
    }

    /// Fails while the cluster's own controller of CronJobs is at work.
    async fn refuse_rival(&self) -> anyhow::Result<()> {
        match self.probe().detect().await {
            Ok(None) => Ok(()),
            Ok(Some(rival)) => Err(refusal(&rival)),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "could not ask whether another controller of CronJobs is at work; we stop when \
                     one shows"
                );
                Ok(())
            }
        }
    }

    fn probe(&self) -> ControllerProbe {
        ControllerProbe::new(&self.context, &self.election.namespace)
    }

    /// Returns when another controller of CronJobs has shown, and we are not to stand that.
    async fn rival(&self) -> anyhow::Error {
        let (probe, signals) = (self.probe(), &self.cluster.signals);
        if self.must_be_alone() {
            return tokio::select! {
                rival = signals.competing_controller() => refusal(&rival),
                rival = probe.competing_controller() => refusal(&rival),
            };
        }
        let rival = signals.competing_controller().await;
        tracing::error!(%rival, "another controller of CronJobs is at work");
        std::future::pending().await
    }

    /// Leaves nothing behind.
    async fn leave(&self) {
        if self.must_be_alone() {
            // Without an answer it stays, and harms nobody.
            let _ = tokio::time::timeout(PROBE_REMOVAL_TIMEOUT, self.probe().remove()).await;
        }
    }
}

fn refusal(rival: &CompetingController) -> anyhow::Error {
    anyhow::anyhow!(
        "another controller of batch/v1 CronJobs is at work: {rival}. Two of them must not look after \
         the same: start kube-controller-manager with --controllers=*,-cronjob-controller, or look \
         after ScheduledJobs alone (--kinds scheduledjobs). With --take-over we start all the same"
    )
}

fn election(args: &ControllerArgs, own_namespace: &str) -> anyhow::Result<Election> {
    let args = &args.election;
    let config = ElectionConfig {
        lease_duration: args.lease_duration,
        renew_deadline: args.renew_deadline,
        retry_period: args.retry_period,
    };
    if let Err(why) = config.validate() {
        bail!("{why}; see --lease-duration, --renew-deadline and --retry-period");
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
    })
}

/// This process, and no other under the same host name, before it or after it.
fn identity() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}_{}", host.trim(), SystemEnv.new_uid())
}

/// ServedKinds that are looked after twice would be listed twice.
fn distinct(namespaces: &[String]) -> Vec<String> {
    let mut distinct: Vec<String> = namespaces.to_vec();
    distinct.sort();
    distinct.dedup();
    distinct
}
