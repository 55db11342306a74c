//! Runs the commands of the documentation and checks that it is complete.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::docs::main()
}
