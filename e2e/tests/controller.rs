//! The controller on a cluster of Kubernetes' own programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::controller::main()
}
