//! The main function of the test programs: arguments, counts and exit code.
//!
//! These programs print what they skipped and how much they did, which the usual harness would hide.

use std::process::ExitCode;

/// Arguments of a test program.
#[derive(Debug, Default)]
pub struct TestArgs {
    /// Write the actual results into the recorded files.
    pub bless: bool,
    /// Run only tests whose name contains this.
    pub filter: String,
    /// Run nothing. Tools pass `--list` to get the names of tests, and there are none.
    list: bool,
}

/// A named check of a test program.
pub type NamedCheck<T> = (&'static str, fn(&mut T) -> anyhow::Result<()>);

/// Counts checks and prints their results.
#[derive(Debug)]
pub struct TestReport {
    suite: &'static str,
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Runs a suite and returns the exit code of the test program.
///
/// `unit_checks` are the unit tests of the suite's own parsers; they panic on failure.
pub fn main(
    name: &'static str,
    unit_checks: &[fn()],
    run: impl FnOnce(&TestArgs, &mut TestReport) -> anyhow::Result<()>,
) -> ExitCode {
    let args = TestArgs::parse(std::env::args().skip(1));
    if args.list {
        return ExitCode::SUCCESS;
    }
    let mut report = TestReport::new(name);
    for check in unit_checks {
        check();
        report.pass();
    }
    if let Err(error) = run(&args, &mut report) {
        report.fail(name, &format!("{error:#}"));
    }
    report.finish()
}

impl TestArgs {
    /// Reads the arguments. Flags of the usual harness, such as `--nocapture`, have no effect.
    fn parse(args: impl Iterator<Item = String>) -> TestArgs {
        let mut parsed = TestArgs::default();
        for arg in args {
            match arg.as_str() {
                "--bless" => parsed.bless = true,
                "--list" => parsed.list = true,
                _ if arg.starts_with('-') => {}
                _ => parsed.filter = arg,
            }
        }
        parsed
    }
}

#[expect(clippy::print_stdout, reason = "a test program reports to its user")]
impl TestReport {
    fn new(suite: &'static str) -> Self {
        println!("\n{suite}");
        TestReport { suite, passed: 0, failed: 0, skipped: 0 }
    }

    /// Prints a summary of what was done.
    pub fn note(&self, text: &str) {
        println!("ok: {text}");
    }

    /// Counts a passed check.
    pub fn pass(&mut self) {
        self.passed += 1;
    }

    /// Counts and prints a failed check.
    pub fn fail(&mut self, location: &str, message: &str) {
        self.failed += 1;
        println!("failed: {location}\n{message}");
    }

    /// Counts the result of one check.
    pub fn record<T>(&mut self, name: &str, result: anyhow::Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                self.pass();
                Some(value)
            }
            Err(error) => {
                self.fail(name, &format!("{error:#}\n"));
                None
            }
        }
    }

    /// Counts all checks of a server that is missing on this machine.
    pub fn skip(&mut self, server: &str, checks: usize, reason: &anyhow::Error) {
        self.skipped += checks;
        println!("skipped: {checks} steps on {server}: {reason:#}");
    }

    /// The number of failed checks.
    pub fn failed(&self) -> usize {
        self.failed
    }

    fn finish(self) -> ExitCode {
        let TestReport { suite, passed, failed, skipped } = self;
        println!("{suite}: {passed} steps passed, {failed} failed, {skipped} skipped\n");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_found_among_flags_of_the_usual_harness() {
        let args = ["--nocapture", "apply", "--test-threads=1"].map(str::to_owned);
        let parsed = TestArgs::parse(args.into_iter());
        assert_eq!(parsed.filter, "apply");
        assert!(!parsed.bless);
    }
}
