//! The four ways to patch an object, and who owns which of its fields.
//!
//! Pure: objects are JSON trees, time and identity are arguments. A caller turns a request into a
//! new object and then records who wrote it:
//!
//! - For a create, an update, or a patch by [`apply_json_patch`], [`apply_merge_patch`] or [`apply_strategic_patch`]: make the new
//!   object, check and default it, then call [`track_fields`] **before** the server fills in what is its
//!   own (UIDs, selectors, labels and finalizers that it generates), since those belong to nobody.
//! - For a server-side apply: call [`server_side_apply`], then check and default its result. It has its
//!   `managedFields` already and must **not** be tracked: what defaulting adds belongs to nobody.
//! - In both cases call [`restore_unchanged_times`] last. Where nothing but times changed it restores them, so
//!   that a write without effect can be seen to be none.
//!
//! Patches produce trees that still have to be checked like the body of an update: a patch can set
//! unknown fields, wrong types and nulls.

mod apply;
mod compare;
mod fields;
mod granularity;
mod json;
mod managed;
mod merge;
mod strategic;
mod track;

use jiff::Timestamp;
use punctual_api::Status;
use punctual_api::schema::StructSchema;
use punctual_api::status::StatusReason;

pub use self::apply::server_side_apply;
pub use self::json::apply_json_patch;
pub use self::merge::apply_merge_patch;
pub use self::strategic::apply_strategic_patch;
pub(crate) use self::strategic::format_go_map;
pub use self::track::{manager_from_user_agent, restore_unchanged_times, track_fields};

/// Who writes an object, by which door, and when.
#[derive(Clone, Copy, Debug)]
pub struct FieldManager<'a> {
    /// Name of the manager: the request's `fieldManager`, or else [`manager_from_user_agent`] its user agent.
    pub manager: &'a str,
    /// Group and version in which the request speaks.
    pub api_version: &'a str,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'a str,
    /// Shape of the object.
    pub schema: &'static StructSchema,
    /// Now.
    pub now: Timestamp,
}

/// A patch that cannot be applied to the object. Kubernetes keeps the reason to itself.
fn unprocessable() -> Status {
    const MESSAGE: &str = "the server rejected our request due to an error in our request";
    let mut status = Status::failure(StatusReason::Invalid, MESSAGE);
    status.details = Some(Box::default());
    status
}

/// An error for which kube-apiserver has no status, and which it therefore answers with 500. The
/// patch is wrong all the same and the server is well, so here it is unprocessable.
fn unclassified(message: impl Into<String>) -> Status {
    Status::failure(StatusReason::Invalid, message)
}

/// Reads the JSON of a patch, with the words of Go where it ends too early.
fn read(patch: &[u8]) -> Result<serde_json::Value, Status> {
    serde_json::from_slice(patch).map_err(|error| {
        let why = match error.is_eof() {
            true => "unexpected end of JSON input".to_owned(),
            false => error.to_string(),
        };
        Status::bad_request(format!("error decoding patch: {why}"))
    })
}

/// What Go calls a JSON value.
fn go_kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}
