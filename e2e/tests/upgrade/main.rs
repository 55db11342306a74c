//! Upgrade, downgrade and upgrade again: CronJobs that move between kube-controller-manager and
//! `punctual controller`, and data directories that other versions of `punctual up` wrote.
//!
//! `--bless` records a data directory with the program of this build.

mod controller_moves;
mod data_directory;
mod job_observer;
mod moved_cron_jobs;
mod newer_fields;
mod previous_version;
mod recorded_data;

use std::{process::ExitCode, thread};

use anyhow::anyhow;
use punctual_e2e::{
    Programs, Punctual,
    harness::{self, TestArgs, TestReport},
};

/// A check of `punctual up`.
type UpCheck = fn(&Punctual) -> anyhow::Result<()>;

const UP_CHECKS: [(&str, UpCheck); 3] = [
    ("objects of an earlier version are read unchanged", data_directory::objects_are_unchanged),
    ("CronJobs of an earlier version continue", data_directory::cron_jobs_continue),
    ("fields of a newer version survive", newer_fields::survive),
];

/// Runs all checks and returns the exit code of the test program.
fn main() -> ExitCode {
    harness::main("upgrade", &[], run)
}

fn run(args: &TestArgs, report: &mut TestReport) -> anyhow::Result<()> {
    let punctual = match Punctual::find() {
        Ok(punctual) => punctual,
        Err(error) => {
            let checks = UP_CHECKS.len() + 1 + controller_moves::SCENARIOS.len();
            report.skip("punctual", checks, &error);
            return Ok(());
        }
    };
    if args.bless {
        let path = recorded_data::record(&punctual)?;
        report.note(&format!("recorded {}", path.display()));
        return Ok(());
    }
    // The moves take minutes and mostly wait, so the other checks run at the same time.
    thread::scope(|scope| {
        let moves = scope.spawn(|| run_moves(args, &punctual));
        run_up_checks(args, &punctual, report);
        match moves.join().unwrap_or_else(|_| Err(anyhow!("the moves panicked"))) {
            Ok(results) => {
                for (name, result) in results {
                    report.record(name, result);
                }
            }
            Err(error) => report.skip("kube-apiserver", controller_moves::SCENARIOS.len(), &error),
        }
    });
    Ok(())
}

fn run_up_checks(args: &TestArgs, punctual: &Punctual, report: &mut TestReport) {
    for (name, check) in UP_CHECKS.into_iter().filter(|(name, _)| name.contains(&args.filter)) {
        report.record(name, check(punctual));
    }
    let name = "each slot runs once by either version";
    if name.contains(&args.filter) {
        match Punctual::previous() {
            Ok(previous) => {
                let runs = report.record(name, previous_version::check(punctual, &previous));
                if let Some(runs) = runs {
                    report.note(&format!(
                        "{name}: {runs} runs, with {}",
                        previous.binary().display()
                    ));
                }
            }
            Err(error) => report.skip("an earlier punctual", 1, &error),
        }
    }
}

type MoveResults = Vec<(&'static str, anyhow::Result<()>)>;

/// Runs all scenarios at the same time. Returns an error if a program of Kubernetes is missing.
fn run_moves(args: &TestArgs, punctual: &Punctual) -> anyhow::Result<MoveResults> {
    let programs = Programs::find();
    controller_moves::check_programs(&programs)?;
    let wanted =
        controller_moves::SCENARIOS.iter().filter(|scenario| scenario.name.contains(&args.filter));
    let results = thread::scope(|scope| {
        let running: Vec<_> = wanted
            .map(|scenario| (scenario.name, scope.spawn(|| scenario.run(&programs, punctual))))
            .collect();
        let ended = running.into_iter().map(|(name, thread)| {
            (name, thread.join().unwrap_or_else(|_| Err(anyhow!("the scenario panicked"))))
        });
        ended.collect()
    });
    Ok(results)
}
