//! kubectl against both servers.

use std::process::ExitCode;

use punctual_e2e::transcript_suite::TranscriptSuite;

fn main() -> ExitCode {
    TranscriptSuite { name: "kubectl", files: "testdata", needs_python: false }.main()
}
