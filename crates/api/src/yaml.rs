//! Reads YAML like kubectl: YAML 1.1 scalars (`yes` is true, `0644` is octal) and merge keys.

use serde::de::DeserializeSeed;
use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Options, RenderOptions, SnippetMode};

use crate::json_tree::{DEPTH_MAX, NumberForm, SizeBudget, TreeSeed};

/// How many values the aliases of one document may expand to.
const ALIASED_MAX: usize = 100_000;
/// How many parser events one document may have; enough for a dump of thousands of objects.
const EVENTS_MAX: usize = 4_000_000;

/// A text is not YAML, or exceeds a limit. The message contains the position in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("YAML: {0}")]
pub struct YamlError(String);

/// Parses a text that contains one document. Returns its tree and the paths of duplicate fields.
/// Adds `lines_before` to the line numbers of errors.
pub fn parse_document(
    text: &str,
    lines_before: usize,
    budget: &mut SizeBudget,
) -> Result<(Value, Vec<String>), YamlError> {
    let mut duplicates = Vec::new();
    let tree = TreeSeed::root(NumberForm::AsGo, &mut duplicates, budget);
    let parsed =
        serde_saphyr::with_deserializer_from_str_with_options(text, options(), |deserializer| {
            tree.deserialize(deserializer)
        });
    match parsed {
        Ok(value) => Ok((value, duplicates)),
        Err(error) => Err(YamlError(format_with_position(&error, lines_before))),
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            // The tree builder reports this error with a better message, so it must reach its limit
            // first.
            max_depth: DEPTH_MAX + 2,
            max_events: EVENTS_MAX,
            max_nodes: EVENTS_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIASED_MAX },
        // The tree builder receives both and records the duplicate name.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        emit_comments: false,
        with_snippet: false,
    }
}

/// Formats an error with its position in the file.
fn format_with_position(error: &Error, lines_before: usize) -> String {
    let mut options = RenderOptions::default();
    options.snippets = SnippetMode::Off;
    options.line_offset = lines_before as u64;
    error.render_with_options(options)
}
