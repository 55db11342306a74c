//! What was found out about one document.

use punctual_api::{FieldError, Status};
use serde::Serialize;

use crate::{
    manifest::{Place, Unreadable},
    slots::Slot,
};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The field; empty where the whole document is meant.
    pub(super) field: String,
    pub(super) message: String,
}

/// What a document is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) kind: String,
    /// Empty for what has none.
    pub(super) namespace: String,
    /// May be a prefix that a server completes.
    pub(super) name: String,
}

/// When a valid CronJob runs.
#[derive(Debug)]
pub(super) struct Timetable {
    pub(super) schedule: String,
    pub(super) time_zone: String,
    /// The zone is not the object's own.
    pub(super) is_default_zone: bool,
    pub(super) is_suspended: bool,
    pub(super) next: Vec<Slot>,
    /// There is no slot behind the last one.
    pub(super) is_ended: bool,
}

/// A document and what was found out about it.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) place: Place,
    pub(super) identity: Identity,
    pub(super) errors: Vec<Finding>,
    pub(super) warnings: Vec<String>,
    /// Why it was not checked.
    pub(super) note: Option<String>,
    pub(super) timetable: Option<Timetable>,
}

impl Checked {
    pub(super) fn new(place: Place, identity: Identity) -> Checked {
        let (errors, warnings) = (Vec::new(), Vec::new());
        Checked { place, identity, errors, warnings, note: None, timetable: None }
    }

    pub(super) fn unreadable(unreadable: Unreadable) -> Checked {
        let finding = Finding { field: String::new(), message: unreadable.why };
        let checked = Checked::new(unreadable.place, Identity::default());
        Checked { errors: vec![finding], ..checked }
    }
}

impl From<FieldError> for Finding {
    fn from(error: FieldError) -> Finding {
        Finding { message: error.body(), field: error.path }
    }
}

impl Finding {
    /// A doubt about a field's name, which is an error here.
    pub(super) fn doubt(text: &str) -> Finding {
        let field = text.split_once(" field \"").and_then(|(_, path)| path.strip_suffix('"'));
        Finding {
            field: field.unwrap_or_default().into(),
            message: format!("strict decoding error: {text}"),
        }
    }

    /// What a refusal says, field by field where it does.
    pub(super) fn refusal(status: Status) -> Vec<Finding> {
        let causes = status.details.map(|details| details.causes).unwrap_or_default();
        if causes.is_empty() {
            let field = mistyped_field(&status.message).unwrap_or_default().into();
            return vec![Finding { field, message: status.message }];
        }
        let finding = |cause: punctual_api::status::Cause| Finding {
            field: cause.field,
            message: cause.message,
        };
        causes.into_iter().map(finding).collect()
    }
}

/// The path in `... into Go struct field CronJobSpec.spec.suspend of type bool`.
fn mistyped_field(message: &str) -> Option<&str> {
    let (_, behind) = message.split_once(" into Go struct field ")?;
    let (field, _) = behind.split_once(" of type ")?;
    Some(field.split_once('.')?.1)
}
