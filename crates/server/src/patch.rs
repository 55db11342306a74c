//! Patches of the four types of Kubernetes, and field ownership (`managedFields`).
//!
//! Everything here is pure: objects are JSON values, time and identity are arguments. A caller
//! computes the new object and then records which fields were written:
//!
//! - For a create, an update, or a patch by [`apply_json_patch`], [`apply_merge_patch`] or
//!   [`apply_strategic_patch`]: compute the new object, validate and default it, then call
//!   [`track_fields`] **before** the server sets its own fields (UIDs, selectors, generated labels and
//!   finalizers), since these have no manager.
//! - For a server-side apply: call [`server_side_apply`], then validate and default its result. Do
//!   **not** call [`track_fields`]: the result has its `managedFields` already, and defaults have no
//!   manager.
//! - In both cases call [`restore_unchanged_times`] last. If nothing but times changed, it restores them,
//!   so that a write without effect leaves the object identical.
//!
//! A patched object must be validated like the body of an update, since a patch can set unknown
//! fields, wrong types and nulls.

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
pub(crate) use self::strategic::format_go_value;
pub use self::track::{manager_from_user_agent, restore_unchanged_times, track_fields};

/// The manager, API version and time of a write.
#[derive(Clone, Copy, Debug)]
pub struct FieldManager<'a> {
    /// The name of the manager: the request's `fieldManager`, or else [`manager_from_user_agent`].
    pub name: &'a str,
    /// The group and version of the request.
    pub api_version: &'a str,
    /// The written subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The schema of the object.
    pub schema: &'static StructSchema,
    /// The current time.
    pub now: Timestamp,
}

/// Returns the error for a patch that cannot be applied to the object. Like Kubernetes, it gives no
/// reason.
fn unprocessable() -> Status {
    const MESSAGE: &str = "the server rejected our request due to an error in our request";
    let mut status = Status::failure(StatusReason::Invalid, MESSAGE);
    status.details = Some(Box::default());
    status
}

/// Returns the error for an invalid patch for which kube-apiserver responds with 500. Here it is a
/// client error, since the server works correctly.
fn unclassified(message: impl Into<String>) -> Status {
    Status::failure(StatusReason::Invalid, message)
}

/// Parses the JSON of a patch. Truncated input has the error text of Go.
fn parse_patch(patch: &[u8]) -> Result<serde_json::Value, Status> {
    serde_json::from_slice(patch).map_err(|error| {
        let why = if error.is_eof() {
            "unexpected end of JSON input".to_owned()
        } else {
            error.to_string()
        };
        Status::bad_request(format!("error decoding patch: {why}"))
    })
}

/// Returns Go's name for the kind of a JSON value.
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
