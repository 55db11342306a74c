//! The command-line arguments and their help texts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;
use punctual_engine::cronjob::FeatureGates;

use crate::backup::BackupArgs;
use crate::certs::CertsArgs;
use crate::check::CheckArgs;
use crate::controller::args::ControllerArgs;
use crate::crd::CrdArgs;
use crate::cron_jobs::{
    BackfillArgs, DescribeArgs, HistoryArgs, ListArgs, LogsArgs, PlanArgs, ResumeArgs, SuspendArgs,
    TriggerArgs, WhyArgs,
};
use crate::dashboard_args::{DashboardArgs, DashboardListenArgs};
use crate::data_dir;
use crate::import::args::ImportArgs;
use crate::repair::args::RepairArgs;
use crate::restore::RestoreArgs;
use crate::run::args::RunArgs;
use crate::salvage::SalvageArgs;

/// The largest value of `--count`.
pub(crate) const COUNT_MAX: u32 = 100_000;

/// Run Kubernetes CronJobs on one machine or on any cluster
///
/// Each scheduled time starts at most one run, even after crashes and restarts. `punctual up` needs no
/// cluster and no container runtime. `punctual controller` runs CronJobs on an existing cluster. The
/// other commands explain and check schedules and manifests.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  punctual next '30 2 * * 1-5' --time-zone Europe/Berlin
  punctual explain '0 0 13 * 5'
  punctual validate -f examples/hello.yaml --warnings
  punctual up examples/hello.yaml")]
