//! Reads the text files of a repository, and defines the findings in them.

use std::{collections::HashSet, fmt, fs, path::Path};

use anyhow::Context;

use super::rust_source::RustSource;

/// Extensions of the files that people write. Recorded data (JSON) and lock files are left out.
const EXTENSIONS: [&str; 11] =
    ["rs", "md", "yaml", "yml", "toml", "sh", "py", "go", "txt", "tpl", "service"];
/// Scripts and other texts that have no extension.
const FILE_NAMES: [&str; 8] =
    ["Dockerfile", "justfile", "Justfile", "run", "hello", "setup", "upstream", ".gitignore"];
const SKIPPED_FOLDERS: [&str; 4] = [".git", "target", "node_modules", "__pycache__"];

/// One fault of the sources.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TidyFinding {
    /// The name of the check.
    pub(super) check: &'static str,
    /// The part of the repository that the file belongs to.
    pub(super) crate_name: String,
    /// The file, with a line where there is one.
    pub(super) location: String,
    /// The fault and the remedy.
    pub(super) message: String,
}

impl TidyFinding {
    /// A finding at a line, counted from 1.
    pub(super) fn at(
        check: &'static str,
        file: &SourceFile,
        line: usize,
        message: impl Into<String>,
    ) -> TidyFinding {
        TidyFinding {
            check,
            crate_name: file.crate_name().to_owned(),
            location: format!("{}:{line}", file.path),
            message: message.into(),
        }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.location, self.message, self.check)
    }
}

/// One file.
pub(super) struct SourceFile {
    /// Relative to the root of the repository, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// The parsed file; `None` unless it is a Rust file.
    pub(super) rust: Option<RustSource>,
}

impl SourceFile {
    /// Parses the text if the path is that of a Rust file.
    pub(super) fn new(path: &str, text: &str) -> anyhow::Result<SourceFile> {
        let is_test_file =
            !path.contains("/src/") || path.ends_with("/tests.rs") || path.contains("/tests/");
        let shipped_lines = if is_test_file { 0 } else { lines_before_tests(text) };
        let rust = path.ends_with(".rs").then(|| RustSource::parse(text, shipped_lines));
        let rust = rust.transpose().with_context(|| path.to_owned())?;
        Ok(SourceFile { path: path.to_owned(), text: text.to_owned(), rust })
    }

    /// The crate's folder name, `schedule` for `crates/schedule/src/lib.rs`; else the top folder, or
    /// `root` for files that are in none.
    pub(super) fn crate_name(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split_once('/').map_or("root", |(folder, _)| folder)
    }
}

/// The Rust files among all files.
pub(super) fn rust_files(files: &[SourceFile]) -> impl Iterator<Item = (&SourceFile, &RustSource)> {
    files.iter().filter_map(|file| Some((file, file.rust.as_ref()?)))
}

/// The number of lines before the inline test module, or all.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.windows(2).position(|pair| {
        matches!(pair, ["#[cfg(test)]", next] if next.starts_with("mod ") && next.ends_with('{'))
    });
    start.unwrap_or(lines.len())
}

/// Reads all files of a repository, in order of their paths.
pub(super) fn read_all(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let test_files: HashSet<String> = files.iter().flat_map(test_modules).collect();
    for file in &mut files {
        if let Some(rust) = &mut file.rust
            && test_files.contains(&file.path)
        {
            rust.shipped_lines = 0;
        }
    }
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_ref()) {
                collect(root, &path, files)?;
            }
        } else if is_checked(&name) {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let path = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            files.push(SourceFile::new(&path, &text)?);
        }
    }
    Ok(())
}

fn is_checked(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    EXTENSIONS.contains(&extension) || FILE_NAMES.contains(&name)
}

/// The files of the modules that a file declares for tests only.
pub(super) fn test_modules(file: &SourceFile) -> Vec<String> {
    let folder = ["/lib.rs", "/main.rs", "/mod.rs"]
        .iter()
        .find_map(|end| file.path.strip_suffix(end))
        .unwrap_or(file.path.trim_end_matches(".rs"));
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter_map(|pair| match pair {
        ["#[cfg(test)]", next] => next.strip_suffix(';'),
        _ => None,
    });
    pairs
        .filter_map(|declaration| declaration.rsplit_once("mod "))
        .flat_map(|(_, name)| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")])
        .collect()
}
