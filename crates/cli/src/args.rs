//! The command line, as `punctual --help` shows it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;

use crate::controller::args::ControllerArgs;

/// More slots than this are not listed at once.
pub(crate) const COUNT_MAX: u32 = 100_000;

/// CronJobs that run: on time, exactly once, and visibly so.
///
/// Punctual runs Kubernetes CronJobs on one machine with nothing installed, and is the better
/// CronJob controller on a cluster. It also tells what a schedule means and when it runs next.
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

/// What holds for every command.
#[derive(Debug, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Time zone of schedules that name none, such as Europe/Berlin [default: the system's]
    #[arg(long, global = true, value_name = "ZONE", env = "PUNCTUAL_TIME_ZONE")]
    pub(crate) time_zone: Option<String>,
    /// Time zone data: `bundled`, a zoneinfo directory, or `auto` for the newer of the bundled and
    /// the system's
    #[arg(long, global = true, value_name = "SOURCE", default_value = "auto")]
    #[arg(env = "PUNCTUAL_TZDATA", hide_env_values = true)]
    pub(crate) tzdata: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run CronJobs on this machine: API server, controllers and a runner of Pods in one process
    Up(UpArgs),
    /// Run the Kubernetes API server alone: durable, for kubectl and any other client
    Serve(ServeArgs),
    /// Look after the CronJobs of a Kubernetes cluster: in place of its own controller, or beside it
    Controller(Box<ControllerArgs>),
    /// Print what somebody's kubectl needs: a certificate of their own, and a role
    Kubeconfig(KubeconfigArgs),
    /// Show when a schedule runs next
    Next(NextArgs),
    /// Say what a schedule means, what is odd about it, and when it runs next
    Explain(ExplainArgs),
    /// Check manifests as a server would, and show when what is valid runs next
    Validate(ValidateArgs),
    /// Say what the controller would do about a dumped CronJob, and why
    Decide(DecideArgs),
    /// Print the CustomResourceDefinition by which a cluster serves ScheduledJob
    #[command(after_help = "Example: punctual crd | kubectl apply --server-side -f -")]
    Crd,
    /// Show the version of the program and of its time zone data
    Version(VersionArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example: punctual completions bash > /etc/bash_completion.d/punctual")]
    Completions(CompletionsArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints `serving https://ADDRESS` when it is ready, then what happens: as a live view in a terminal,
else a line each. Manifests are applied all or none: if one is wrong, nothing is changed or run.
Pods are processes of this machine; images are not looked at. They outlive this command, and the
next `punctual up` takes them on. Ctrl-C or SIGTERM stops it cleanly, a second Ctrl-C at once.

Examples:
  punctual up examples/hello.yaml
  punctual up --data-dir ./data --plain manifests/")]
pub(crate) struct UpArgs {
    /// Manifests to apply: YAML or JSON files, directories of them, or - for standard input
    #[arg(value_name = "FILE or DIR")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) instance: InstanceArgs,
    /// Name of this machine's node [default: the one of the last start, else the host's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// Pods that run at a time; more wait for their turn
    #[arg(long, value_name = "N", default_value_t = 110)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_pods: u32,
    /// CronJobs, and Jobs, that each controller looks at at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrent_syncs: u32,
    /// Print a line for everything that happens, in a terminal too
    #[arg(long)]
    pub(crate) plain: bool,
    /// Use no colors
    #[arg(long, env = "NO_COLOR", hide_env_values = true, value_name = "ANY", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "1", hide_possible_values = true)]
    no_color: Option<String>,
}

impl UpArgs {
    /// Whether colors are wanted. By custom an empty `NO_COLOR` says nothing.
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
    /// What is accepted in Kubernetes' own kinds
    #[arg(long, value_name = "WHOSE", default_value = "kubernetes")]
    pub(crate) dialect: Dialect,
}

/// Where a server of ours lives, and what it takes.
#[derive(Debug, clap::Args)]
pub(crate) struct InstanceArgs {
    /// Folder of the data, the certificates and the audit log [default: ~/.local/share/punctual]
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address to listen on; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443", env = "PUNCTUAL_LISTEN")]
    pub(crate) listen: SocketAddr,
    /// Where to write the administrator's kubeconfig [default: kubeconfig in the data folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// Where to write who did what [default: audit.log in the data folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Write no audit log
    #[arg(long, conflicts_with = "audit_log")]
    pub(crate) no_audit_log: bool,
    /// Requests answered at a time, watches excepted; more are told to come back
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) max_requests: usize,
    /// Requests taken in a second, watches excepted; more are told to come back
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) max_requests_per_second: u32,
    /// Watches at a time; more are told to come back
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_watches: usize,
    /// How long Events are kept after their last write, such as 90m or 1h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) event_ttl: Duration,
    /// What to log: error, warn, info, debug, or a filter such as punctual_server=debug
    #[arg(long, value_name = "FILTER", default_value = "info", env = "PUNCTUAL_LOG")]
    pub(crate) log: String,
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let read: SignedDuration = text.parse().map_err(|why: jiff::Error| why.to_string())?;
    read.try_into().map_err(|_| "must not be negative".to_owned())
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The certificate is signed by the authority in the data folder and holds for a year.

Example: punctual kubeconfig --user alice --role view > alice.kubeconfig")]
pub(crate) struct KubeconfigArgs {
    /// Their name
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    /// What they may do
    #[arg(long, value_name = "ROLE", default_value = "view")]
    pub(crate) role: Role,
    /// Address of the server
    #[arg(long, value_name = "URL", default_value = "https://127.0.0.1:6443")]
    pub(crate) server: String,
    /// Data folder of the server [default: ~/.local/share/punctual]
    #[arg(long, value_name = "DIR", env = "PUNCTUAL_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Everything
    Admin,
    /// Read everything but secrets
    View,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// Only what kube-apiserver accepts; our own kind ScheduledJob has everything
    Kubernetes,
    /// Also jitter, CatchUp and @at
    Punctual,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Unknown fields and fields given twice are errors. Exit status: 0 if everything is valid, 1 if there
is any error, 2 if the command line is wrong.

Examples:
  punctual validate -f backup.yaml --warnings
  kubectl get cronjobs -A -o yaml | punctual validate -f - --strict")]
pub(crate) struct ValidateArgs {
    /// Manifests: YAML or JSON files, directories of them, or - for standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE or DIR", num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// The same without -f
    #[arg(value_name = "FILE or DIR", required_unless_present = "files")]
    pub(crate) paths: Vec<PathBuf>,
    /// Accept only what kube-apiserver itself accepts: no jitter, no CatchUp, no @at in a CronJob
    #[arg(long)]
    pub(crate) strict: bool,
    /// Also show Kubernetes' warnings, and what is odd about the schedules
    #[arg(long)]
    pub(crate) warnings: bool,
    /// How many slots of each schedule to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(COUNT_MAX)))]
    pub(crate) count: u32,
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --stdin each line is an object like
  {\"expr\":\"0 9 * * 1-5\",\"tz\":\"Europe/Berlin\",\"after\":\"2026-01-01T00:00:00Z\",\"count\":3}
of which only expr must be there, and is answered by a line of its own:
  {\"next\":[\"2026-01-01T08:00:00Z\",\"2026-01-02T08:00:00Z\",\"2026-01-05T08:00:00Z\"]}
An empty string ends the list where there is no further slot; {\"error\":\"...\"} says what is wrong.")]
pub(crate) struct NextArgs {
    /// Cron expression, in quotes or not; also @daily, @every 90m, @at 2026-12-31T23:59
    #[arg(value_name = "EXPR", required_unless_present = "stdin")]
    pub(crate) expr: Vec<String>,
    #[command(flatten)]
    pub(crate) range: SlotRange,
    /// Answer requests from standard input instead, one JSON object a line
    #[arg(long, conflicts_with_all = ["expr", "output"])]
    pub(crate) stdin: bool,
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Cron expression, in quotes or not; also @daily, @every 90m, @at 2026-12-31T23:59
    #[arg(value_name = "EXPR", required = true)]
    pub(crate) expr: Vec<String>,
    #[command(flatten)]
    pub(crate) range: SlotRange,
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is an object like
  {\"now\":\"2026-01-31T08:00:05Z\",\"cronJob\":{...},\"jobsListed\":[...],\"jobsOnlyOnServer\":[...]}
with the Jobs of the CronJob as its controller's cache has them, and those that only a live read
finds. Nothing is done: the answer is what would be.")]
pub(crate) struct DecideArgs {
    /// Read worlds from standard input, one JSON object a line
    #[arg(long, required = true)]
    pub(crate) stdin: bool,
    /// Output format
    #[arg(long, short = 'o', value_name = "FORMAT", default_value = "json")]
    pub(crate) output: DecideFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecideFormat {
    /// For programs, a line each
    Json,
    /// For people: why a run did or did not happen
    Text,
}

/// Which slots to show.
#[derive(Debug, clap::Args)]
pub(crate) struct SlotRange {
    /// Show slots after this time: RFC 3339, or a civil time in the zone [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// How many slots to show
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
    /// For people
    Table,
    /// For programs
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
