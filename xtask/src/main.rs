//! Developer tasks: `cargo run -p xtask -- tidy`, `cargo run --release -p xtask -- fuzz`,
//! `cargo run --release -p xtask -- bench server`.
//!
//! The tidy checks are also tests of this crate, so `cargo test --workspace` runs them.

#![allow(clippy::print_stdout, reason = "a command line tool for developers")]

mod bench;
mod fuzz;
mod fuzz_server;
mod mutate;
mod tidy;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Source checks, fuzzers and benchmarks", max_term_width = 100)]
enum XtaskCommand {
    /// Check the sources: language, names, sizes, crate edges, purity
    Tidy(tidy::TidyArgs),
    /// Fuzz the schedule library with random texts and times; fail on panics and slow calls
    Fuzz(fuzz::FuzzArgs),
    /// Benchmark a program under load, compared with its peers
    #[command(subcommand)]
    Bench(bench::Benchmark),
    /// Fuzz the server in process with random requests; fail on panics, internal errors and growing memory
    FuzzServer(fuzz_server::FuzzServerArgs),
    /// Apply every deliberate bug to a copy of the workspace, for `punctual-sim mutants`
    Mutate,
}

fn main() -> anyhow::Result<()> {
    match XtaskCommand::parse() {
        XtaskCommand::Tidy(args) => tidy::run(&args),
        XtaskCommand::Fuzz(args) => fuzz::run(&args),
        XtaskCommand::Bench(benchmark) => bench::run(&benchmark),
        XtaskCommand::FuzzServer(args) => fuzz_server::run(&args),
        XtaskCommand::Mutate => mutate::run(),
    }
}
