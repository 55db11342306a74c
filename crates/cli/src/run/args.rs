//! The command line of `punctual run` and its help text.

use anyhow::bail;
use clap::ValueEnum;
use punctual_api::CronJobKind;

use crate::cluster_config::ClusterArgs;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --kubeconfig and --context the cluster is found as kubectl finds it: from the KUBECONFIG
variable, from ~/.kube/config, or in a Pod from its service account. With --dry-run no cluster is
needed.

The time zone is stored in the object: --time-zone, or this machine's. The kind is CronJob, except for --at and CatchUp, which a Kubernetes cluster
accepts only in a ScheduledJob. `punctual up` runs both kinds.

Examples:
  punctual run --at 2030-12-31T23:59 -- echo 'Happy new year'
  punctual run --every 90m --name sync -- /usr/local/bin/sync
  punctual run --schedule '0 2 * * *' --concurrency-policy Forbid --name backup -- backup.sh
  punctual run --schedule '0 14 21 7 *' --image perl --name pi -- perl -e 'print 22/7'
  punctual run --schedule '@hourly' --dry-run -o yaml -- date > date.yaml")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) when: WhenArgs,
    /// Name of the object [default: the name of the program]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Namespace of the object [default: the namespace of the context]
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Container image: required on a Kubernetes cluster, ignored by `punctual up`
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Environment variable of the command; repeat for several
    #[arg(long, value_name = "NAME=VALUE", value_parser = EnvArg::parse)]
    pub(crate) env: Vec<EnvArg>,
    /// What to do if an earlier run is still active [default: Allow]
    #[arg(long, value_name = "POLICY", value_parser = ["Allow", "Forbid", "Replace", "CatchUp"])]
    pub(crate) concurrency_policy: Option<String>,
    /// When to restart the command within a run
    #[arg(long, value_name = "POLICY", default_value = "OnFailure")]
    #[arg(value_parser = ["OnFailure", "Never"])]
    pub(crate) restart: String,
    /// Kind of the object [default: ScheduledJob for --at and CatchUp, otherwise CronJob]
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<KindChoice>,
    /// Check the object without creating it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What to print
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "name")]
    pub(crate) output: ObjectFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Program to run and its arguments
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// When to run. Exactly one option must be set.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhenArgs {
    /// Run once at this time: RFC 3339, or local time such as 2030-12-31T23:59
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Run at this interval, such as 90s or 1h30m
    #[arg(long, value_name = "DURATION")]
    pub(crate) every: Option<String>,
    /// Run on this schedule: a cron expression such as '30 2 * * 1-5', or @daily
    #[arg(long, value_name = "CRON")]
    pub(crate) schedule: Option<String>,
}

impl WhenArgs {
    /// The schedule of the object.
    pub(crate) fn schedule(&self) -> String {
        match self {
            WhenArgs { at: Some(time), .. } => format!("@at {time}"),
            WhenArgs { every: Some(interval), .. } => format!("@every {interval}"),
            WhenArgs { schedule, .. } => schedule.clone().unwrap_or_default(),
        }
    }
}

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnvArg {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl EnvArg {
    fn parse(text: &str) -> anyhow::Result<EnvArg> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(EnvArg { name: name.to_owned(), value: value.to_owned() })
            }
            _ => bail!("expected NAME=VALUE"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub(crate) enum KindChoice {
    /// batch/v1 CronJob
    CronJob,
    /// punctual.dev/v1 ScheduledJob
    ScheduledJob,
}

impl KindChoice {
    pub(crate) fn kind(self) -> CronJobKind {
        match self {
            KindChoice::CronJob => CronJobKind::BatchV1,
            KindChoice::ScheduledJob => CronJobKind::ScheduledJob,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectFormat {
    /// The name of the object and the time of its first run
    Name,
    /// The object as YAML
    Yaml,
    /// The object as JSON
    Json,
}
