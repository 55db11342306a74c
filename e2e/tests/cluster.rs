//! A cluster of Kubernetes' own programs, as other tests are given it.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::jobs::main()
}
