//! File names that say nothing, and promises without an issue.

use crate::sources::Source;

const NAMELESS: [&str; 5] = ["utils", "util", "helpers", "common", "misc"];

/// Files to rename and notes to file.
pub(crate) fn faults(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(|source| named(source).into_iter().chain(promised(source))).collect()
}

fn named(source: &Source) -> Option<String> {
    let parts = source.path.trim_end_matches(".rs").split('/');
    let nameless = parts.filter(|part| NAMELESS.contains(part)).count() > 0;
    nameless.then(|| format!("{}: a name that says nothing", source.path))
}

fn promised(source: &Source) -> Option<String> {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let at = source
        .text
        .lines()
        .position(|line| marks.iter().any(|mark| line.contains(mark)) && !line.contains('#'))?;
    Some(format!("{}:{}: a promise without an issue", source.path, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_something() {
        assert_eq!(faults(&crate::sources::read().unwrap()), Vec::<String>::new());
    }

    #[test]
    fn a_nameless_file_is_found() {
        let source = Source { path: "crates/cli/src/utils.rs".into(), text: String::new() };
        assert_eq!(faults(&[source]), ["crates/cli/src/utils.rs: a name that says nothing"]);
    }
}
