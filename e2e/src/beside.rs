//! A program beside a server, such as a controller.

use crate::process::Process;

/// A program that runs beside a server. Dropping it kills it.
#[derive(Debug)]
pub struct Beside(Process);

impl Beside {
    pub(crate) fn new(process: Process) -> Beside {
        Beside(process)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// An error with the end of its log if it has ended.
    pub fn must_run(&mut self) -> anyhow::Result<()> {
        self.0.must_run()
    }
}
