//! The command line of `punctual import` and its help text.

use std::path::PathBuf;

use clap::ValueEnum;
use punctual_import::CrontabFormat;

use crate::run::args::KindChoice;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints manifests and applies nothing. The source line is a comment before each manifest. A warning
on standard error tells each difference in meaning, and each line that cannot be imported.

crontab: files, directories such as /etc/cron.d, and directories of scripts such as /etc/cron.daily.
systemd: timers with their services, directories of them, or the output of `systemctl cat`. The
service of a timer is also looked for beside it.
kubernetes: what `kubectl get -o yaml` or `-o json` prints.

Examples:
  crontab -l | punctual import crontab --user \"$USER\" - > jobs.yaml
  punctual import crontab /etc/crontab /etc/cron.d --strict
  systemctl cat backup.timer backup.service | punctual import systemd -
  kubectl get cronjobs -A -o yaml | punctual import kubernetes --kind ScheduledJob -")]
pub(crate) struct ImportArgs {
    /// What the files are
    #[arg(value_name = "SOURCE")]
    pub(crate) source: ImportSource,
    /// Files and directories to import, or - for standard input
    #[arg(value_name = "FILE or DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Kind of the objects
    #[arg(long, value_name = "KIND", default_value = "CronJob")]
    pub(crate) kind: KindChoice,
    /// Namespace of the objects
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Container image; `punctual up` needs none, other clusters do
    #[arg(long, value_name = "IMAGE", default_value = "none")]
    pub(crate) image: String,
    /// Format of the crontabs
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: FormatChoice,
    /// Owner of the crontabs, if they are those of a user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the users of the machine that ran the commands [default: /etc/passwd]
    #[arg(long, value_name = "FILE")]
    pub(crate) passwd: Option<PathBuf>,
    /// Print no manifests and fail if there is any warning
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportSource {
    /// Crontabs
    Crontab,
    /// systemd timers and services
    Systemd,
    /// Dumped Kubernetes objects
    Kubernetes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatChoice {
    /// By the path: /etc/crontab and cron.d are of the system, others of a user
    Auto,
    /// Five fields and a command
    User,
    /// Five fields, a user and a command
    System,
    /// A period, a delay, a name and a command
    Anacron,
}

impl FormatChoice {
    /// Returns the chosen format. `None` means that the path decides.
    pub(crate) fn format(self) -> Option<CrontabFormat> {
        match self {
            FormatChoice::Auto => None,
            FormatChoice::User => Some(CrontabFormat::User),
            FormatChoice::System => Some(CrontabFormat::System),
            FormatChoice::Anacron => Some(CrontabFormat::Anacron),
        }
    }
}
