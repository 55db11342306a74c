//! The supervisor as a program of its own: what `punctual supervise` is, without the rest.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The first argument is the name of the command, as in the large program.
    punctual_runner::supervise(std::env::args_os().skip(2))
}
