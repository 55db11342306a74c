//! What was done, for people.

use std::process::ExitCode;

/// Counts steps and prints what happens to them.
pub(crate) struct Tally {
    suite: &'static str,
    passed: usize,
    failed: usize,
    skipped: usize,
}

#[expect(clippy::print_stdout, reason = "a test program tells people what it did")]
impl Tally {
    pub(crate) fn new(suite: &'static str) -> Self {
        println!("\n{suite}");
        Tally { suite, passed: 0, failed: 0, skipped: 0 }
    }

    pub(crate) fn note(&self, text: &str) {
        println!("ok: {text}");
    }

    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    pub(crate) fn fail(&mut self, place: &str, fault: &str) {
        self.failed += 1;
        println!("failed: {place}\n{fault}");
    }

    /// All steps on a server that cannot be had.
    pub(crate) fn skip(&mut self, server: &str, steps: usize, reason: &anyhow::Error) {
        self.skipped += steps;
        println!("skipped: {steps} steps on {server}: {reason:#}");
    }

    pub(crate) fn failed(&self) -> usize {
        self.failed
    }

    pub(crate) fn finish(self) -> ExitCode {
        let Tally { suite, passed, failed, skipped } = self;
        println!("{suite}: {passed} steps passed, {failed} failed, {skipped} skipped\n");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
