//! The Rust sources of the workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// One file.
pub(crate) struct Source {
    /// Relative to the workspace, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// The crate's folder name: `schedule` for `crates/schedule/src/lib.rs`.
    pub(crate) fn crate_name(&self) -> &str {
        self.path
            .strip_prefix("crates/")
            .unwrap_or(&self.path)
            .split('/')
            .next()
            .unwrap_or_default()
    }

    /// Whether it is compiled into a library or program, and not only into tests or benchmarks.
    pub(crate) fn is_shipped(&self) -> bool {
        self.path.contains("/src/")
            && !self.path.ends_with("/tests.rs")
            && !self.path.contains("/tests/")
    }

    /// The lines before the inline tests.
    pub(crate) fn shipped_lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().take_while(|line| *line != "#[cfg(test)]")
    }
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// All sources, in order of their paths.
pub(crate) fn read() -> anyhow::Result<Vec<Source>> {
    let root = root();
    let mut sources = Vec::new();
    for folder in ["crates", "xtask", "bench", "e2e"] {
        if root.join(folder).is_dir() {
            collect(&root, &root.join(folder), &mut sources)?;
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(root, &path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let path = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            sources.push(Source { path, text });
        }
    }
    Ok(())
}
