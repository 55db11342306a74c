//! Tests that every deliberate bug of the catalogue fits the sources of the workspace.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_mutations::{Edit, arm, catalogue, is_armed};

fn edit(find: &str, replace: &str) -> Edit {
    Edit { file: "a.rs".into(), find: find.into(), replace: replace.into() }
}

#[test]
fn every_edit_applies_to_the_sources_and_the_result_parses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    for (index, mutation) in catalogue().iter().enumerate() {
        for edit in &mutation.edits {
            let source = sources
                .entry(edit.file.clone())
                .or_insert_with(|| std::fs::read_to_string(root.join(&edit.file)).unwrap());
            *source = edit.apply(source, index).unwrap_or_else(|error| panic!("{error}"));
        }
        for edit in &mutation.edits {
            let parsed = syn::parse_file(&sources[&edit.file]);
            assert!(parsed.is_ok(), "{}: {}: {:?}", mutation.name, edit.file, parsed.err());
        }
    }
}

#[test]
fn names_are_unique_and_every_bug_has_a_summary_and_an_edit() {
    let mut names: Vec<&str> = catalogue().iter().map(|mutation| &*mutation.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), catalogue().len());
    for mutation in catalogue() {
        assert!(mutation.summary.ends_with('.'), "{}", mutation.name);
        assert!(!mutation.edits.is_empty(), "{}", mutation.name);
    }
}

#[test]
fn an_edit_ignores_formatting_and_inserts_the_condition() {
    let source = "fn f() {\n    a(\n        b,\n    )\n}\n";
    let edited = edit("a( b, )", "a(b, BUG)").apply(source, 7).unwrap();
    assert_eq!(edited, "fn f() {\n    a(b, punctual_mutations::is_armed(7))\n}\n");
}

#[test]
fn an_edit_that_does_not_match_once_or_lacks_the_condition_is_an_error() {
    assert!(edit("x", "BUG").apply("y", 0).is_err());
    assert!(edit("x", "BUG").apply("x x", 0).is_err());
    assert!(edit("x", "y").apply("x", 0).is_err());
}

#[test]
fn one_bug_is_armed_at_a_time() {
    assert!(!is_armed(3));
    arm(Some(3));
    assert!(is_armed(3) && !is_armed(2));
    arm(None);
    assert!(!is_armed(3));
}
