//! `cargo bench -p punctual-schedule`: this library beside other cron libraries.
//!
//! The others live in a crate outside the workspace, so that nothing but this benchmark ever
//! compiles them. It is built and run from here; `-- --markdown` makes its tables Markdown.

use std::{
    env, io,
    path::Path,
    process::{Command, ExitCode},
};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/schedule-peers/Cargo.toml");

fn main() -> io::Result<ExitCode> {
    let (bench, arguments): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|argument| argument == "--bench");
    // `cargo test --all-targets` runs benchmarks too, and does not mean it.
    if bench.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if !Path::new(PEERS).exists() {
        return Err(io::Error::other("the other libraries are only in this project's repository"));
    }
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--release", "--manifest-path", PEERS, "--"])
        .args(arguments)
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
