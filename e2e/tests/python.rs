//! The official Python client against both servers.

use std::process::ExitCode;

use punctual_e2e::transcript_suite::TranscriptSuite;

fn main() -> ExitCode {
    TranscriptSuite { name: "python", files: "python", needs_python: true }.main()
}
