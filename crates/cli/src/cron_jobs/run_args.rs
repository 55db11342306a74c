//! The command lines of `trigger` and `backfill`.

use clap::ValueEnum;
use punctual_api::run_request::RunSelection;

use super::args::TargetArgs;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Creates a RunRequest, and the controller of Punctual starts the run. Where it does not run the CronJob,
such as on a cluster with the built-in controller, this creates the Job itself, as
`kubectl create job --from` does, and says so.

SLOT is as in `punctual why`. The run gets that slot, also if it has run before.

Exit status: 0 if the request was created, or with --wait or --follow if the run succeeded; 1 if
something failed, was refused, or the run did not succeed; 130 if you stop waiting with Ctrl-C, which
does not stop the run.

Examples:
  punctual trigger backup
  punctual trigger backup --wait && echo done
  punctual trigger sj/report --slot 2026-01-31T08:00 -f")]
pub(crate) struct TriggerArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Run this slot (scheduled time) [default: a run besides the schedule]
    #[arg(long, value_name = "SLOT")]
    pub(super) slot: Option<String>,
    /// What to do while other runs are active
    #[arg(long, value_name = "POLICY", default_value = "respect")]
    pub(super) policy: TriggerPolicy,
    /// Wait until the run ends
    #[arg(long)]
    pub(super) wait: bool,
    /// Print the log of the run until it ends
    #[arg(long, short = 'f', conflicts_with = "output")]
    pub(super) follow: bool,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "text")]
    pub(super) output: CreatedFormat,
}

/// What a triggered run does while other runs are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TriggerPolicy {
    /// What the CronJob says
    Respect,
    /// Start anyway
    Allow,
    /// Delete the active runs of the schedule first
    Replace,
}

impl TriggerPolicy {
    /// Returns the value of `spec.concurrencyPolicy`; `None` for that of the CronJob.
    pub(super) fn as_str(self) -> Option<&'static str> {
        match self {
            TriggerPolicy::Respect => None,
            TriggerPolicy::Allow => Some("Allow"),
            TriggerPolicy::Replace => Some("Replace"),
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints what each slot (scheduled time) of the interval would do, and creates a RunRequest for those that
run. The controller of Punctual starts them one after another, the oldest first.

TIME is an instant such as 2026-01-31T08:00:00Z, or a local time or date in the zone of the CronJob
such as 2026-01-31T08:00 or 2026-01-31. A slot at --to does not run.

Exit status: 0 if the request was created or nothing has to run, or with --wait if all runs succeeded;
1 if something failed, was refused, or a run did not succeed; 130 if you stop waiting with Ctrl-C, which
does not stop the runs.

Examples:
  punctual backfill report --from 2026-11-09 --to 2026-11-14 --dry-run
  punctual backfill report --from 2026-11-09 --to 2026-11-14 --runs failed --wait")]
pub(crate) struct BackfillArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Start of the interval
    #[arg(long, value_name = "TIME")]
    pub(super) from: String,
    /// End of the interval
    #[arg(long, value_name = "TIME")]
    pub(super) to: String,
    /// Which slots run
    #[arg(long, value_name = "WHICH", default_value = "missing")]
    pub(super) runs: BackfillRuns,
    /// How many runs may be active at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(i32).range(1..=1000))]
    pub(super) parallel: i32,
    /// Run the newest slot first
    #[arg(long)]
    pub(super) newest_first: bool,
    /// Only print what each slot would do
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Wait until all runs have ended, and show the progress
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) wait: bool,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "text")]
    pub(super) output: CreatedFormat,
}

/// Which slots of the interval run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackfillRuns {
    /// Those without a run
    Missing,
    /// Those without a successful or active run
    Failed,
    /// All
    All,
}

impl BackfillRuns {
    pub(super) fn selection(self) -> RunSelection {
        match self {
            BackfillRuns::Missing => RunSelection::Missing,
            BackfillRuns::Failed => RunSelection::Failed,
            BackfillRuns::All => RunSelection::All,
        }
    }
}

/// The formats of a created object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CreatedFormat {
    /// Text, for people
    Text,
    /// JSON, for programs
    Json,
    /// YAML, for programs
    Yaml,
    /// The name of the object only
    Name,
}
