//! Decodes the body of a request into a checked JSON tree, with Kubernetes' error messages.
//!
//! Checks the JSON syntax, `apiVersion` and `kind`, the types of all known fields, and reports
//! unknown and duplicate fields. Also sets a missing `apiVersion` and `kind` and, on request, drops
//! unknown fields. `validate` checks the values. Objects that are nested deeper than `DEPTH_MAX` are
//! rejected before the recursive checks.

mod json;
mod type_check;

use serde_json::Value;

use self::type_check::{TypeCheck, json_type};
use crate::cronjob::CronJobKind;
use crate::dialect::Dialect;
use crate::json_tree::DEPTH_MAX;
use crate::schema;
use crate::status::Status;

/// The kind of object that a request must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedKind<'a> {
    /// The API group and version, such as `batch/v1`.
    pub api_version: &'a str,
    /// The kind, such as `CronJob`.
    pub kind: &'a str,
}

impl ExpectedKind<'_> {
    fn version(&self) -> &str {
        self.api_version.rsplit('/').next().unwrap_or_default()
    }

    fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    fn cannot_be_handled(&self, why: &str) -> Status {
        let kind = self.kind;
        let version = self.version();
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    }
}

/// A decoded object and its unknown and duplicate fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecodedObject {
    /// The tree. The last value of a duplicate field wins.
    pub value: Value,
    /// `unknown field "…"` and `duplicate field "…"`: warnings or errors, depending on
    /// [`FieldValidation`].
    pub field_warnings: Vec<String>,
}

/// How the server handles unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Ignores them.
    Ignore,
    /// Sends a warning.
    #[default]
    Warn,
    /// Rejects the request.
    Strict,
}

impl FieldValidation {
    /// Parses the query parameter `fieldValidation`; empty means the default.
    pub fn parse(name: &str) -> Option<FieldValidation> {
        match name {
            "" | "Warn" => Some(FieldValidation::Warn),
            "Ignore" => Some(FieldValidation::Ignore),
            "Strict" => Some(FieldValidation::Strict),
            _ => None,
        }
    }
}

impl DecodedObject {
    /// Returns the tree and the warnings, or an error in strict mode.
    pub fn accept(
        self,
        validation: FieldValidation,
        expected: &ExpectedKind<'_>,
    ) -> Result<(Value, Vec<String>), Status> {
        match validation {
            FieldValidation::Ignore => Ok((self.value, Vec::new())),
            FieldValidation::Strict if !self.field_warnings.is_empty() => {
                let why = format!("strict decoding error: {}", self.field_warnings.join(", "));
                Err(expected.cannot_be_handled(&why))
            }
            _ => Ok((self.value, self.field_warnings)),
        }
    }
}

/// How to store fields that the schema tables do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// Keeps them.
    Keep,
    /// Drops them, like kube-apiserver.
    Drop,
}

/// Decodes and checks a JSON request body.
pub fn decode_json(
    body: &[u8],
    expected: &ExpectedKind<'_>,
    dialect: Dialect,
    unknown: UnknownFields,
) -> Result<DecodedObject, Status> {
    let decoded =
        json::parse(body).map_err(|error| unrecognized(expected, &error.to_string(), body))?;
    if !decoded.value.is_object() {
        return Err(unrecognized(expected, &not_an_object(&decoded.value), body));
    }
    check_object(decoded, expected, dialect, unknown)
}

/// Checks an object that comes from YAML, protobuf or a patch.
pub fn check_object(
    mut decoded: DecodedObject,
    expected: &ExpectedKind<'_>,
    dialect: Dialect,
    unknown: UnknownFields,
) -> Result<DecodedObject, Status> {
    if is_deeper_than(&decoded.value, DEPTH_MAX) {
        let why = format!("nested more than {DEPTH_MAX} levels deep");
        return Err(expected.cannot_be_handled(&why));
    }
    check_kind(&mut decoded.value, expected)?;
    let kind = CronJobKind::from_gvk(expected.api_version, expected.kind);
    let dialect = kind.map_or(dialect, |kind| dialect.for_kind(kind));
    if let Some(struct_schema) = schema::find_kind(expected.api_version, expected.kind) {
        let mut check =
            TypeCheck { dialect, unknown, path: Vec::new(), field_warnings: Vec::new() };
        check
            .check_object(&mut decoded.value, struct_schema, true)
            .map_err(|error| expected.cannot_be_handled(&error.to_string()))?;
        decoded.field_warnings.splice(0..0, check.field_warnings);
    }
    Ok(decoded)
}

/// Limits the depth, so that the stored object and its managed fields can be read again.
fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(levels_left) = levels.checked_sub(1) else {
        return value.is_object() || value.is_array();
    };
    match value {
        Value::Object(fields) => fields.values().any(|value| is_deeper_than(value, levels_left)),
        Value::Array(items) => items.iter().any(|value| is_deeper_than(value, levels_left)),
        _ => false,
    }
}

fn unrecognized(expected: &ExpectedKind<'_>, why: &str, body: &[u8]) -> Status {
    let body = match (body, why.starts_with("json: ")) {
        ([], _) => "<empty>".to_owned(),
        (_, true) => body.iter().take(1024).map(|byte| format!("{byte:02x}")).collect(),
        _ => String::from_utf8_lossy(body).chars().take(1024).collect(),
    };
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): couldn't get version/kind; \
         json parse error: {why} ({body})",
        expected.kind
    ))
}

fn not_an_object(value: &Value) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
         \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
        json_type(value)
    )
}

/// Sets missing `apiVersion` and `kind`, and rejects unexpected ones.
fn check_kind(value: &mut Value, expected: &ExpectedKind<'_>) -> Result<(), Status> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let api_version = text("apiVersion");
    let kind = text("kind");
    if !api_version.is_empty() && api_version != expected.api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version \
             ({})",
            expected.api_version
        )));
    }
    if !kind.is_empty() && kind != expected.kind {
        let version = expected.version();
        let group = expected.group();
        let want = expected.kind;
        return Err(Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {want}: converting \
             ({version}.{kind}) to ({group}.{want}): unknown conversion"
        )));
    }
    if let Value::Object(fields) = value {
        fields.insert("apiVersion".to_owned(), expected.api_version.into());
        fields.insert("kind".to_owned(), expected.kind.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
