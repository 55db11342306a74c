//! `punctual-sim`: runs simulations and reports violations.

#![allow(clippy::print_stdout, reason = "a program that prints its results")]

mod mutants;

use std::process::ExitCode;

use clap::Parser;
use punctual_sim::{
    BatchResult, Preset, catch_panics, digest, generate, run_batch, run_scenario, shrink, timeline,
};
use punctual_testing::check::{CheckReport, Violation};

/// Runs simulations and checks what happened in them.
#[derive(Debug, Parser)]
struct Arguments {
    /// Run only the simulation of this seed and print its timeline.
    #[arg(long)]
    seed: Option<u64>,
    /// Run a preset instead of a generated scenario; the seed determines the details.
    #[arg(long)]
    preset: Option<Preset>,
    /// The number of simulations.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// The number of simulations at a time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print a failed simulation as it is, without shrinking it first.
    #[arg(long)]
    no_shrink: bool,
    /// Test whether the checker finds the deliberate bugs, each in as many simulations as there are
    /// seeds.
    subcommand: Option<mutants::Subcommand>,
    /// Turn on this deliberate bug, including for the simulation of a seed.
    #[arg(long, value_name = "NAME", value_parser = mutants::index_of)]
    mutation: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    catch_panics();
    if let Some(mutants::Subcommand::Mutants) = arguments.subcommand {
        return mutants::run(arguments.mutation, arguments.seeds, arguments.threads);
    }
    punctual_mutations::arm(arguments.mutation);
    match (arguments.preset, arguments.seed) {
        (Some(preset), seed) => run_preset(preset, seed.unwrap_or_default()),
        (None, Some(seed)) => run_seed(seed, arguments.no_shrink),
        (None, None) => run_seeds(&arguments),
    }
}

fn run_preset(preset: Preset, seed: u64) -> ExitCode {
    let scenario = preset.scenario(seed);
    let run = run_scenario(&scenario);
    let CheckReport { violations, runs, not_run, cron_jobs, .. } = &run.report;
    println!(
        "{preset:?}: {cron_jobs} CronJobs, {} virtual hours, {} faults: {} slots, {runs} runs, \
         {} writes, {} violations",
        scenario.end() / 3_600_000,
        scenario.faults.len(),
        runs + not_run,
        run.writes(),
        violations.len()
    );
    for violation in violations.iter().take(20) {
        print_violation(seed, violation);
    }
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_seeds(arguments: &Arguments) -> ExitCode {
    let seeds = arguments.first..arguments.first.saturating_add(arguments.seeds);
    let result = run_batch(seeds, arguments.threads, |count| println!("{count} simulations"));
    let BatchResult { simulations, millis, slots, runs, slot_records, writes, faults, failed } =
        &result;
    println!(
        "{simulations} simulations, {} virtual hours, {faults} faults: {slots} slots, {runs} runs, \
         {slot_records} slot records, {writes} writes, {} failed",
        millis / 3_600_000,
        failed.len()
    );
    for (seed, violations) in failed {
        for violation in violations.iter().take(3) {
            print_violation(*seed, violation);
        }
    }
    match failed.first() {
        None => ExitCode::SUCCESS,
        Some((seed, _)) => run_seed(*seed, arguments.no_shrink),
    }
}

fn print_violation(seed: u64, violation: &Violation) {
    let Violation { at, rule, text } = violation;
    println!("seed {seed}: {rule} at {}.{:03}: {text}", at / 1000, at % 1000);
}

/// Runs one simulation and prints its timeline. Shrinks it first if it has a violation.
fn run_seed(seed: u64, is_shrinking_off: bool) -> ExitCode {
    let scenario = generate(seed);
    let run = run_scenario(&scenario);
    let Some(rule) = run.report.violations.first().map(|found| found.rule) else {
        println!("{}", timeline(&scenario, &run.history));
        println!(
            "seed {seed}: no violations; the digest of the history is {:x}",
            digest(&run.history)
        );
        return ExitCode::SUCCESS;
    };
    let has_violation = |scenario: &_| {
        run_scenario(scenario).report.violations.iter().any(|found| found.rule == rule)
    };
    let scenario = if is_shrinking_off { scenario } else { shrink(&scenario, has_violation) };
    let run = run_scenario(&scenario);
    println!("{scenario:#?}");
    println!("{}", timeline(&scenario, &run.history));
    for violation in &run.report.violations {
        print_violation(seed, violation);
    }
    ExitCode::FAILURE
}