pub(crate) struct CliArgs {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Time zone for schedules without one, such as Europe/Berlin [default: the system's]
    #[arg(long, global = true, value_name = "ZONE", env = "PUNCTUAL_TIME_ZONE")]
    pub(crate) time_zone: Option<String>,
    /// Time zone data: `bundled`, a zoneinfo directory, or `auto` for the newer of the bundled data
    /// and the system's
    #[arg(long, global = true, value_name = "SOURCE", default_value = "auto")]
    #[arg(env = "PUNCTUAL_TZDATA", hide_env_values = true)]
    pub(crate) tzdata: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run CronJobs on this machine: API server, controllers and Pod runner in one process
    Up(UpArgs),
    /// Run only the Kubernetes API server, with durable storage
    Serve(ServeArgs),
    /// Run the CronJob controller on a Kubernetes cluster
    Controller(Box<ControllerArgs>),
    /// Create a CronJob that runs a command once, at an interval or on a schedule
    Run(Box<RunArgs>),
    /// List CronJobs with their next run, last result and state
    #[command(visible_alias = "ls")]
    List(Box<ListArgs>),
    /// Describe a CronJob: schedule and policy in words, next slots, last records, problems
    Describe(Box<DescribeArgs>),
    /// Explain why a slot did or did not run, or why nothing runs now
    Why(Box<WhyArgs>),
    /// Show the slot records of a CronJob: what was decided about each slot, and how its run ended
    History(Box<HistoryArgs>),
    /// Print the logs of a run
    Logs(Box<LogsArgs>),
    /// Run a CronJob once now, or a slot again
    Trigger(Box<TriggerArgs>),
    /// Run the slots of an interval that have not run or have failed
    Backfill(Box<BackfillArgs>),
    /// Suspend CronJobs, also until a time
    Suspend(Box<SuspendArgs>),
    /// Resume suspended CronJobs
    Resume(Box<ResumeArgs>),
    /// Show what an edit would change, or predict the runs of the next days
    Plan(Box<PlanArgs>),
    /// Serve the web dashboard for a cluster, or print a login link for that of `punctual up`
    Dashboard(Box<DashboardArgs>),
    /// Reset the recorded times of a CronJob that lie in the future after a clock was wrong
    Repair(RepairArgs),
    /// Print a kubeconfig with a client certificate for a user
    Kubeconfig(KubeconfigArgs),
    /// Show, rotate or revoke the certificates of the API server
    Certs(CertsArgs),
    /// Back up all objects, even while the server runs
    Backup(BackupArgs),
    /// Restore a backup into an empty data directory
    Restore(RestoreArgs),
    /// Check a store or a backup for damage
    Check(CheckArgs),
    /// Replace a damaged store by its undamaged objects
    Salvage(SalvageArgs),
    /// Show the next times at which a schedule runs
    Next(NextArgs),
    /// Explain a schedule, point out pitfalls and show the next times
    Explain(ExplainArgs),
    /// Check manifests as the API server would, and show when they run next
    Validate(ValidateArgs),
    /// Show what the controller would do with a CronJob from standard input, and why
    Decide(DecideArgs),
    /// Print manifests for crontabs, systemd timers or dumped Kubernetes objects
    Import(Box<ImportArgs>),
    /// Print the CustomResourceDefinitions of ScheduledJob and RunRequest
    #[command(after_help = "\
The definition of ScheduledJob lists the valid time zones. Apply it again after an update of the time
zone data.

Example: punctual crd | kubectl apply --server-side -f -")]
    Crd(CrdArgs),
    /// Show the versions of the program and of its time zone data
    Version(VersionArgs),
    /// Print a completion script for a shell
    #[command(after_help = "\
With --names the script calls this program, which asks the cluster for the names of CronJobs. Print it
again after an update of the program.

Examples:
  punctual completions bash > /etc/bash_completion.d/punctual
  source <(punctual completions bash --names)")]
    Completions(CompletionsArgs),
}

impl Command {
    /// The exit status if the command fails. `plan` exits with 1 if something changes.
    pub(crate) fn failure_status(&self) -> u8 {
        if matches!(self, Command::Plan(_)) { 2 } else { 1 }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints `serving https://ADDRESS` when it is ready. After that it shows a live view in a terminal
(press ? for its keys), and prints one line per event elsewhere and in the background.

Directories are read with their subdirectories. Manifests are applied again when they change, and
all of them on SIGHUP. If a file is invalid, nothing of it is applied, what it applied before
stays, and the other files are applied. Objects of removed manifests stay, unless you use --prune.

Pods run as processes on this machine; their images are ignored. Pods keep running when this command
stops, and the next `punctual up` continues to manage them. Ctrl-C or SIGTERM stops this command
cleanly. A second Ctrl-C ends it at once.

Examples:
  punctual up examples/hello.yaml
  punctual up --data-dir ./data --plain manifests/")]
// The level `info` would repeat on standard error what the view and the lines report about runs.
#[command(mut_arg("log", |log| log.default_value("warn")))]
pub(crate) struct UpArgs {
    /// Manifests to apply, now and when they change: YAML or JSON files, directories, or - for standard
    /// input
    #[arg(value_name = "FILE or DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// Delete objects whose manifest was removed; an empty or unreadable directory deletes nothing
    #[arg(long)]
    pub(crate) prune: bool,
    #[command(flatten)]
    pub(crate) instance: InstanceArgs,
    /// Name of this machine's Node [default: the name used before, or the host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// Maximum number of Pods that run at a time; further Pods wait
    #[arg(long, value_name = "N", default_value_t = 110)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_pods: u32,
    /// Number of objects that each controller reconciles concurrently
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrent_syncs: u32,
    /// Fields accepted in batch/v1 CronJobs
    #[arg(long, value_name = "DIALECT", default_value = "punctual")]
    pub(crate) dialect: Dialect,
    #[command(flatten)]
    pub(crate) gates: FeatureGateArgs,
    #[command(flatten)]
    pub(crate) dashboard: DashboardListenArgs,
    /// Print one line per event instead of the live view
    #[arg(long)]
    pub(crate) plain: bool,
    /// Disable colors
    #[arg(long, env = "NO_COLOR", hide_env_values = true, value_name = "ANY", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "1", hide_possible_values = true)]
    no_color: Option<String>,
}

impl UpArgs {
    /// Whether to use colors. An empty `NO_COLOR` has no effect, by convention.
    pub(crate) fn use_color(&self) -> bool {
        self.no_color.as_deref().unwrap_or_default().is_empty()
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints `serving https://ADDRESS` when it is ready. Ctrl-C or SIGTERM stops it cleanly.

Example:
  punctual serve --kubeconfig-out kubeconfig &
  kubectl --kubeconfig kubeconfig get cronjobs -A")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) instance: InstanceArgs,
    /// Whether CronJobs may use Punctual's extensions
    #[arg(long, value_name = "DIALECT", default_value = "kubernetes")]
    pub(crate) dialect: Dialect,
}

/// Options of the API server.
#[derive(Debug, clap::Args)]
pub(crate) struct InstanceArgs {
    /// Directory for data, certificates and audit log [default: ~/.local/share/punctual]
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address to listen on, such as 127.0.0.1:6443, localhost:6443 or 6443 alone; port 0 selects a
    /// free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443", env = "PUNCTUAL_LISTEN")]
    #[arg(value_parser = parse_listen_address)]
    pub(crate) listen: SocketAddr,
    /// File for the administrator's kubeconfig [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// File with the keys that encrypt Secrets on disk, one in base64 per line, the first encrypts
    /// [default: the systemd credential punctual-encryption-key, else Secrets are not encrypted]
    #[arg(long, value_name = "FILE", env = "PUNCTUAL_ENCRYPTION_KEY_FILE")]
    pub(crate) encryption_key_file: Option<PathBuf>,
    /// File for the audit log [default: audit.log in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Requests recorded in the audit log
    #[arg(long, value_name = "LEVEL", default_value = "requests")]
    pub(crate) audit_level: AuditLevel,
    /// Disable the audit log
    #[arg(long, conflicts_with = "audit_log")]
    pub(crate) no_audit_log: bool,
    /// Maximum number of connections; beyond it, idle ones are closed
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) max_connections: usize,
    /// Maximum number of concurrent requests, excluding watches; excess requests get 429
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) max_requests: usize,
    /// Maximum number of requests per second, excluding watches; excess requests get 429
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) max_requests_per_second: u32,
    /// Maximum number of requests per second for CronJobs and ScheduledJobs [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) max_cronjob_requests_per_second: Option<u32>,
    /// Maximum number of requests per second for Jobs [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) max_job_requests_per_second: Option<u32>,
    /// Maximum number of concurrent watches; further ones get 429
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_watches: usize,
    /// Time to keep an Event after its last update, such as 90m or 1h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    pub(crate) event_ttl: Duration,
    /// Number of days to keep the record of a slot in the slot ledger
    #[arg(long, value_name = "N", default_value_t = 90)]
    pub(crate) ledger_days: u32,
    /// Maximum number of records of a CronJob in the slot ledger; beyond it, the oldest are deleted
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) ledger_records: u32,
    /// Log level (error, warn, info, debug) or a filter such as punctual_server=debug
    #[arg(long, value_name = "FILTER", default_value = "info", env = "PUNCTUAL_LOG")]
    pub(crate) log: String,
}

