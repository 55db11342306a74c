//! Checks of the test cluster of Kubernetes' own programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::cluster_smoke::main()
}
