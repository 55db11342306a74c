//! The official Python client against both servers.

use std::process::ExitCode;

use punctual_e2e::suite::Suite;

fn main() -> ExitCode {
    Suite { name: "python", files: "python", needs_python: true }.main()
}
