//! Checks of the repository's own sources: `cargo run -p xtask -- tidy`.
//!
//! Each file of checks has one `check` function that returns findings. A finding names a file, a
//! line, the fault and the remedy. The same checks run as a test, so `cargo test` fails on them too.

mod banned_words;
mod crate_edges;
mod file_names;
mod forbidden_code;
mod line_saving_idioms;
mod report;
mod rust_source;
mod sizes;
mod source;
mod string_errors;
mod type_names;

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use self::source::{SourceFile, TidyFinding};

/// Options of `xtask tidy`.
#[derive(ClapArgs)]
pub(crate) struct TidyArgs {
    /// Print a table of sizes and findings by crate, and fail on nothing
    #[arg(long)]
    report: bool,
    /// Repository to check; this one by default
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Runs all checks on the repository, or prints the report.
pub(crate) fn run(args: &TidyArgs) -> anyhow::Result<()> {
    let root = args.root.clone().unwrap_or_else(repository_root);
    let files = source::read_all(&root)?;
    if args.report {
        print!("{}", report::render(&files));
        return Ok(());
    }
    let findings = check_all(&root, &files)?;
    for finding in &findings {
        println!("{finding}");
    }
    anyhow::ensure!(findings.is_empty(), "{} findings", findings.len());
    println!("tidy: no findings");
    Ok(())
}

/// The root folder of this repository.
pub(crate) fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

fn check_all(root: &Path, files: &[SourceFile]) -> anyhow::Result<Vec<TidyFinding>> {
    let mut findings = crate_edges::check(&crate_edges::read_metadata(root)?);
    findings.extend(check_sources(files));
    Ok(findings)
}

fn check_sources(files: &[SourceFile]) -> Vec<TidyFinding> {
    let checks = [
        file_names::check,
        forbidden_code::check,
        sizes::check,
        string_errors::check,
        line_saving_idioms::check,
        type_names::check,
        banned_words::check,
    ];
    checks.iter().flat_map(|check| check(files)).collect()
}

#[cfg(test)]
mod tests;
