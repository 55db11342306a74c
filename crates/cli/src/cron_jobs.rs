//! The commands that show, run, suspend and resume the CronJobs of a cluster, or of `punctual up`.
//!
//! `session` connects and reads, `punctual-views` computes what to show, and each command prints it.

mod args;
mod backfill;
mod columns;
mod describe;
mod duration_arg;
mod fleet;
mod history;
mod list;
mod live_actions;
mod logs;
mod name_completion;
mod output_format;
mod patch;
mod plain_job;
mod plan;
mod progress;
mod records;
mod resume;
mod run_args;
mod run_requests;
mod session;
mod suspend;
mod target;
mod trigger;
mod watch;
mod why;

use std::process::ExitCode;

use punctual_schedule::Zone;

pub(crate) use self::args::{
    DescribeArgs, HistoryArgs, ListArgs, LogsArgs, PlanArgs, ResumeArgs, SuspendArgs, WhyArgs,
};

pub(crate) use self::live_actions::{CronJobName, LiveActions};
pub(crate) use self::run_args::{BackfillArgs, TriggerArgs};

/// Runs a command that sends requests, on this thread.
fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(command)
}

pub(crate) fn list(args: &ListArgs, zone: &Zone) -> anyhow::Result<()> {
    block_on(list::run(args, zone))
}

pub(crate) fn describe(args: &DescribeArgs, zone: &Zone) -> anyhow::Result<()> {
    block_on(describe::run(args, zone))
}

pub(crate) fn why(args: &WhyArgs, zone: &Zone) -> anyhow::Result<()> {
    block_on(why::run(args, zone))
}

pub(crate) fn history(args: &HistoryArgs, zone: &Zone) -> anyhow::Result<()> {
    block_on(history::run(args, zone))
}

pub(crate) fn logs(args: &LogsArgs, zone: &Zone) -> anyhow::Result<()> {
    block_on(logs::run(args, zone))
}

/// Runs `trigger`, whose exit status can be that of the run.
pub(crate) fn trigger(args: &TriggerArgs, zone: &Zone) -> anyhow::Result<ExitCode> {
    block_on(trigger::run(args, zone))
}

/// Runs `backfill`, whose exit status can be that of the runs.
pub(crate) fn backfill(args: &BackfillArgs, zone: &Zone) -> anyhow::Result<ExitCode> {
    block_on(backfill::run(args, zone))
}

pub(crate) fn suspend(args: &SuspendArgs, zone: &Zone) -> anyhow::Result<()> {
    block_on(suspend::run(args, zone))
}

pub(crate) fn resume(args: &ResumeArgs, zone: &Zone) -> anyhow::Result<()> {
    block_on(resume::run(args, zone))
}

/// Runs `plan`, whose exit status 1 means that something changes, and 2 that it failed.
pub(crate) fn plan(args: &PlanArgs, zone: &Zone) -> anyhow::Result<ExitCode> {
    block_on(plan::run(args, zone))
}
