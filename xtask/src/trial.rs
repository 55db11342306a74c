//! Long trials of `punctual up` as people run it, with real processes. Each says at the end whether it
//! held, and its exit status does too.
//!
//! Build the program first: `cargo build --release -p punctual-cli`.

mod kills;
mod processes;
mod runs;
mod site;

use clap::Subcommand;

/// What is tried.
#[derive(Subcommand)]
pub(crate) enum Trial {
    /// Kill it again and again: every slot must be run exactly once
    Kills(kills::Args),
    /// Let it run many Jobs: nothing may grow with them
    Runs(runs::Args),
}

pub(crate) fn run(trial: &Trial) -> anyhow::Result<()> {
    match trial {
        Trial::Kills(args) => kills::run(args),
        Trial::Runs(args) => runs::run(args),
    }
}