/// Options that switch features off.
#[derive(Debug, clap::Args)]
pub(crate) struct FeatureGateArgs {
    /// Features to switch off or on, such as TimeZone=false,Jitter=false; all are on by default
    #[arg(long, value_name = "GATES", default_value = "", hide_default_value = true)]
    feature_gates: FeatureGates,
}

impl FeatureGateArgs {
    pub(crate) fn feature_gates(&self) -> FeatureGates {
        self.feature_gates
    }
}

/// Parses an address and port. A port alone and `localhost` mean the loopback address.
pub(crate) fn parse_listen_address(text: &str) -> anyhow::Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    let port: u16 = port.parse().map_err(|_| {
        anyhow!("expected an address and port such as 127.0.0.1:6443, localhost:6443 or 6443")
    })?;
    Ok((Ipv4Addr::LOCALHOST, port).into())
}

/// Parses a duration such as `90s` or `1h`. Negative durations are errors.
pub(crate) fn parse_duration(text: &str) -> anyhow::Result<Duration> {
    let duration: SignedDuration = text.parse()?;
    duration.try_into().map_err(|_| anyhow!("must not be negative"))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The certificate is signed by the certificate authority in the data directory. It is valid for one
year.

Example: punctual kubeconfig --user alice --role view > alice.kubeconfig")]
pub(crate) struct KubeconfigArgs {
    /// Name of the user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    /// Role of the user
    #[arg(long, value_name = "ROLE", default_value = "view")]
    pub(crate) role: Role,
    /// URL of the API server
    #[arg(long, value_name = "URL", default_value = "https://127.0.0.1:6443")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) data_dir: DataDirArg,
}

/// The data directory of a command that does not start the server.
#[derive(Debug, clap::Args)]
pub(crate) struct DataDirArg {
    /// Data directory of the API server [default: ~/.local/share/punctual]
    #[arg(long, global = true, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    data_dir: Option<PathBuf>,
}

impl DataDirArg {
    /// Returns the data directory.
    pub(crate) fn resolve(&self) -> anyhow::Result<PathBuf> {
        data_dir::resolve(self.data_dir.as_deref())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Full access
    Admin,
    /// Read access to everything except Secrets
    View,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditLevel {
    /// Requests of clients that change something or are refused
    Writes,
    /// All requests of clients except health checks
    Requests,
    /// All requests, including health checks and those of this process
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// Only the fields that kube-apiserver accepts
    Kubernetes,
    /// Also jitter, CatchUp and @at, as in ScheduledJobs
    Punctual,
}

impl From<Dialect> for punctual_api::Dialect {
    fn from(dialect: Dialect) -> punctual_api::Dialect {
        match dialect {
            Dialect::Kubernetes => punctual_api::Dialect::Kubernetes,
            Dialect::Punctual => punctual_api::Dialect::Punctual,
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Unknown fields and duplicate fields are errors. Exit status: 0 if all manifests are valid, 1 if any
has an error, 2 if the command line is invalid.

Examples:
  punctual validate -f backup.yaml --warnings
  kubectl get cronjobs -A -o yaml | punctual validate -f - --strict")]
pub(crate) struct ValidateArgs {
    /// Manifests to check: YAML or JSON files, directories, or - for standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE or DIR", num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// Manifests to check, as with -f
    #[arg(value_name = "FILE or DIR", required_unless_present = "files")]
    pub(crate) paths: Vec<PathBuf>,
    /// Accept only what kube-apiserver accepts: no jitter, CatchUp or @at in a CronJob
    #[arg(long)]
    pub(crate) strict: bool,
    /// Accept only what `punctual up` applies: kinds that it serves, with a name, each object once
    #[arg(long, conflicts_with = "strict")]
    pub(crate) up: bool,
    /// Also show the warnings of the API and the pitfalls of schedules
    #[arg(long)]
    pub(crate) warnings: bool,
    /// Number of times to show for each schedule
    #[arg(long, short = 'n', value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(COUNT_MAX)))]
    pub(crate) count: u32,
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --stdin each input line is an object like
  {\"expr\":\"0 9 * * 1-5\",\"tz\":\"Europe/Berlin\",\"after\":\"2026-01-01T00:00:00Z\",\"count\":3}
Only expr is required. Each input line gets one output line:
  {\"next\":[\"2026-01-01T08:00:00Z\",\"2026-01-02T08:00:00Z\",\"2026-01-05T08:00:00Z\"]}
If fewer times remain, the list ends with an empty string. Errors have the form {\"error\":\"...\"}.
The exit status is 1 if any line failed.")]
pub(crate) struct NextArgs {
    /// Cron expression, quoted or not; also @daily, @every 90m, @at 2026-12-31T23:59
    #[arg(value_name = "EXPR", required_unless_present = "stdin")]
    pub(crate) expr: Vec<String>,
    #[command(flatten)]
    pub(crate) range: SlotRange,
    /// Answer requests from standard input, one JSON object per line
    #[arg(long, conflicts_with_all = ["expr", "output"])]
    pub(crate) stdin: bool,
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Cron expression, quoted or not; also @daily, @every 90m, @at 2026-12-31T23:59
    #[arg(value_name = "EXPR", required = true)]
    pub(crate) expr: Vec<String>,
    #[command(flatten)]
    pub(crate) range: SlotRange,
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --stdin each input line is an object like
  {\"now\":\"2026-01-31T08:00:05Z\",\"cronJob\":{...},\"jobsListed\":[...],\"jobsOnlyOnServer\":[...]}
jobsListed are the Jobs in the controller's cache. jobsOnlyOnServer are Jobs that exist on the
server and are not in the cache yet. This command changes nothing and connects to no server. Exit
status: 1 if any line or file is invalid.

Example: kubectl get cronjobs,jobs -A -o json | punctual decide -o text -f -")]
pub(crate) struct DecideArgs {
    /// Read CronJobs from standard input, one JSON object per line
    #[arg(long, required_unless_present = "files")]
    pub(crate) stdin: bool,
    #[command(flatten)]
    pub(crate) gates: FeatureGateArgs,
    /// CronJobs and their Jobs as `kubectl get -o json` or `-o yaml` prints them, or - for standard
    /// input
    #[arg(long = "filename", short = 'f', value_name = "FILE or DIR", num_args = 1..)]
    #[arg(conflicts_with = "stdin")]
    pub(crate) files: Vec<PathBuf>,
    /// Time of the decision with -f: RFC 3339, or local time [default: now]
    #[arg(long, value_name = "TIME", requires = "files")]
    pub(crate) now: Option<String>,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "json")]
    pub(crate) output: DecideFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecideFormat {
    /// One JSON object per line, for programs
    Json,
    /// Text that explains why a run did or did not start
    Text,
}

/// Selects the slots to show.
#[derive(Debug, clap::Args)]
pub(crate) struct SlotRange {
    /// Show times after this one; the column IN is relative to it: RFC 3339, or local time [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// Number of times to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(COUNT_MAX)))]
    pub(crate) count: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OutputArg {
    /// Output format
    #[arg(long = "output", short = 'o', value_name = "FORMAT", default_value = "table")]
    pub(crate) output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned text
    Table,
    /// JSON, for programs
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    pub(crate) shell: clap_complete::Shell,
    /// Also complete the names of CronJobs, as the cluster of the kubeconfig has them
    #[arg(long)]
    pub(crate) names: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listen_address_may_be_a_port_or_localhost() {
        for (text, wanted) in [
            ("6443", "127.0.0.1:6443"),
            ("localhost:0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(parse_listen_address(text).unwrap().to_string(), wanted);
        }
        for text in ["", "localhost", "65536", "example.com:1", ":80"] {
            assert!(parse_listen_address(text).is_err(), "{text}");
        }
    }
}
