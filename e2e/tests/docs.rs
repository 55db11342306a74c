//! The commands of the documentation, run as people would, and the names that it must not leave out.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::docs::main()
}
