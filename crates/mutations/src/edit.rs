//! Applies one edit of a deliberate bug to the text of a source file.

use regex::{NoExpand, Regex};
use serde::Deserialize;

/// Stands for the condition of the bug in a replacement.
const PLACEHOLDER: &str = "BUG";

/// A change of one source file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The file, relative to the root of the workspace.
    pub file: String,
    /// The text to replace. White space matches any white space, so that reformatting does not matter.
    pub find: String,
    /// The text to put in its place.
    pub replace: String,
}

/// Why an edit does not apply.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text to replace is missing or ambiguous.
    #[error(
        "{file}: the text below occurs {count} times instead of once; update crates/mutations/catalogue\n{find}"
    )]
    NotUnique {
        /// The file.
        file: String,
        /// The text.
        find: String,
        /// How often it occurs.
        count: usize,
    },
    /// The replacement does not mention the condition.
    #[error("{file}: the replacement does not contain {PLACEHOLDER}\n{replace}")]
    NoCondition {
        /// The file.
        file: String,
        /// The replacement.
        replace: String,
    },
    /// The text to replace is too long.
    #[error("{file}: cannot search for the text")]
    Pattern {
        /// The file.
        file: String,
        /// The reason.
        #[source]
        source: regex::Error,
    },
}

impl Edit {
    /// Returns the source with this edit applied for the bug with this index.
    pub fn apply(&self, source: &str, index: usize) -> Result<String, EditError> {
        let Edit { file, find, replace } = self.clone();
        if !replace.contains(PLACEHOLDER) {
            return Err(EditError::NoCondition { file, replace });
        }
        let words: Vec<String> = find.split_whitespace().map(regex::escape).collect();
        let pattern = match Regex::new(&words.join(r"\s*")) {
            Ok(pattern) => pattern,
            Err(source) => return Err(EditError::Pattern { file, source }),
        };
        let count = pattern.find_iter(source).count();
        if count != 1 {
            return Err(EditError::NotUnique { file, find, count });
        }
        let condition = format!("punctual_mutations::is_armed({index})");
        let replacement = replace.replace(PLACEHOLDER, &condition);
        Ok(pattern.replace(source, NoExpand(&replacement)).into_owned())
    }
}
