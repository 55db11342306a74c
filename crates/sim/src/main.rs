//! `punctual-sim`: lives through worlds, and says what went wrong in which.

#![allow(clippy::print_stdout, reason = "this program talks to whoever runs it")]

mod mutants;

use std::process::ExitCode;

use clap::Parser;
use punctual_sim::check::{Verdict, Violation};
use punctual_sim::{
    Campaign, Play, attempt, campaign, catch_panics, digest, draw, shrink, timeline,
};

/// As in `punctual` itself.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Lives through simulated worlds and checks what happened in them.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only the world of this seed, with its timeline.
    #[arg(long)]
    seed: Option<u64>,
    /// A world of its own instead of one that is drawn; the seed decides the rest.
    #[arg(long)]
    play: Option<Play>,
    /// How many worlds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// How many worlds at a time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Faulty worlds are told as they are, not cut down first.
    #[arg(long)]
    whole: bool,
    /// Tests whether the checker finds the deliberate bugs, each in as many simulations as there are seeds.
    subcommand: Option<mutants::Subcommand>,
    /// Turns on this deliberate bug; also for the simulation of a seed.
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
    match (arguments.play, arguments.seed) {
        (Some(play), seed) => perform(play, seed.unwrap_or_default()),
        (None, Some(seed)) => replay(seed, arguments.whole),
        (None, None) => explore(&arguments),
    }
}

fn perform(play: Play, seed: u64) -> ExitCode {
    let scenario = play.scenario(seed);
    let trial = attempt(&scenario);
    let Verdict { violations, runs, unrun, lives, .. } = &trial.verdict;
    println!(
        "{play:?}: {lives} CronJobs, {} virtual hours, {} troubles: {} slots, {runs} runs, {} writes, \
         {} violations",
        scenario.end() / 3_600_000,
        scenario.troubles.len(),
        runs + unrun,
        trial.writes(),
        violations.len()
    );
    violations.iter().take(20).for_each(|violation| tell(seed, violation));
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn explore(arguments: &Arguments) -> ExitCode {
    let seeds = arguments.first..arguments.first.saturating_add(arguments.seeds);
    let found = campaign(seeds, arguments.threads, |worlds| println!("{worlds} worlds"));
    let Campaign { worlds, millis, slots, runs, writes, troubles, faulty } = &found;
    println!(
        "{worlds} worlds, {} virtual hours, {troubles} troubles: {slots} slots, {runs} runs, \
         {writes} writes, {} faulty",
        millis / 3_600_000,
        faulty.len()
    );
    for (seed, violations) in faulty {
        violations.iter().take(3).for_each(|violation| tell(*seed, violation));
    }
    match faulty.first() {
        None => ExitCode::SUCCESS,
        Some((seed, _)) => replay(*seed, arguments.whole),
    }
}

fn tell(seed: u64, Violation { at, rule, text }: &Violation) {
    println!("seed {seed}: {rule} at {}.{:03}: {text}", at / 1000, at % 1000);
}

/// Lives through one world, cut down if something goes wrong in it, and tells what happened.
fn replay(seed: u64, is_whole: bool) -> ExitCode {
    let scenario = draw(seed);
    let trial = attempt(&scenario);
    let rules: Vec<&str> = trial.verdict.violations.iter().map(|found| found.rule).collect();
    if rules.is_empty() {
        println!("{}", timeline(&scenario, &trial.history));
        println!(
            "seed {seed}: nothing wrong; the history's digest is {:x}",
            digest(&trial.history)
        );
        return ExitCode::SUCCESS;
    }
    let is_faulty = |scenario: &_| {
        attempt(scenario).verdict.violations.iter().any(|found| Some(&found.rule) == rules.first())
    };
    let scenario = if is_whole { scenario } else { shrink(&scenario, is_faulty) };
    let trial = attempt(&scenario);
    println!("{scenario:#?}");
    println!("{}", timeline(&scenario, &trial.history));
    trial.verdict.violations.iter().for_each(|violation| tell(seed, violation));
    ExitCode::FAILURE
}
