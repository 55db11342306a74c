//! Tests of reading manifests: YAML and JSON, lists, separators, errors and limits.

use serde_json::json;

use super::*;

/// Returns each document as JSON, or as `line: error` if it cannot be read.
fn contents(text: &str) -> Vec<String> {
    let shown = |read: ReadResult| match read {
        Ok(document) => document.value.to_string(),
        Err(ReadError { location, message }) => {
            format!("{}: {message}", location.document.unwrap().line)
        }
    };
    read_text("file", text).into_iter().map(shown).collect()
}

fn value(text: &str) -> Value {
    let mut read = read_text("file", text);
    assert_eq!(read.len(), 1, "{text}");
    read.remove(0).unwrap_or_else(|error| panic!("{text}: {error}")).value
}

#[test]
fn scalars_are_parsed_as_kubectl_parses_them() {
    for (scalar, want) in [
        ("yes", json!(true)),
        ("On", json!(true)),
        ("off", json!(false)),
        ("n", json!(false)),
        ("\"yes\"", json!("yes")),
        ("0644", json!(420)),
        ("0o644", json!(420)),
        ("0x1F", json!(31)),
        ("0900", json!(900)),
        ("-5", json!(-5)),
        ("1_000", json!(1000)),
        ("1.0", json!(1)),
        ("1e3", json!(1000)),
        ("1.5", json!(1.5)),
        ("1.37.1", json!("1.37.1")),
        ("12:30", json!("12:30")),
        ("2026-01-31", json!("2026-01-31")),
        ("~", json!(null)),
        ("", json!(null)),
        ("!!str 5", json!("5")),
        ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("'* * * * *'", json!("* * * * *")),
    ] {
        assert_eq!(value(&format!("a: {scalar}\n")), json!({ "a": want }), "{scalar}");
    }
    assert_eq!(value("{\"a\": 1.0}").to_string(), r#"{"a":1.0}"#, "JSON numbers are not converted");
}

#[test]
fn documents_are_split_at_separators_and_end_markers() {
    for (text, want) in [
        ("", &[][..]),
        ("# only a comment\n---\n--- # another\n...\n", &[]),
        ("a: 1", &["{\"a\":1}"]),
        ("---\na: 1\n---\nb: 2\n", &["{\"a\":1}", "{\"b\":2}"]),
        ("%YAML 1.1\n---\na: 1\n...\nb: 2\n", &["{\"a\":1}", "{\"b\":2}"]),
        ("a: |\n  ---\n  x\n", &["{\"a\":\"---\\nx\\n\"}"]),
        ("a: 1\r\n---\r\nb: 2\r\n", &["{\"a\":1}", "{\"b\":2}"]),
        ("{\"a\": 1}{\"b\": 2}\n{\"c\": 3}", &["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]),
        ("{\"a\": 1}\n---\n{\"b\": 2}", &["{\"a\":1}", "{\"b\":2}"]),
        ("{a: 1, b: [yes]}", &["{\"a\":1,\"b\":[true]}"]),
        ("null\n---\na: 1", &["{\"a\":1}"]),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2}", &["{\"a\":{\"b\":1},\"c\":{\"b\":2}}"]),
    ] {
        assert_eq!(contents(text), want, "{text:?}");
    }
}

#[test]
fn syntax_errors_have_a_position_and_do_not_hide_other_documents() {
    for (text, want) in [
        ("a: 1\n---\nb: [1\n---\nc: 3\n", &["{\"a\":1}", "3: YAML: ", "{\"c\":3}"][..]),
        ("a: 1\n--- b: 2\n---\nc: 3", &["{\"a\":1}", "2: invalid Yaml document separator: b: 2"]),
        ("a: .nan", &["1: YAML: "]),
        ("a: *undefined", &["1: YAML: "]),
        (
            "\n\n{\"a\": 1}\n\n{\"b\": }",
            &["{\"a\":1}", "5: JSON: expected value at line 5, column 7"],
        ),
        ("{\"a\": \"", &["1: JSON: EOF while parsing a string at line 1, column 7"]),
        ("a: \u{1}", &["1: YAML: "]),
    ] {
        let found = contents(text);
        for (found, want) in found.iter().zip(want) {
            assert!(found.starts_with(want), "{text:?}: {found}");
            assert!(!found.contains("YAML") || found.contains(" at line "), "{text:?}: {found}");
        }
        assert!(found.len() >= want.len(), "{text:?}: {found:?}");
    }
}

#[test]
fn duplicate_fields_are_reported_with_their_paths() {
    for text in [
        "a: {b: [{c: 1, c: 2}]}\na: {b: 5}\n",
        "{\"a\": {\"b\": [{\"c\": 1, \"c\": 2}]}, \"a\": {\"b\": 5}}",
    ] {
        let read = read_text("file", text).remove(0).unwrap();
        assert_eq!(read.duplicates, ["a.b[0].c", "a"], "{text}");
        assert_eq!(read.value, json!({"a": {"b": 5}}), "{text}");
    }
    let merged = "a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}";
    assert_eq!(read_text("file", merged).remove(0).unwrap().duplicates, [""; 0]);
}

#[test]
fn lists_are_expanded_and_items_keep_their_location() {
    let text = "kind: JobList\napiVersion: batch/v1\nitems:\n- {a: 1, a: 2}\n- {kind: Other}\nkind: JobList\n";
    let read = read_text("file", text);
    let shown: Vec<String> = read
        .iter()
        .map(|read| match read {
            Ok(Document { location, value, duplicates }) => {
                format!("{location}: {value} {duplicates:?}")
            }
            Err(read_error) => read_error.to_string(),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "file, document 1 (line 1): duplicate field \"kind\"",
            "file, document 1 (line 1), item 1: {\"a\":2,\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"} [\"a\"]",
            "file, document 1 (line 1), item 2: {\"apiVersion\":\"batch/v1\",\"kind\":\"Other\"} []",
        ]
    );
    for kept in ["kind: List\nitems: 5", "kind: Menu\nitems: [1]", "items: [1]", "kind: List"] {
        assert_eq!(value(kept), value(&format!("{kept}\n")), "{kept}");
        assert!(read_text("file", kept).remove(0).unwrap().location.item.is_none(), "{kept}");
    }
}

/// Returns nested aliases that expand to 10^10 values.
fn billion_laughs() -> String {
    let mut text = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..10 {
        let alias = format!("*a{},", level - 1).repeat(10);
        text.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    text
}

/// Returns aliases that together nest deeply, although no single level is deep.
fn stacked_aliases() -> String {
    let mut text = String::from("a0: &a0 x\n");
    for level in 1..60 {
        let open = "[".repeat(40);
        let close = "]".repeat(40);
        text.push_str(&format!("a{level}: &a{level} {open}*a{}{close}\n", level - 1));
    }
    text
}

#[test]
fn hostile_input_is_an_error_and_neither_hangs_nor_overflows() {
    let deep = 200_000;
    let block: String = (0..3000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let one_text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(1000));
    for (name, text) in [
        ("laughs", billion_laughs()),
        ("aliases", stacked_aliases()),
        ("merges", billion_laughs().replace('[', "{<<: [").replace(']', "]}")),
        ("flow", format!("a: {}", "[".repeat(deep))),
        ("block", block),
        ("sequence", "- ".repeat(deep)),
        ("objects", "{\"a\":".repeat(deep)),
        ("closed", format!("{}1{}", "{\"a\":".repeat(110), "}".repeat(110))),
        ("text", one_text),
        ("keys", format!("{}: 1", "? ".repeat(deep))),
        ("names", format!("{{\"{}\": 1}}", "x".repeat(2000))),
        ("documents", "a: 1\n---\n".repeat(50_001)),
        ("itself", "a: &a [*a]".into()),
    ] {
        let read = read_text("file", &text);
        assert!(read.iter().any(Result::is_err), "{name}: {} documents", read.len());
    }
}

#[test]
fn truncated_and_mutated_input_never_panics() {
    let texts = [
        include_str!("../../testdata/good.yaml"),
        include_str!("../../testdata/bad.yaml"),
        include_str!("../../testdata/list.json"),
    ];
    let insertions =
        ["\t", "\u{0}", "{", "]", "&a ", "*a ", "\n---\n", "\"", "<<: ", "!!int ", "é"];
    for text in texts {
        for (at, _) in text.char_indices().step_by(5) {
            let (before, after) = text.split_at(at);
            read_text("file", before);
            let insertion = insertions[at % insertions.len()];
            read_text("file", &format!("{before}{insertion}{after}"));
        }
    }
}
