//! What was found out about one document.

use punctual_api::{FieldError, Status};
use serde::Serialize;

use crate::{
    manifest::{ReadError, SourceLocation},
    slots::SlotRow,
};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct FieldProblem {
    /// The field; empty where the whole document is meant.
    pub(super) field: String,
    pub(super) message: String,
}

/// What a document is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectName {
    pub(super) kind: String,
    /// Empty for what has none.
    pub(super) namespace: String,
    /// May be a prefix that a server completes.
    pub(super) name: String,
}

/// ScheduleReport a valid CronJob runs.
#[derive(Debug)]
pub(super) struct UpcomingRuns {
    pub(super) schedule: String,
    pub(super) time_zone: String,
    /// The zone is not the object's own.
    pub(super) is_default_zone: bool,
    pub(super) is_suspended: bool,
    pub(super) next: Vec<SlotRow>,
    /// There is no slot behind the last one.
    pub(super) is_exhausted: bool,
}

/// A document and what was found out about it.
#[derive(Debug)]
pub(super) struct CheckedDocument {
    pub(super) location: SourceLocation,
    pub(super) object: ObjectName,
    pub(super) errors: Vec<FieldProblem>,
    pub(super) warnings: Vec<String>,
    /// Why it was not checked.
    pub(super) note: Option<String>,
    pub(super) upcoming: Option<UpcomingRuns>,
}

impl CheckedDocument {
    pub(super) fn new(location: SourceLocation, object: ObjectName) -> CheckedDocument {
        let (errors, warnings) = (Vec::new(), Vec::new());
        CheckedDocument { location, object, errors, warnings, note: None, upcoming: None }
    }

    pub(super) fn read_error(read_error: ReadError) -> CheckedDocument {
        let problem = FieldProblem { field: String::new(), message: read_error.message };
        let checked = CheckedDocument::new(read_error.location, ObjectName::default());
        CheckedDocument { errors: vec![problem], ..checked }
    }
}

impl From<FieldError> for FieldProblem {
    fn from(error: FieldError) -> FieldProblem {
        FieldProblem { message: error.body(), field: error.path }
    }
}

impl FieldProblem {
    /// A doubt about a field's name, which is an error here.
    pub(super) fn doubt(text: &str) -> FieldProblem {
        let field = text.split_once(" field \"").and_then(|(_, path)| path.strip_suffix('"'));
        FieldProblem {
            field: field.unwrap_or_default().into(),
            message: format!("strict decoding error: {text}"),
        }
    }

    /// What a refusal says, field by field where it does.
    pub(super) fn refusal(status: Status) -> Vec<FieldProblem> {
        let causes = status.details.map(|details| details.causes).unwrap_or_default();
        if causes.is_empty() {
            let field = mistyped_field(&status.message).unwrap_or_default().into();
            return vec![FieldProblem { field, message: status.message }];
        }
        let problem = |cause: punctual_api::status::StatusCause| FieldProblem {
            field: cause.field,
            message: cause.message,
        };
        causes.into_iter().map(problem).collect()
    }
}

/// The path in `... into Go struct field CronJobSpec.spec.suspend of type bool`.
fn mistyped_field(message: &str) -> Option<&str> {
    let (_, behind) = message.split_once(" into Go struct field ")?;
    let (field, _) = behind.split_once(" of type ")?;
    Some(field.split_once('.')?.1)
}
