//! YAML as kubectl reads it: version 1.1 for scalars (`yes` is true, `0644` is octal), merge keys.

use serde::de::DeserializeSeed;
use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Options, RenderOptions, SnippetMode};

use crate::json_tree::{DEPTH_MAX, NumberForm, SizeBudget, TreeSeed};

/// Values that the aliases of one document may stand for.
const ALIASED_MAX: usize = 100_000;
/// Values and marks of one document; a dump of thousands of objects has as many.
const EVENTS_MAX: usize = 4_000_000;

/// The tree of the one document of a text, and the paths of the names that it has twice. Lines in
/// the error are counted from those before the text.
pub fn parse_document(
    text: &str,
    lines_before: usize,
    budget: &mut SizeBudget,
) -> Result<(Value, Vec<String>), String> {
    let mut duplicates = Vec::new();
    let tree = TreeSeed::root(NumberForm::AsGo, &mut duplicates, budget);
    let read =
        serde_saphyr::with_deserializer_from_str_with_options(text, options(), |deserializer| {
            tree.deserialize(deserializer)
        });
    match read {
        Ok(value) => Ok((value, duplicates)),
        Err(error) => Err(positioned(&error, lines_before)),
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            // The parser is a little ahead of the tree, whose words for this are better.
            max_depth: DEPTH_MAX + 2,
            max_events: EVENTS_MAX,
            max_nodes: EVENTS_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIASED_MAX },
        // The tree is shown both of them, and notes the name.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        emit_comments: false,
        with_snippet: false,
    }
}

/// The message with the position in the file.
fn positioned(error: &Error, lines_before: usize) -> String {
    let mut options = RenderOptions::default();
    options.snippets = SnippetMode::Off;
    options.line_offset = lines_before as u64;
    format!("YAML: {}", error.render_with_options(options))
}
