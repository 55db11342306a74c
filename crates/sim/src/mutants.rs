//! `punctual-sim mutants`: whether the checker finds every deliberate bug.

use std::process::ExitCode;

use punctual_mutations::{APPLIED, catalogue};
use punctual_sim::{MutationResult, test_mutations};

/// The subcommands.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Subcommand {
    /// Tests whether the checker finds the deliberate bugs.
    Mutants,
}

/// The index of the bug with this name.
pub(crate) fn index_of(name: &str) -> Result<usize, UnknownMutation> {
    let index = catalogue().iter().position(|mutation| mutation.name == name);
    index.ok_or(UnknownMutation)
}

/// A name that is not in the catalogue.
#[derive(Debug)]
pub(crate) struct UnknownMutation;

impl std::error::Error for UnknownMutation {}

impl std::fmt::Display for UnknownMutation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not in crates/mutations/catalogue")
    }
}

/// Tests one bug or all of them, and fails if one is not found.
pub(crate) fn run(only: Option<usize>, seeds: u64, threads: usize) -> ExitCode {
    if !APPLIED {
        println!("this build contains no deliberate bugs: run `xtask mutate` and build its copy");
        return ExitCode::FAILURE;
    }
    let all = || (0..catalogue().len()).collect();
    let indices: Vec<usize> = only.map_or_else(all, |index| vec![index]);
    let mut not_found = 0;
    println!("| bug | what goes wrong | seed | rule that found it |\n|---|---|---|---|");
    test_mutations(&indices, seeds, threads, |MutationResult { mutation, found }| {
        let name = &mutation.name;
        let summary = &mutation.summary;
        match found {
            Some((seed, violation)) => {
                println!("| {name} | {summary} | {seed} | {} |", violation.rule);
            }
            None => {
                not_found += 1;
                println!("| {name} | {summary} | none of {seeds} | **nothing** |");
            }
        }
    });
    println!("\n{} bugs, {not_found} not found", indices.len());
    if not_found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
