//! Soak tests of `punctual up` and `punctual controller` with real processes. Each runs for many
//! minutes and fails if a guarantee of Punctual is broken. A slot is
//! a scheduled time.
//!
//! Build `punctual` first, then run for example:
//! `cargo build --release -p punctual-cli && cargo run --release -p punctual-soak -- kills`.

#![allow(clippy::print_stdout, reason = "a command line tool for developers")]

mod attack;
mod cluster;
mod instance;
mod kills;
mod objects;
mod processes;
mod runs;
mod timing;

use clap::Parser;

#[derive(Parser)]
#[command(about = "Soak tests with real processes", max_term_width = 100)]
enum SoakTest {
    /// Attack the API server of `punctual up`: slots must start on time
    Attack(attack::AttackArgs),
    /// Inject faults into two controllers of a Kubernetes cluster: no slot may run twice or be lost
    Cluster(cluster::ClusterArgs),
    /// Kill `punctual up` repeatedly: every slot must run exactly once
    Kills(kills::KillsArgs),
    /// Run many Jobs: memory, files and objects must not grow with their number
    Runs(runs::RunsArgs),
}

fn main() -> anyhow::Result<()> {
    match SoakTest::parse() {
        SoakTest::Attack(args) => attack::run(&args),
        SoakTest::Cluster(args) => cluster::run(&args),
        SoakTest::Kills(args) => kills::run(&args),
        SoakTest::Runs(args) => runs::run(&args),
    }
}
