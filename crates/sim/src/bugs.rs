//! The hunt for deliberate bugs, on the command line.

use std::process::ExitCode;

use punctual_bugs::Bug;
use punctual_sim::{Hunted, hunt};

/// What can be asked for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum What {
    /// The hunt.
    Bugs,
}

/// A bug by its name.
pub(crate) fn named(name: &str) -> Result<Bug, String> {
    let bug = Bug::ALL.iter().find(|bug| bug.name().eq_ignore_ascii_case(name));
    bug.copied().ok_or_else(|| "there is no such bug".to_owned())
}

/// Hunts for one bug or all, and says which got away: that is a failure.
pub(crate) fn find_all(only: Option<Bug>, seeds: u64, threads: usize) -> ExitCode {
    let bugs: Vec<Bug> =
        Bug::ALL.iter().copied().filter(|bug| only.is_none_or(|only| only == *bug)).collect();
    let mut at_large = 0;
    println!("| bug | what it does | seed | rule that found it |\n|---|---|---|---|");
    hunt(&bugs, seeds, threads, |Hunted { bug, found }| {
        let (name, sentence) = (bug.name(), bug.sentence());
        match found {
            Some((seed, violation)) => {
                println!("| {name} | {sentence} | {seed} | {} |", violation.rule);
            }
            None => {
                at_large += 1;
                println!("| {name} | {sentence} | none of {seeds} | **nothing** |");
            }
        }
    });
    println!("\n{} bugs, {at_large} not found", bugs.len());
    if at_large == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
