//! Applies all deliberate bugs to one copy of the workspace. Each is inactive until
//! `punctual-sim mutants` turns it on.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use punctual_mutations::catalogue;

use crate::tidy::repository_root;

/// The folder of the copy, relative to the root.
const COPY: &str = "target/mutants";

/// Copies the workspace's files, edits them, and prints the path of the copy.
pub(crate) fn run() -> anyhow::Result<()> {
    let copy = repository_root().join(COPY);
    copy_workspace(&copy)?;
    let mut crates = BTreeSet::new();
    for (index, mutation) in catalogue().iter().enumerate() {
        for edit in &mutation.edits {
            let path = copy.join(&edit.file);
            let edited = edit.apply(&read(&path)?, index)?;
            write(&path, &edited)?;
            let crate_dir = edit.file.split("/src/").next().unwrap_or_default();
            crates.insert(crate_dir.to_owned());
        }
    }
    for folder in crates {
        add_dependency(&copy.join(folder).join("Cargo.toml"))?;
    }
    mark_applied(&copy.join("crates/mutations/src/lib.rs"))?;
    println!("{} bugs applied to {}", catalogue().len(), copy.display());
    Ok(())
}

/// Copies the files that git tracks or would track, without build products. Each copy gets the modification
/// time of its original, so that cargo compiles only what changed.
fn copy_workspace(copy: &Path) -> anyhow::Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy).with_context(|| format!("cannot remove {}", copy.display()))?;
    }
    for file in tracked_files()? {
        let from = repository_root().join(&file);
        let to = copy.join(&file);
        if !from.exists() {
            continue;
        }
        let folder = to.parent().context("a file has a parent folder")?;
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        let modified = fs::metadata(&from)?.modified()?;
        fs::File::options().write(true).open(&to)?.set_modified(modified)?;
    }
    Ok(())
}

fn tracked_files() -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(repository_root())
        .output()
        .context("cannot run git")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(names.lines().map(PathBuf::from).collect())
}

fn add_dependency(manifest: &Path) -> anyhow::Result<()> {
    let text = read(manifest)?;
    let line = "[dependencies]\n";
    anyhow::ensure!(text.contains(line), "{} has no dependencies", manifest.display());
    write(
        manifest,
        &text.replacen(line, &format!("{line}punctual-mutations.workspace = true\n"), 1),
    )
}

fn mark_applied(library: &Path) -> anyhow::Result<()> {
    let text = read(library)?;
    let marked = text.replace("APPLIED: bool = false", "APPLIED: bool = true");
    anyhow::ensure!(marked != text, "{} has no APPLIED constant", library.display());
    write(library, &marked)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
