//! From the bytes of a request to a checked JSON tree, with Kubernetes' words for what is wrong.
//!
//! Checked are JSON itself, `apiVersion` and `kind`, the types of all known fields, and names that
//! are unknown or given twice. What a value means is `validate`'s business. Depth is bounded by
//! serde_json's limit, and everything here recurses no deeper than the tree.

mod check;
mod json;

use serde_json::Value;

use self::check::{Check, json_kind};
use crate::cronjob::CronJobKind;
use crate::dialect::Dialect;
use crate::json_tree::DEPTH_MAX;
use crate::schema;
use crate::status::Status;

/// What a request is expected to contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedKind<'a> {
    /// Group and version, such as `batch/v1`.
    pub api_version: &'a str,
    /// Kind, such as `CronJob`.
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
        let (kind, version) = (self.kind, self.version());
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    }
}

/// A tree and what is doubtful about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecodedObject {
    /// The tree. Names given twice have the last value.
    pub value: Value,
    /// `unknown field "…"` and `duplicate field "…"`: warnings or errors, as the client wishes.
    pub field_warnings: Vec<String>,
}

/// What a client wants to happen to what is doubtful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Nothing.
    Ignore,
    /// A warning.
    #[default]
    Warn,
    /// A refusal.
    Strict,
}

impl FieldValidation {
    /// The value of that name; the query parameter is empty for the default.
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
    /// The tree and the warnings, or a refusal, as the client wishes.
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

/// What becomes of fields that the tables do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// They stay.
    Keep,
    /// They go, as in kube-apiserver.
    Drop,
}

/// Reads and checks the object of a request.
pub fn decode_json(
    body: &[u8],
    expected: &ExpectedKind<'_>,
    dialect: Dialect,
    unknown: UnknownFields,
) -> Result<DecodedObject, Status> {
    let decoded = json::read(body).map_err(|why| unrecognized(expected, &why, body))?;
    if !decoded.value.is_object() {
        return Err(unrecognized(expected, &not_an_object(&decoded.value), body));
    }
    check_object(decoded, expected, dialect, unknown)
}

/// Checks an object that did not come as JSON text: from YAML, or out of a patch.
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
    let flavor = CronJobKind::from_gvk(expected.api_version, expected.kind);
    let dialect = flavor.map_or(dialect, |flavor| dialect.for_kind(flavor));
    if let Some(shape) = schema::find_kind(expected.api_version, expected.kind) {
        let mut check = Check { dialect, unknown, path: Vec::new(), field_warnings: Vec::new() };
        check
            .object(&mut decoded.value, shape, true)
            .map_err(|why| expected.cannot_be_handled(&why))?;
        decoded.field_warnings.splice(0..0, check.field_warnings);
    }
    Ok(decoded)
}

/// What is stored must be readable again, with what is written about its fields besides.
fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else {
        return value.is_object() || value.is_array();
    };
    match value {
        Value::Object(fields) => fields.values().any(|below| is_deeper_than(below, left)),
        Value::Array(items) => items.iter().any(|below| is_deeper_than(below, left)),
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
        json_kind(value)
    )
}

/// Fills in what is missing of `apiVersion` and `kind`, and refuses what is other than expected.
fn check_kind(value: &mut Value, expected: &ExpectedKind<'_>) -> Result<(), Status> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if !api_version.is_empty() && api_version != expected.api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version \
             ({})",
            expected.api_version
        )));
    }
    if !kind.is_empty() && kind != expected.kind {
        let (version, group, want) = (expected.version(), expected.group(), expected.kind);
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
