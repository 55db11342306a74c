//! The `punctual` program: parses the command line, runs one command and sets the exit status.
//!
//! Exit status: 0 for success, 1 for invalid input or a failed command, 2 for an invalid command line. `plan` exits with 1
//! if something changes and with 2 if it fails.

mod args;
mod authority_renewal;
mod backup;
mod certs;
mod check;
mod clock;
mod cluster_client;
mod cluster_config;
mod completions;
mod connection_error;
mod console;
mod controller;
mod crd;
mod cron_jobs;
mod dashboard;
mod dashboard_args;
mod data_dir;
mod decide;
mod descriptors;
mod explain;
mod import;
mod instance;
mod kubeconfig;
mod logging;
mod manifest;
mod next;
mod next_stdin;
mod oom;
mod output;
mod printer;
mod private_file;
mod program_name;
mod repair;
mod restore;
mod run;
mod salvage;
mod serve;
mod service_manager;
mod signals;
mod slots;
mod stdin_lines;
mod terminal;
mod transport;
mod tzdata;
mod up;
mod validate;
mod version;

use std::process::ExitCode;

use args::{CliArgs, Command};

/// The server allocates and frees many small values. DESIGN.md has the measurements.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let mut raw_args = std::env::args_os().skip(1);
    // `punctual up` starts the supervisors of its Pods with this internal command. It is handled
    // before anything else so that no other change can break it, and it is not in the help.
    if raw_args.next().is_some_and(|command| command == "supervise") {
        return punctual_runner::supervise(raw_args);
    }
    completions::answer_script();
    let args = program_name::parse_args();
    let failure = args.command.failure_status();
    match run(args) {
        Ok(status) => status,
        // The reader closed the pipe early, as `head` does. That is not a failure.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&format!("error: {error:#}"));
            ExitCode::from(failure)
        }
    }
}

fn run(args: CliArgs) -> anyhow::Result<ExitCode> {
    let zones = || tzdata::open(&args.global.tzdata);
    let zone = || tzdata::select_zone(&zones()?, args.global.time_zone.as_deref());
    let result = match &args.command {
        Command::Plan(plan) => return cron_jobs::plan(plan, &zone()?),
        Command::Up(up) => up::run(up, &zone()?),
        Command::Serve(serve) => serve::run(serve, zones()?),
        Command::Controller(controller) => controller::run(controller, &zone()?),
        Command::Run(run) => run::run(run, &zone()?),
        Command::Dashboard(dashboard) => dashboard::run(dashboard, &zone()?),
        Command::Repair(repair) => repair::run(repair),
        Command::Kubeconfig(kubeconfig) => kubeconfig::run(kubeconfig),
        Command::Certs(certs) => certs::run(certs),
        Command::Backup(backup) => backup::run(backup),
        Command::Restore(restore) => restore::run(restore),
        Command::Check(check) => check::run(check),
        Command::Salvage(salvage) => salvage::run(salvage),
        Command::Next(next) if next.stdin => next_stdin::run(next, &zone()?),
        Command::Next(next) => next::run(next, &zone()?),
        Command::Explain(explain) => explain::run(explain, &zone()?),
        Command::Validate(validate) => validate::run(validate, &zone()?),
        Command::Decide(decide) => decide::run(decide, &zone()?),
        Command::Import(import) => import::run(import, &zone()?, args.global.time_zone.is_some()),
        Command::Crd(crd) => crd::run(crd, &zones()?),
        Command::Version(version) => version::run(version, &zones()?),
        Command::Completions(completions) => completions::run(completions),
        Command::List(list) => cron_jobs::list(list, &zone()?),
        Command::Describe(describe) => cron_jobs::describe(describe, &zone()?),
        Command::Why(why) => cron_jobs::why(why, &zone()?),
        Command::History(history) => cron_jobs::history(history, &zone()?),
        Command::Logs(logs) => cron_jobs::logs(logs, &zone()?),
        Command::Trigger(trigger) => return cron_jobs::trigger(trigger, &zone()?),
        Command::Backfill(backfill) => return cron_jobs::backfill(backfill, &zone()?),
        Command::Suspend(suspend) => cron_jobs::suspend(suspend, &zone()?),
        Command::Resume(resume) => cron_jobs::resume(resume, &zone()?),
    };
    result.map(|()| ExitCode::SUCCESS)
}
