//! What the project does to itself: `cargo run -p xtask -- tidy`, `cargo run --release -p xtask -- fuzz`,
//! `cargo run --release -p xtask -- bench server`, `cargo run --release -p xtask -- trial kills`.
//!
//! The tidy checks are also the tests of this crate, so `cargo test --workspace` runs them.

#![allow(clippy::print_stdout, reason = "a tool for the people who build the project")]

mod bench;
#[path = "../../crates/schedule/tests/oracle/dice.rs"]
mod dice;
mod edges;
mod fuzz;
mod fuzz_server;
mod mutate;
mod names;
mod purity;
mod sizes;
mod sources;
mod trial;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Tidy checks and load drivers", max_term_width = 100)]
enum Task {
    /// Check crate edges, purity and file names; report the sizes of functions and files
    Tidy,
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
        Task::Tidy => tidy(),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Bench(bench) => bench::run(&bench),
        Task::Trial(trial) => trial::run(&trial),
        Task::FuzzServer(args) => fuzz_server::run(&args),
        Task::Mutate => mutate::run(),
    }
}

fn tidy() -> anyhow::Result<()> {
    let sources = sources::read()?;
    print!("{}", sizes::report(&sources));
    let mut faults = edges::faults(&edges::read()?);
    faults.extend(purity::faults(&sources));
    faults.extend(names::faults(&sources));
    for fault in &faults {
        println!("{fault}");
    }
    anyhow::ensure!(faults.is_empty(), "{} faults", faults.len());
    println!("tidy");
    Ok(())
}
