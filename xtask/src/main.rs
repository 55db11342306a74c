//! What the project does to itself: `cargo run -p xtask -- tidy`, `cargo run --release -p xtask -- fuzz`,
//! `cargo run --release -p xtask -- bench server`, `cargo run --release -p xtask -- trial kills`.
//!
//! The tidy checks are also the tests of this crate, so `cargo test --workspace` runs them.

#![allow(clippy::print_stdout, reason = "a tool for the people who build the project")]

mod bench;
#[path = "../../crates/schedule/tests/oracle/dice.rs"]
mod dice;
mod fuzz;
mod fuzz_server;
mod mutate;
mod tidy;
mod trial;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Tidy checks and load drivers", max_term_width = 100)]
enum Task {
    /// Check the sources: language, names, sizes, crate edges, purity
    Tidy(tidy::TidyArgs),
    /// Give the schedule library random texts and instants; look for panics and slow answers
    Fuzz(fuzz::Args),
    /// Measure a program under load, beside its peers
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Try for many minutes whether the program keeps its promises
    #[command(subcommand)]
    Trial(trial::Trial),
    /// Give the server random requests, in process; look for panics, failures and growing memory
    FuzzServer(fuzz_server::Args),
    /// Apply every deliberate bug to a copy of the workspace, for `punctual-sim mutants`
    Mutate,
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Tidy(args) => tidy::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Bench(bench) => bench::run(&bench),
        Task::Trial(trial) => trial::run(&trial),
        Task::FuzzServer(args) => fuzz_server::run(&args),
        Task::Mutate => mutate::run(),
    }
}
