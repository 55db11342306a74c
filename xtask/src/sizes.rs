//! How long functions and files are: a report, not a verdict.

use crate::sources::Source;

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 600;

struct Function<'a> {
    path: &'a str,
    name: String,
    lines: usize,
}

/// Medians and tails, and what is longer than it should be.
pub(crate) fn report(sources: &[Source]) -> String {
    let shipped: Vec<&Source> = sources.iter().filter(|source| source.is_shipped()).collect();
    let functions: Vec<Function<'_>> =
        shipped.iter().flat_map(|source| functions(source)).collect();
    let files: Vec<usize> = shipped.iter().map(|source| source.shipped_lines().count()).collect();
    let mut text = summary("functions", functions.iter().map(|f| f.lines).collect());
    text.push_str(&summary("files", files.clone()));
    for function in functions.iter().filter(|function| function.lines > FUNCTION_LINES_MAX) {
        let Function { path, name, lines } = function;
        text.push_str(&format!("{path}: fn {name} has {lines} lines\n"));
    }
    for (source, lines) in shipped.iter().zip(files).filter(|(_, lines)| *lines > FILE_LINES_MAX) {
        text.push_str(&format!("{}: {lines} lines\n", source.path));
    }
    text
}

fn summary(what: &str, mut sizes: Vec<usize>) -> String {
    sizes.sort_unstable();
    let at = |share: usize| sizes.get(sizes.len() * share / 100).or(sizes.last()).unwrap_or(&0);
    let (count, max) = (sizes.len(), sizes.last().unwrap_or(&0));
    let (p50, p90, p99) = (at(50), at(90), at(99));
    format!("{count} {what}: median {p50} lines, p90 {p90}, p99 {p99}, max {max}\n")
}

/// The functions of a file. Formatted code ends a function with a brace as far in as it began.
fn functions(source: &Source) -> Vec<Function<'_>> {
    let lines: Vec<&str> = source.shipped_lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(at, line)| Some((at, name_of(line)?)));
    starts
        .filter_map(|(at, name)| {
            let first = lines.get(at)?;
            let indent = first.len() - first.trim_start().len();
            let end = format!("{}}}", " ".repeat(indent));
            let length = lines
                .iter()
                .skip(at)
                .position(|line| *line == end || line.ends_with("; }") || line.ends_with("{}"))?;
            Some(Function { path: &source.path, name: name.into(), lines: length + 1 })
        })
        .collect()
}

fn name_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = ["pub ", "pub(crate) ", "const ", "async ", "unsafe "]
        .iter()
        .fold(line, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
    let name = rest.strip_prefix("fn ")?;
    name.split(|char: char| !char.is_alphanumeric() && char != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_name_to_brace() {
        let text = "impl A {\n    pub(crate) const fn one(\n        a: u8,\n    ) -> u8 {\n        a\n    }\n}\n\nfn two() {\n    if a {\n    }\n}\n";
        let source = Source { path: "crates/a/src/lib.rs".into(), text: text.into() };
        let found = functions(&source);
        let sizes: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.lines)).collect();
        assert_eq!(sizes, [("one", 5), ("two", 4)]);
    }
}
