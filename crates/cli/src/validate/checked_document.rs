//! The result of checking one document with `punctual validate`: errors, warnings and next runs.

use punctual_api::{FieldError, Status};
use serde::Serialize;

use crate::{
    manifest::{ReadError, SourceLocation},
    slots::SlotRow,
};

/// One error of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct FieldProblem {
    /// The path of the field. Empty if the error concerns the whole document.
    pub(super) field: String,
    /// The text of Kubernetes.
    pub(super) message: String,
    /// What to change, in our own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// The kind, namespace and name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectName {
    pub(super) kind: String,
    /// Empty for cluster-scoped objects.
    pub(super) namespace: String,
    /// The name, or the prefix in `generateName`.
    pub(super) name: String,
}

/// The next slots of a valid CronJob.
#[derive(Debug)]
pub(super) struct UpcomingRuns {
    pub(super) schedule: String,
    pub(super) time_zone: String,
    /// Whether the object has no zone, and `time_zone` is the default.
    pub(super) is_default_zone: bool,
    pub(super) is_suspended: bool,
    pub(super) next: Vec<SlotRow>,
    /// Whether the schedule has no slot after the last one listed.
    pub(super) is_exhausted: bool,
}

/// A document and the result of its check.
#[derive(Debug)]
pub(super) struct CheckedDocument {
    pub(super) location: SourceLocation,
    pub(super) object: ObjectName,
    pub(super) errors: Vec<FieldProblem>,
    pub(super) warnings: Vec<String>,
    /// The reason why the document was not checked.
    pub(super) note: Option<String>,
    pub(super) upcoming: Option<UpcomingRuns>,
}

impl CheckedDocument {
    pub(super) fn new(location: SourceLocation, object: ObjectName) -> CheckedDocument {
        let errors = Vec::new();
        let warnings = Vec::new();
        CheckedDocument { location, object, errors, warnings, note: None, upcoming: None }
    }

    pub(super) fn from_read_error(read_error: ReadError) -> CheckedDocument {
        let problem = FieldProblem::new("", read_error.message);
        let checked = CheckedDocument::new(read_error.location, ObjectName::default());
        CheckedDocument { errors: vec![problem], ..checked }
    }
}

impl From<FieldError> for FieldProblem {
    fn from(error: FieldError) -> FieldProblem {
        FieldProblem::new(&error.path, error.body())
    }
}

impl FieldProblem {
    /// A problem without a hint.
    pub(super) fn new(field: &str, message: String) -> FieldProblem {
        FieldProblem { field: field.into(), message, hint: None }
    }

    /// Converts a warning about an unknown or duplicate field, which is an error here.
    pub(super) fn from_field_warning(text: &str) -> FieldProblem {
        let field = text.split_once(" field \"").and_then(|(_, path)| path.strip_suffix('"'));
        FieldProblem::new(field.unwrap_or_default(), format!("strict decoding error: {text}"))
    }

    /// Converts an error status into one error per cause.
    pub(super) fn from_status(status: Status) -> Vec<FieldProblem> {
        let causes = status.details.map(|details| details.causes).unwrap_or_default();
        if causes.is_empty() {
            let field = mistyped_field(&status.message).unwrap_or_default().to_owned();
            return vec![FieldProblem::new(&field, status.message)];
        }
        causes.into_iter().map(|cause| FieldProblem::new(&cause.field, cause.message)).collect()
    }
}

/// Extracts the field path from `... into Go struct field CronJobSpec.spec.suspend of type bool`.
fn mistyped_field(message: &str) -> Option<&str> {
    let (_, after) = message.split_once(" into Go struct field ")?;
    let (field, _) = after.split_once(" of type ")?;
    Some(field.split_once('.')?.1)
}
