//! The command-line arguments and their help texts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;

use crate::controller::args::ControllerArgs;

/// The largest value of `--count`.
pub(crate) const COUNT_MAX: u32 = 100_000;

/// Run Kubernetes CronJobs on one machine or on any cluster
///
/// Each scheduled time is run at most once, even after crashes and restarts. `punctual up` needs no
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
    /// Print a kubeconfig with a client certificate for a user
    Kubeconfig(KubeconfigArgs),
    /// Show the next times at which a schedule runs
    Next(NextArgs),
    /// Explain a schedule, point out pitfalls and show the next times
    Explain(ExplainArgs),
    /// Check manifests as the API server would, and show when they run next
    Validate(ValidateArgs),
    /// Show what the controller would do with a dumped CronJob, and why
    Decide(DecideArgs),
    /// Print the CustomResourceDefinition of ScheduledJob
    #[command(after_help = "Example: punctual crd | kubectl apply --server-side -f -")]
    Crd,
    /// Show the versions of the program and of its time zone data
    Version(VersionArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example: punctual completions bash > /etc/bash_completion.d/punctual")]
    Completions(CompletionsArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints `serving https://ADDRESS` when it is ready. After that it shows a live view in a terminal,
and prints one line per event elsewhere.

All manifests are validated before any is applied. If one is invalid, nothing is changed or started.

Pods run as processes on this machine; their images are ignored. Pods keep running when this command
stops, and the next `punctual up` continues to manage them. Ctrl-C or SIGTERM stops this command
cleanly. A second Ctrl-C ends it at once.

Examples:
  punctual up examples/hello.yaml
  punctual up --data-dir ./data --plain manifests/")]
pub(crate) struct UpArgs {
    /// Manifests to apply: YAML or JSON files, directories, or - for standard input
    #[arg(value_name = "FILE or DIR")]
    pub(crate) paths: Vec<PathBuf>,
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
    pub(crate) fn has_color(&self) -> bool {
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
    /// Fields accepted in batch/v1 CronJobs
    #[arg(long, value_name = "DIALECT", default_value = "kubernetes")]
    pub(crate) dialect: Dialect,
}

/// Options of the API server.
#[derive(Debug, clap::Args)]
pub(crate) struct InstanceArgs {
    /// Directory of the data, the certificates and the audit log [default: ~/.local/share/punctual]
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443", env = "PUNCTUAL_LISTEN")]
    pub(crate) listen: SocketAddr,
    /// File for the administrator's kubeconfig [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// File for the audit log [default: audit.log in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Disable the audit log
    #[arg(long, conflicts_with = "audit_log")]
    pub(crate) no_audit_log: bool,
    /// Maximum number of concurrent requests, without watches; further ones get 429
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) max_requests: usize,
    /// Maximum number of requests per second, without watches; further ones get 429
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) max_requests_per_second: u32,
    /// Maximum number of concurrent watches; further ones get 429
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_watches: usize,
    /// Time to keep an Event after its last update, such as 90m or 1h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    pub(crate) event_ttl: Duration,
    /// Log level (error, warn, info, debug) or a filter such as punctual_server=debug
    #[arg(long, value_name = "FILTER", default_value = "info", env = "PUNCTUAL_LOG")]
    pub(crate) log: String,
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
    /// Data directory of the API server [default: ~/.local/share/punctual]
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Full access
    Admin,
    /// Read access to everything except Secrets
    View,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// Only the fields that kube-apiserver accepts
    Kubernetes,
    /// Also jitter, CatchUp and @at, as in ScheduledJobs
    Punctual,
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
    /// Also show Kubernetes' warnings and pitfalls of the schedules
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
If the schedule ends, an empty string follows the last time. Errors have the form {\"error\":\"...\"}.")]
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
Each input line is an object like
  {\"now\":\"2026-01-31T08:00:05Z\",\"cronJob\":{...},\"jobsListed\":[...],\"jobsOnlyOnServer\":[...]}
jobsListed are the Jobs in the controller's cache. jobsOnlyOnServer are the Jobs that only a live
read finds. This command changes nothing and connects to no server.")]
pub(crate) struct DecideArgs {
    /// Read CronJobs from standard input, one JSON object per line
    #[arg(long, required = true)]
    pub(crate) stdin: bool,
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
    /// Show times after this one, and count IN from it: RFC 3339, or local time [default: now]
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
}
