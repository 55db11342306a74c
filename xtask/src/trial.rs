//! Long trials of `punctual up` and `punctual controller` as people run them, with real processes. Each
//! says at the end whether it held, and its exit status does too.
//!
//! Build the program first: `cargo build --release -p punctual-cli`.

mod cluster;
mod kills;
mod processes;
mod runs;
mod site;

use clap::Subcommand;

/// What is tried.
#[derive(Subcommand)]
pub(crate) enum Trial {
    /// Hurt two controllers on a cluster of Kubernetes' own: no slot twice, none lost within its deadline
    Cluster(cluster::Args),
    /// Kill it again and again: every slot must be run exactly once
    Kills(kills::Args),
    /// Let it run many Jobs: nothing may grow with them
    Runs(runs::Args),
}

pub(crate) fn run(trial: &Trial) -> anyhow::Result<()> {
    match trial {
        Trial::Cluster(args) => cluster::run(args),
        Trial::Kills(args) => kills::run(args),
        Trial::Runs(args) => runs::run(args),
    }
}
