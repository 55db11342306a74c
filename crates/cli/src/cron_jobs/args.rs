//! The command lines of `list`, `describe`, `why`, `history`, `logs`, `suspend`, `resume` and `plan`.

use std::path::PathBuf;

use clap::ValueEnum;
use clap_complete::engine::ArgValueCompleter;
use jiff::SignedDuration;

use super::output_format::{HistoryFormat, ListFormat, ObjectFormat};
use super::{duration_arg, name_completion};
use crate::cluster_config::ClusterArgs;

/// Options that select the cluster and the namespace.
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// Data directory of the `punctual up` to connect to if there is no kubeconfig
    /// [default: ~/.local/share/punctual]
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Namespace [default: the namespace of the context]
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
}

/// One CronJob and the cluster that has it.
#[derive(Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// CronJob or ScheduledJob: NAME, cronjob/NAME or scheduledjob/NAME (short cj/NAME, sj/NAME)
    #[arg(value_name = "TYPE/NAME", add = ArgValueCompleter::new(name_completion::complete))]
    pub(super) target: String,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The column STREAK counts the runs in a row that ended in the same way; + means at least. Times are in
the zone that the header names; set it with --time-zone. Exit status: 0, or 1 if the cluster cannot
be read.

Examples:
  punctual list -A --sort next
  punctual list --failing -o json
  punctual list -n shop --due 1h -w")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    /// CronJobs of all namespaces
    #[arg(long, short = 'A')]
    pub(super) all_namespaces: bool,
    /// Only those with these labels, such as team=data,tier!=test
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(super) selector: Option<String>,
    /// Only those that need attention: failing, stuck, overdue or invalid
    #[arg(long)]
    pub(super) failing: bool,
    /// Only suspended ones
    #[arg(long)]
    pub(super) suspended: bool,
    /// Only those whose next run starts within this time, such as 1h
    #[arg(long, value_name = "TIME", value_parser = duration_arg::parse)]
    pub(super) due: Option<SignedDuration>,
    /// Order of the rows
    #[arg(long, value_name = "COLUMN", default_value = "name")]
    pub(super) sort: SortColumn,
    /// After the list, print each row again when it changes
    #[arg(long, short = 'w')]
    pub(super) watch: bool,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
    pub(super) output: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortColumn {
    /// By namespace and name
    Name,
    /// By the next run, the earliest first
    Next,
    /// By the last run, the newest first
    Last,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Times are in the time zone of the CronJob. Exit status: 0, or 1 if it cannot be read.

Example: punctual describe cj/backup -n shop")]
pub(crate) struct DescribeArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Number of slots and of records to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(super) count: u32,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "text")]
    pub(super) output: ObjectFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
SLOT is a scheduled time: an instant such as 2026-01-31T08:00:00Z, a local time in the zone of the
CronJob such as 2026-01-31T08:00, a time of day such as 08:00 for the latest slot then, or the name of
a Job. Exit status: 0, or 1 if the CronJob or the slot is not found.

Examples:
  punctual why backup
  punctual why cj/backup 04:00
  punctual why sj/report 2026-01-31T08:00 -o json")]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Slot to explain [default: the latest that did not run, and why nothing runs now]
    #[arg(value_name = "SLOT")]
    pub(super) slot: Option<String>,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "text")]
    pub(super) output: ObjectFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Times are in the time zone of the CronJob; -o csv and -o json have them in UTC. --since and --until
take a time, or a duration before now such as 7d. Exit status: 0, or 1 if the records cannot be read.

Examples:
  punctual history backup --since 7d
  punctual history backup --decision Missed,Skipped
  punctual history backup --result Failed -o csv")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Only these decisions: Started, Skipped, Missed
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    pub(super) decision: Vec<String>,
    /// Only these results: Running, Succeeded, Failed, Replaced, Deleted, Unknown
    #[arg(long, value_name = "RESULT", value_delimiter = ',')]
    pub(super) result: Vec<String>,
    /// Only slots at or after this time
    #[arg(long, value_name = "TIME")]
    pub(super) since: Option<String>,
    /// Only slots before this time
    #[arg(long, value_name = "TIME")]
    pub(super) until: Option<String>,
    /// Maximum number of records
    #[arg(long, value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) limit: u32,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "table")]
    pub(super) output: HistoryFormat,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
SLOT is as in `punctual why`. If a run has several Pods or containers, a line `==> POD CONTAINER <==`
precedes the log of each. Exit status: 0, or 1 if there is no such run or its Job is gone.

