//! The real kubectl, as people use it, against both servers.

use std::process::ExitCode;

use punctual_e2e::suite::Suite;

fn main() -> ExitCode {
    Suite { name: "kubectl", files: "testdata", needs_python: false }.main()
}
