//! The state of one import: its options, the names that are taken, and the results so far.

use std::fmt;

use jiff::Timestamp;
use punctual_api::CronJobKind;
use punctual_schedule::Zone;
use serde_json::Value;

use crate::{
    calendar_fields::ConvertedSchedule, draft::JobDraft, object_name::NameTable, users::UserTable,
};

/// The options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The kind of the generated objects.
    pub kind: CronJobKind,
    /// The namespace of the generated objects. `None` leaves it to the client.
    pub namespace: Option<String>,
    /// The image of the generated containers.
    pub image: String,
    /// The zone of schedules that name none: the zone of the machine that ran them.
    pub zone: Zone,
    /// Whether the zone was chosen by the user, and not taken from this machine.
    pub is_zone_explicit: bool,
    /// The users that the sources refer to.
    pub users: UserTable,
    /// Clock changes are checked for two years after this instant.
    pub now: Timestamp,
}

/// A line of the input, or the first line of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The name of the file.
    pub file: String,
    /// The number of the line, from 1. 0 means the whole file.
    pub line: usize,
    /// The text of the line.
    pub text: String,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A generated object.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedObject {
    /// The manifest.
    pub manifest: Value,
    /// The schedule and its restriction to weekdays. `None` for objects that have no schedule.
    pub schedule: Option<ConvertedSchedule>,
}

/// The result for one source line.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportItem {
    /// The line.
    pub source: SourceLine,
    /// The objects that replace the line. Empty if the line has no object or was not imported.
    pub objects: Vec<ImportedObject>,
    /// The differences in meaning.
    pub warnings: Vec<String>,
}

/// Collects the results of one import. Object names are unique within it.
#[derive(Debug)]
pub struct Importer {
    pub(crate) options: ImportOptions,
    names: NameTable,
    items: Vec<ImportItem>,
}

impl Importer {
    /// Starts an import.
    pub fn new(options: ImportOptions) -> Importer {
        Importer { options, names: NameTable::default(), items: Vec::new() }
    }

    /// Returns the results in the order of the input.
    pub fn finish(self) -> Vec<ImportItem> {
        self.items
    }

    pub(crate) fn push(&mut self, item: ImportItem) {
        self.items.push(item);
    }

    /// Records that a line has no object, for the reason given.
    pub(crate) fn reject(&mut self, source: SourceLine, reason: String) {
        let warnings = vec![format!("not imported: {reason}")];
        self.push(ImportItem { source, objects: Vec::new(), warnings });
    }

    /// Records a line that sets something and has no object of its own.
    pub(crate) fn warn(&mut self, source: SourceLine, warning: String) {
        self.push(ImportItem { source, objects: Vec::new(), warnings: vec![warning] });
    }

    /// Builds the object of a draft under a name that is not taken.
    pub(crate) fn build(&mut self, draft: JobDraft) -> ImportedObject {
        let name = self.names.take(&draft.name);
        let schedule = Some(draft.schedule.clone());
        ImportedObject { manifest: draft.into_manifest(&name, &self.options), schedule }
    }
}