Examples:
  punctual logs backup
  punctual logs backup --failed
  punctual logs backup --slot 04:00
  punctual logs backup -f")]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// Run of this slot [default: the latest run]
    #[arg(long, value_name = "SLOT")]
    pub(super) slot: Option<String>,
    /// The latest run that failed
    #[arg(long, conflicts_with = "slot")]
    pub(super) failed: bool,
    /// Follow the log until the run ends
    #[arg(long, short = 'f')]
    pub(super) follow: bool,
    /// Only this container
    #[arg(long, short = 'c', value_name = "NAME")]
    pub(super) container: Option<String>,
}

/// Selects the CronJobs to change.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeTargets {
    /// CronJobs or ScheduledJobs: NAME, cronjob/NAME or scheduledjob/NAME (short cj/NAME, sj/NAME)
    #[arg(value_name = "TYPE/NAME", required_unless_present = "selector")]
    #[arg(add = ArgValueCompleter::new(name_completion::complete))]
    pub(super) targets: Vec<String>,
    /// All of the namespace with these labels
    #[arg(long, short = 'l', value_name = "SELECTOR", conflicts_with = "targets")]
    pub(super) selector: Option<String>,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    /// Show what would change, without changing it: `client` sends no write, `server` lets the server check it
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "server")]
    pub(super) dry_run: Option<DryRun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// Change it
    None,
    /// Send no write
    Client,
    /// The server checks the write and does not store it
    Server,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A suspended CronJob starts no runs; active ones go on. With --until or --for, the controller of
Punctual resumes it at that time. A CronJob that another controller runs would stay suspended, so
these options are refused for it. TIME is an instant such as 2026-01-31T08:00:00Z, or a local time
such as 2026-01-31T08:00 in the zone of --time-zone.

Exit status: 0, or 1 if a CronJob is not found or was not changed.

Examples:
  punctual suspend backup --for 2h --reason 'database upgrade'
  punctual suspend -l team=data --until 2026-01-31T08:00")]
pub(crate) struct SuspendArgs {
    #[command(flatten)]
    pub(super) targets: ChangeTargets,
    /// Resume at this time
    #[arg(long, value_name = "TIME", conflicts_with = "duration")]
    pub(super) until: Option<String>,
    /// Resume after this time, such as 2h or 3d
    #[arg(long = "for", value_name = "TIME", value_parser = duration_arg::parse)]
    pub(super) duration: Option<SignedDuration>,
    /// Why, for others who see the suspended CronJob
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints what starts at once: slots that were due while the CronJob was suspended are pending if their
starting deadline has not passed. Use --dry-run to see it before. --missed chooses which of them run;
without it, the annotation punctual.dev/resume-missed decides, and without that, the latest runs.
The controller of Punctual applies the choice, so drop and all are refused for a CronJob that another
controller runs.

Exit status: 0, or 1 if a CronJob is not found or was not changed.

Examples:
  punctual resume backup --dry-run
  punctual resume backup --missed all
  punctual resume -l team=data")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(super) targets: ChangeTargets,
    /// Which slots of the suspension run
    #[arg(long, value_name = "WHICH")]
    pub(super) missed: Option<MissedChoice>,
}

/// Which slots that were due during a suspension run after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissedChoice {
    /// None
    Drop,
    /// The latest, or all with the policy CatchUp
    Latest,
    /// All, one after another, the oldest first
    All,
}

impl MissedChoice {
    /// Returns the value of the annotation `punctual.dev/resume-missed`; `None` for the default.
    pub(super) fn annotation(self) -> Option<&'static str> {
        match self {
            MissedChoice::Drop => Some("drop"),
            MissedChoice::Latest => None,
            MissedChoice::All => Some("all"),
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
With -f it compares each CronJob of the manifests with the cluster: the fields that change, the slots
gained and lost, what would start at once, and which other CronJobs start in the same minutes. It
changes nothing. Exit status with -f: 0 if nothing changes, 1 if something changes, 2 on errors.

Without -f it predicts the starts and the concurrency of each hour, from how long the last runs took.
Exit status then: 0, or 2 on errors.

Examples:
  punctual plan -f backup.yaml
  punctual plan --for 7d -A")]
pub(crate) struct PlanArgs {
    /// Manifests to compare: YAML or JSON files, directories, or - for standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE or DIR", num_args = 1..)]
    pub(super) files: Vec<PathBuf>,
    /// How far to look ahead
    #[arg(long = "for", value_name = "TIME", default_value = "7d", value_parser = duration_arg::parse)]
    pub(super) duration: SignedDuration,
    /// CronJobs of all namespaces
    #[arg(long, short = 'A')]
    pub(super) all_namespaces: bool,
    /// Only those with these labels
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(super) selector: Option<String>,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "text")]
    pub(super) output: ObjectFormat,
}
