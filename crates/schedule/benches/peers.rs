//! Benchmarks this library and other cron libraries: `cargo bench -p punctual-schedule`.
//!
//! This program builds and runs `bench/schedule-peers`, a crate outside the workspace, so that the
//! other libraries are not dependencies of the workspace. It prints the tables as Markdown.

use std::{
    env, io,
    path::Path,
    process::{Command, ExitCode},
};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/schedule-peers/Cargo.toml");

fn main() -> io::Result<ExitCode> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    // `cargo test --all-targets` runs benchmarks without `--bench`; skip the work there.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(ExitCode::SUCCESS);
    }
    if !Path::new(PEERS).exists() {
        return Err(io::Error::other("run this benchmark in the project's repository"));
    }
    arguments.retain(|argument| argument != "--bench");
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--release", "--manifest-path", PEERS, "--"])
        .args(arguments)
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
