//! The result of a check.

use std::fmt;

use super::source::SourceFile;

/// One fault of the sources.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TidyFinding {
    /// The name of the check.
    pub(super) check: &'static str,
    /// The part of the repository that the file belongs to.
    pub(super) part: String,
    /// The file, with a line where there is one.
    pub(super) location: String,
    /// The fault and the remedy.
    pub(super) message: String,
}

impl TidyFinding {
    /// A finding at a line, counted from 1.
    pub(super) fn at(
        check: &'static str,
        file: &SourceFile,
        line: usize,
        message: impl Into<String>,
    ) -> TidyFinding {
        TidyFinding {
            check,
            part: file.part().to_owned(),
            location: format!("{}:{line}", file.path),
            message: message.into(),
        }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.location, self.message, self.check)
    }
}
