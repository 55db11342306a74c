//! An event to be: something to tell the people who watch an object.

use std::fmt;

/// Whether an event is news or trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// All is as it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

impl NoteKind {
    /// The word that Kubernetes has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            NoteKind::Normal => "Normal",
            NoteKind::Warning => "Warning",
        }
    }
}

/// An event to be recorded about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// News or trouble.
    pub kind: NoteKind,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Note {
    /// News.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Note {
        Note { kind: NoteKind::Normal, reason, message: message.into() }
    }

    /// Trouble.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Note {
        Note { kind: NoteKind::Warning, reason, message: message.into() }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.kind.as_str(), self.reason, self.message)
    }
}
