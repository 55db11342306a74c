//! File names without meaning, and open tasks without an issue.

use super::{finding::TidyFinding, source::SourceFile};

pub(super) const CHECK: &str = "file-names";
const MEANINGLESS: [&str; 5] = ["utils", "util", "helpers", "common", "misc"];
const OPEN_TASKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Finds Rust files to rename and open tasks to file as issues.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let rust = files.iter().filter(|file| file.rust.is_some());
    rust.flat_map(|file| check_name(file).into_iter().chain(check_tasks(file))).collect()
}

fn check_name(file: &SourceFile) -> Option<TidyFinding> {
    let mut segments = file.path.trim_end_matches(".rs").split('/');
    let name = segments.find(|segment| MEANINGLESS.contains(segment))?;
    let message = format!("`{name}` says nothing: name the file after its content");
    Some(TidyFinding::at(CHECK, file, 1, message))
}

fn check_tasks(file: &SourceFile) -> Vec<TidyFinding> {
    let is_open = |line: &str| OPEN_TASKS.iter().any(|mark| line.contains(mark));
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| is_open(line) && !line.contains('#'))
        .map(|(index, _)| {
            TidyFinding::at(
                CHECK,
                file,
                index + 1,
                "open task without an issue: name the issue as #1",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meaningless_name_is_found() {
        let found = check(&[SourceFile::new("crates/cli/src/utils.rs", "")]);
        assert_eq!(
            found[0].to_string(),
            "crates/cli/src/utils.rs:1: `utils` says nothing: name the file after its content [file-names]"
        );
    }

    #[test]
    fn an_open_task_needs_an_issue() {
        let text = format!("// {0}: later\n// {0} #7: later\n", OPEN_TASKS[0]);
        let found = check(&[SourceFile::new("crates/cli/src/a.rs", &text)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].location, "crates/cli/src/a.rs:1");
    }
}
