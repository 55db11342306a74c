//! Pure crates do nothing: no files, network, clock, environment, threads or dice.
//!
//! Clippy's `disallowed-methods` knows the clocks by type; this looks at the words, and so at
//! everything that a `use` could bring in.

use crate::{edges, sources::Source};

const FORBIDDEN: [&str; 11] = [
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::env",
    "std::io",
    "std::process",
    "std::thread",
    "SystemTime",
    "std::time::Instant",
    "::now()",
    "TimeZone::system",
];

/// Each forbidden word in shipped code of a pure crate, with its place.
pub(crate) fn faults(sources: &[Source]) -> Vec<String> {
    let pure = sources.iter().filter(|source| edges::PURE.contains(&source.crate_name()));
    pure.filter(|source| source.is_shipped()).flat_map(faults_of).collect()
}

fn faults_of(source: &Source) -> Vec<String> {
    let lines = source.shipped_lines().enumerate();
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.flat_map(|(at, line)| {
        let found = FORBIDDEN.iter().filter(move |word| line.contains(**word));
        found.map(move |word| format!("{}:{}: {word} in a pure crate", source.path, at + 1))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pure_crates_are_pure() {
        assert_eq!(faults(&crate::sources::read().unwrap()), Vec::<String>::new());
    }

    #[test]
    fn a_clock_in_a_pure_crate_is_found() {
        let text = "// Timestamp::now() in a comment\nlet at = Timestamp::now();\n".into();
        let source = Source { path: "crates/schedule/src/x.rs".into(), text };
        assert_eq!(faults(&[source]), ["crates/schedule/src/x.rs:2: ::now() in a pure crate"]);
    }
}
