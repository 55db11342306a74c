//! The CustomResourceDefinition and `punctual validate`, asked about the same manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    punctual_e2e::agreement::main()
}
