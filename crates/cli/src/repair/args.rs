//! The command line of `punctual repair` and its help text.

use crate::cluster_config::ClusterArgs;
use crate::run::args::KindChoice;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Use it when the condition Settled of a CronJob has the reason LastScheduleInFuture: a clock was ahead
when a run was recorded, so the CronJob waits until that time. First correct the clocks of this
machine, the controller and the API server.

The command sets lastScheduleTime and lastMissedTime to the current time if they are later. No slot
that has passed starts, so nothing runs twice. Finished Jobs with a slot in the future lose the
annotation with their slot. The command does nothing while such a Job is running.

Without --kubeconfig and --context the cluster is found as kubectl finds it. `punctual up` prints the
path of its kubeconfig.

Examples:
  punctual repair backup --dry-run
  punctual repair backup --namespace shop --kind ScheduledJob")]
pub(crate) struct RepairArgs {
    /// Name of the object
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Namespace of the object [default: the namespace of the context]
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Kind of the object
    #[arg(long, value_name = "KIND", default_value = "CronJob")]
    pub(crate) kind: KindChoice,
    /// Show what would change without changing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
