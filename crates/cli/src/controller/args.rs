//! The command line of `punctual controller` and its help text.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{ArgAction, ValueEnum};
use punctual_api::CronJobKind;

use crate::args::{FeatureGateArgs, parse_duration, parse_listen_address};
use crate::cluster_config::ClusterArgs;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --kubeconfig and --context the cluster is found as kubectl finds it: from the KUBECONFIG
variable, from ~/.kube/config, or in a Pod from its service account.

To manage CronJobs, first disable the built-in controller: start kube-controller-manager with
--controllers=*,-cronjob-controller. This command exits if the built-in controller is
still running (see --take-over). To manage ScheduledJobs, first install their
CustomResourceDefinition:
  punctual crd | kubectl apply --server-side -f -

Prints `listening http://ADDRESS` and serves /healthz, /readyz and /metrics there.

You can run several replicas: one is the leader, the others stand by. Ctrl-C or SIGTERM stops this
command cleanly and releases leadership.

Examples:
  punctual controller
  punctual controller --kinds cronjobs,scheduledjobs --namespace shop --namespace billing")]
pub(crate) struct ControllerArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Kinds to manage, separated by commas
    #[arg(long, value_name = "KINDS", value_delimiter = ',', default_value = "scheduledjobs")]
    pub(crate) kinds: Vec<KindArg>,
    /// Namespace to manage; repeat for several [default: all]
    #[arg(long = "namespace", short = 'n', value_name = "NAMESPACE")]
    pub(crate) namespaces: Vec<String>,
    /// Start even if the built-in CronJob controller is running
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Number of objects reconciled concurrently
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrent_syncs: u32,
    #[command(flatten)]
    pub(crate) gates: FeatureGateArgs,
    /// Address of /healthz, /readyz and /metrics, or a port on localhost; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:10260")]
    #[arg(env = "PUNCTUAL_CONTROLLER_LISTEN", value_parser = parse_listen_address)]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// Log level (error, warn, info, debug) or a filter such as punctual_controller=debug
    #[arg(long, value_name = "FILTER", default_value = "info", env = "PUNCTUAL_LOG")]
    pub(crate) log: String,
}

/// Options of leader election.
#[derive(Debug, clap::Args)]
pub(crate) struct ElectionArgs {
    /// Elect a leader among replicas; set to false only if no other replica can run
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) leader_elect: bool,
    /// Namespace of the Lease [default: the current namespace]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) lease_namespace: Option<String>,
    /// Name of the Lease; replicas that manage the same objects must use the same name
    #[arg(long, value_name = "NAME", default_value = "punctual")]
    pub(crate) lease_name: String,
    /// Time that non-leader replicas wait after the last renewal before they force-acquire leadership
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    pub(crate) lease_duration: Duration,
    /// Time that the leader keeps trying to renew before it gives up leadership
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub(crate) renew_deadline: Duration,
    /// Time between attempts to acquire or renew leadership
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub(crate) retry_period: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum KindArg {
    /// batch/v1 CronJobs (disable the built-in controller)
    CronJobs,
    /// punctual.dev/v1 ScheduledJobs (the built-in controller can keep running)
    ScheduledJobs,
}

impl KindArg {
    pub(crate) fn kind(self) -> CronJobKind {
        match self {
            KindArg::CronJobs => CronJobKind::BatchV1,
            KindArg::ScheduledJobs => CronJobKind::ScheduledJob,
        }
    }
}
