//! Unit tests of the tidy checks.

use super::{rust_source::RustSource, source, *};

pub(super) fn file(path: &str, text: &str) -> SourceFile {
    SourceFile::new(path, text).unwrap()
}

/// The name of the check and the line of every finding in one file.
pub(super) fn found(path: &str, text: &str) -> Vec<(&'static str, usize)> {
    let findings = check_sources(&[file(path, text)]);
    let line = |it: &TidyFinding| it.location.rsplit_once(':').unwrap().1.parse().unwrap();
    findings.iter().map(|finding| (finding.check, line(finding))).collect()
}

pub(super) const PRODUCT: &str = "crates/server/src/x.rs";

#[test]
fn this_repository_is_tidy() {
    let root = repository_root();
    let findings = check_all(&root, &source::read_all(&root).unwrap()).unwrap();
    let lines: Vec<String> = findings.iter().map(TidyFinding::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn whole_segments_of_identifiers_are_found_once() {
    let text = "// the crew\nlet a = \"crew\";\nlet crew = crew;\n";
    assert_eq!(found(PRODUCT, text), [(banned_words::IN_IDENTIFIERS, 3)]);
    for (identifier, segment) in [
        ("write_hand", Some("hand")),
        ("HandWriter", Some("hand")),
        ("ECHO_WINDOW", Some("echo")),
        ("handler", None),
        ("EventHandler", None),
        ("stale", None),
        ("official", None),
    ] {
        assert_eq!(banned_words::banned_segment(identifier), segment, "{identifier}");
    }
}

#[test]
fn a_clock_in_a_pure_crate_and_a_bug_switch_in_a_product_crate_are_found() {
    let clock = "// Timestamp::now() in a comment\nlet at = Timestamp::now();\n";
    assert_eq!(found("crates/schedule/src/x.rs", clock), [(forbidden_code::PURITY, 2)]);
    assert_eq!(found("crates/cli/src/x.rs", clock), []);
    let bug = "// has(Bug::A)\nif has(Bug::A) {}\n";
    assert_eq!(found("crates/engine/src/x.rs", bug), [(forbidden_code::BUG_SWITCHES, 2)]);
    assert_eq!(found("crates/sim/src/x.rs", bug), []);
}

#[test]
fn a_meaningless_file_name_and_an_open_task_without_an_issue_are_found() {
    assert_eq!(found("crates/cli/src/utils.rs", ""), [("file-names", 1)]);
    let text = format!("// {0}: later\n// {0} #7: later\n", file_names::OPEN_TASKS[0]);
    assert_eq!(found(PRODUCT, &text), [("file-names", 1)]);
}

#[test]
fn functions_and_files_above_the_limits_are_found() {
    let function = |lines| format!("fn f() {{\n{}}}\n", "    a();\n".repeat(lines - 2));
    assert_eq!(found("crates/a/tests/x.rs", &function(sizes::FUNCTION_LINES_MAX)), []);
    assert_eq!(found(PRODUCT, &function(sizes::FUNCTION_LINES_MAX + 1)), [("sizes", 1)]);
    let lines = |count| "a();\n".repeat(count);
    assert_eq!(found(PRODUCT, &lines(sizes::FILE_LINES_MAX)), []);
    assert_eq!(found(PRODUCT, &lines(sizes::FILE_LINES_MAX + 1)), [("sizes", 601)]);
    assert_eq!(found("docs/x.md", &lines(sizes::FILE_LINES_MAX + 1)), []);
}

#[test]
fn visible_string_errors_are_found() {
    for text in [
        "pub fn f() -> Result<Vec<(u8, u8)>, String> {\n}\n",
        "pub(crate) fn f(a: Option<Result<(), String>>);\n",
        "pub trait T { fn f() -> Result<Box<dyn Fn() -> u8>, String>; }\n",
        "pub type R = Result<(), String>;\n",
        "pub enum E { A(String, Result<(), String>) }\n",
        "pub struct S { a: Result<(), String> }\n",
    ] {
        assert_eq!(found(PRODUCT, text), [(string_errors::CHECK, 1)], "{text}");
    }
    for text in [
        "fn f() -> Result<(), String> {\n}\n",
        "enum E { A(Result<(), String>) }\n",
        "pub fn f() -> Result<String, Error> {\n}\n",
        "pub fn f() -> anyhow::Result<String> {\n}\n",
        "pub fn f() -> Result<HashMap<u8, String>, E> {\n}\n",
        "#[cfg(test)]\nmod tests {\n    pub fn f() -> Result<(), String> {}\n}\n",
    ] {
        assert_eq!(found(PRODUCT, text), [], "{text}");
    }
}

#[test]
fn line_saving_idioms_are_found_and_look_alikes_are_allowed() {
    for text in [
        "a.filter(|_| flag)",
        "assert!(a.filter(|_| flag))",
        "match a { true => 1, false => 2 }",
        "let (a, mut b) = (f(1, 2), 3);",
        "fn f(a: u8, b: &(u8, u8)) {}",
        "fn f<F: Fn(u8)>((a, b): (u8, u8)) {}",
    ] {
        assert_eq!(found(PRODUCT, text), [(line_saving_idioms::CHECK, 1)], "{text}");
    }
    for text in [
        "a.filter(|b| flag)",
        "match a { (true, false) => 1, _ => 2 }",
        "let (a, b) = f(1, 2);",
        "let (a, b) = (f)(1);",
        "let (a, b) = (x, y).sorted();",
        "fn f(a: &[(u8, u8)], b: impl Fn((u8, u8))) -> (u8, u8) {}",
        "// a.filter(|_| flag)",
    ] {
        assert_eq!(found(PRODUCT, text), [], "{text}");
    }
}

#[test]
fn a_third_definition_makes_all_three_a_finding() {
    let files = ["crates/a/src/x.rs", "crates/a/tests/y.rs", "e2e/src/z.rs"]
        .map(|path| file(path, "struct Entry;\n"));
    assert_eq!(type_names::check(&files).len(), 3);
    assert!(type_names::check(&files[..2]).is_empty());
}

#[test]
fn comments_strings_and_code_are_distinguished() {
    let text = "let a = \"s1 // s2\"; // c1 \"c2\"\n/* c3 /* c4 */ c5 */ let b = 'x';\n\n\
                /// c6 \"c7\"\nf(\"s3\\\"s4\", r#\"s5\"s6\"#, b\"s7\", '\"', '\\'', 'l');\n";
    let source = RustSource::parse(text, 0).unwrap();
    let words = |view: &str, first: char| {
        let words = view.split(|char: char| !char.is_alphanumeric());
        words.filter(|word| word.starts_with(first)).count()
    };
    for (view, first, count) in
        [(&source.strings, 's', 7), (&source.comments, 'c', 7), (&source.code, 's', 0)]
    {
        assert_eq!(words(view, first), count, "{view}");
    }
    assert_eq!(source.code.lines().nth(4).unwrap().trim_end().chars().last(), Some(';'));
    assert!(source.comments.lines().nth(3).unwrap().starts_with("/// c6"));
}

#[test]
fn functions_are_measured_from_the_name_to_the_brace() {
    let code = "impl A {\n    #[test]\n    pub(crate) const fn one(\n        a: [u8; 2],\n    ) -> u8 {\n        f(|| { 1; });\n        a\n    }\n}\n\nfn two() {\n    if a {\n    }\n}\ntrait T {\n    fn three();\n}\n";
    let source = RustSource::parse(code, 0).unwrap();
    let functions = source.functions().map(|f| (f.name.as_str(), f.line, f.lines, f.is_visible));
    let expected = [("one", 3, 6, true), ("two", 11, 4, false), ("three", 16, 1, false)];
    assert_eq!(functions.collect::<Vec<_>>(), expected);
}

#[test]
fn associated_types_are_no_definitions() {
    let code = "pub struct A<T>(T);\nimpl X for A {\n    type Item = u8;\n    fn f() { struct B; }\n}\npub trait T {\n    type Item;\n    fn g();\n}\nmod m {\n    type C = u8;\n}\nmacro_rules! m { () => { struct $name; } }\n";
    let source = RustSource::parse(code, 0).unwrap();
    let types = source.items.iter().filter(|item| item.keyword != "fn");
    assert_eq!(types.map(|item| item.name.as_str()).collect::<Vec<_>>(), ["A", "B", "T", "C"]);
    assert!(source.functions().any(|function| function.name == "g" && function.is_visible));
}

#[test]
fn tests_are_not_shipped() {
    let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(file(PRODUCT, text).rust.unwrap().shipped_lines, 2);
    assert_eq!(file("crates/a/tests/x.rs", text).rust.unwrap().shipped_lines, 0);
    assert!(file("crates/a/README.md", text).rust.is_none());
    let declaration = file("crates/a/src/lib.rs", "#[cfg(test)]\npub(crate) mod fake;\n");
    let expected = ["crates/a/src/fake.rs", "crates/a/src/fake/mod.rs"];
    assert_eq!(source::test_modules(&declaration), expected);
}

#[test]
fn a_file_belongs_to_its_crate_or_to_its_top_folder() {
    for (path, part) in
        [("crates/api/src/lib.rs", "api"), ("docs/x.md", "docs"), ("README.md", "root")]
    {
        assert_eq!(file(path, "").crate_name(), part);
    }
}

#[test]
fn a_report_counts_words_lines_and_findings_by_part() {
    let (word, _) = banned_words::BANNED[0];
    let text = format!(
        "// {word}\nfn f() {{\n    a.filter(|_| b);\n}}\n\n#[cfg(test)]\nmod tests {{\n}}\n"
    );
    let report = report::render(&[file("crates/a/src/x.rs", &text), file("docs/x.md", word)]);
    for row in [
        "| a | 1 | 1000.0 | 0 | 0 | 0 | 1 | 0 | 0 | 0 |",
        "| docs | 0 | 0.0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 |",
        "| a | 5 | 3 | 1 | 3 | 3 | 3 | 3 | 0 | 1 | 8 | 8 | 0 |",
    ] {
        assert!(report.contains(row), "{report}");
    }
    let sizes: Vec<usize> = (1..=100).collect();
    let percentiles = [50, 90, 99, 100].map(|percent| report::percentile(&sizes, percent));
    assert_eq!(percentiles, [51, 91, 100, 100]);
    assert_eq!(report::percentile(&[], 50), 0);
}
