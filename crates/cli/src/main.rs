//! The `punctual` program: arguments in, one command run, an exit status out.
//!
//! Exit status: 0 done, 1 the input was wrong or the work failed, 2 the command line was wrong.

mod args;
mod clock;
mod completions;
mod controller;
mod crd;
mod data_dir;
mod decide;
mod explain;
mod instance;
mod kubeconfig;
mod logging;
mod manifest;
mod next;
mod next_stdin;
mod output;
mod serve;
mod signals;
mod slots;
mod stdin_lines;
mod tzdata;
mod up;
mod validate;
mod version;

use std::process::ExitCode;

use clap::Parser;

use args::{CliArgs, Command};

/// Making and dropping small values is much of a server's work; see ARCHITECTURE.md for what was measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    // How `punctual up` starts the processes that look after its Pods. Nobody types it, so it is in
    // no help; and since it must work whatever else changes, nothing is done before it.
    if words.next().is_some_and(|word| word == "supervise") {
        return punctual_runner::supervise(words);
    }
    match run(CliArgs::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough; that is no failure of ours.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: CliArgs) -> anyhow::Result<()> {
    let zones = || tzdata::choose(&args.global.tzdata);
    let zone = || tzdata::zone(&zones()?, args.global.time_zone.as_deref());
    match &args.command {
        Command::Up(up) => up::run(up, &zone()?),
        Command::Serve(serve) => serve::run(serve, zones()?),
        Command::Controller(asked) => controller::run(asked, &zone()?),
        Command::Kubeconfig(asked) => kubeconfig::run(asked),
        Command::Next(next) if next.stdin => next_stdin::run(next, &zone()?),
        Command::Next(next) => next::run(next, &zone()?),
        Command::Explain(explain) => explain::run(explain, &zone()?),
        Command::Validate(validate) => validate::run(validate, &zone()?),
        Command::Decide(decide) => decide::run(decide, &zone()?),
        Command::Crd => crd::run(),
        Command::Version(version) => version::run(version, &zones()?),
        Command::Completions(completions) => completions::run(completions),
    }
}
