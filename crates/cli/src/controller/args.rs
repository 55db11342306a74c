//! The command line of `punctual controller`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, ValueEnum};
use punctual_api::CronJobKind;

use crate::args::duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --kubeconfig and --context the cluster is found as kubectl finds it: by the variable
KUBECONFIG, by ~/.kube/config, and in a Pod by its service account.

For CronJobs the cluster's own controller must be off: kube-controller-manager is started with
--controllers=*,-cronjob-controller. This command asks, and does not start while it is at work.
ScheduledJobs need a definition: punctual crd | kubectl apply --server-side -f -

Prints `listening http://ADDRESS` and serves /healthz, /readyz and /metrics there. Several may run:
one leads, the others wait. Ctrl-C or SIGTERM stops it cleanly and hands the lead over.

Examples:
  punctual controller
  punctual controller --kinds cronjobs,scheduledjobs --namespace shop --namespace billing")]
pub(crate) struct ControllerArgs {
    /// File that says where the cluster is and who we are
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of that file [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// What to look after
    #[arg(long, value_name = "KINDS", value_delimiter = ',', default_value = "scheduledjobs")]
    pub(crate) kinds: Vec<KindArg>,
    /// Namespace to look after; can be given again [default: all]
    #[arg(long = "namespace", short = 'n', value_name = "NAMESPACE")]
    pub(crate) namespaces: Vec<String>,
    /// Start though the cluster's own controller of CronJobs is at work, or may be
    #[arg(long)]
    pub(crate) take_over: bool,
    /// CronJobs that are looked at at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrent_syncs: u32,
    /// Address of /healthz, /readyz and /metrics; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:10260")]
    #[arg(env = "PUNCTUAL_CONTROLLER_LISTEN")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// What to log: error, warn, info, debug, or a filter such as punctual_controller=debug
    #[arg(long, value_name = "FILTER", default_value = "info", env = "PUNCTUAL_LOG")]
    pub(crate) log: String,
}

/// Which of several processes does the work.
#[derive(Debug, clap::Args)]
pub(crate) struct ElectionArgs {
    /// Work only while we lead; false where nobody else can run
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) leader_elect: bool,
    /// Namespace of the Lease by which one is elected [default: our own]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) lease_namespace: Option<String>,
    /// Name of that Lease; all that look after the same kinds must have the same
    #[arg(long, value_name = "NAME", default_value = "punctual")]
    pub(crate) lease_name: String,
    /// Others lead so long after the last word of who leads
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration)]
    pub(crate) lease_duration: Duration,
    /// Who leads stops so long after the last word that was heard
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) renew_deadline: Duration,
    /// Time between two tries
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub(crate) retry_period: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum KindArg {
    /// batch/v1 CronJobs, in place of the cluster's own controller
    CronJobs,
    /// punctual.dev/v1 ScheduledJobs, beside it
    ScheduledJobs,
}

impl KindArg {
    pub(crate) fn flavor(self) -> CronJobKind {
        match self {
            KindArg::CronJobs => CronJobKind::BatchV1,
            KindArg::ScheduledJobs => CronJobKind::ScheduledJob,
        }
    }
}
