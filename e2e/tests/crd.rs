//! Compares the CustomResourceDefinition with `punctual validate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::crd_parity::main()
}
