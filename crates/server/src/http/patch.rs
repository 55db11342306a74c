//! Handles PATCH requests: JSON patch, merge patch, strategic merge patch and server-side apply.
//! [`crate::patch`] applies them.

use axum::body::Body;
use http::header;
use jiff::Timestamp;
use punctual_api::decode::{self, DecodedObject, FieldValidation};
use punctual_api::field::{FieldError, FieldPath};
use punctual_api::status::{GroupKind, Status, StatusReason};
use punctual_api::write_rules;
use serde_json::{Value, json};

use super::{RequestContext, body, with_empty_details};
use crate::patch;
use crate::registry::{ObjectRef, ObjectUpdate};
use crate::request::{TextFormat, WriteOptions, WriteVerb, media_type};
use crate::response::ApiResult;

/// Handles a patch.
pub(super) async fn handle(
    request: &RequestContext,
    object: &ObjectRef,
    body: &mut Body,
) -> ApiResult {
    let response_options = request.response_options()?;
    let patch_type = PatchType::from_content_type(request.header(header::CONTENT_TYPE))?;
    let verb = match patch_type {
        PatchType::Apply => WriteVerb::Apply,
        _ => WriteVerb::Patch,
    };
    let options = WriteOptions::parse(&request.query, verb)?;
    let bytes = body::read(request, body).await?;
    let context = request.write_context(&options);
    let apply_configuration = match patch_type {
        PatchType::Apply => Some(decode_apply_configuration(request, object, &bytes, &options)?),
        _ => None,
    };
    let patch = PatchRequest {
        request,
        object,
        patch_type,
        bytes,
        manager: &context.manager,
        force: options.force,
        validation: options.field_validation,
        apply_configuration,
    };
    let result = request.server.state.registry.update(object, &patch, &context).await?;
    request.render_write_result(&result, &[], response_options)
}

/// Decodes and checks the body of a server-side apply: the fields that the client wants to own.
fn decode_apply_configuration(
    request: &RequestContext,
    object: &ObjectRef,
    bytes: &[u8],
    options: &WriteOptions,
) -> Result<(Value, Vec<String>), Status> {
    let expected = object.collection.served.expected_kind();
    let is_json = bytes.trim_ascii_start().first() == Some(&b'{');
    let format = if is_json { TextFormat::Json } else { TextFormat::Yaml };
    let decoded = body::decode_text(request, bytes, format, &expected)?;
    let (configuration, warnings) = decoded.accept(options.field_validation, &expected)?;
    write_rules::check_name(&configuration, &object.name)?;
    write_rules::check_namespace(&configuration, &object.collection.namespace)?;
    Ok((configuration, warnings))
}

/// The patch types of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    fn from_content_type(content_type: &str) -> Result<PatchType, Status> {
        match media_type(content_type) {
            "application/json-patch+json" => Ok(PatchType::Json),
            "application/merge-patch+json" => Ok(PatchType::Merge),
            "application/strategic-merge-patch+json" => Ok(PatchType::Strategic),
            "application/apply-patch+yaml" => Ok(PatchType::Apply),
            _ => Err(with_empty_details(Status::failure(
                StatusReason::UnsupportedMediaType,
                "415: Unsupported Media Type",
            ))),
        }
    }
}

/// A patch that the registry applies to the stored object, again if another write came in between.
struct PatchRequest<'a> {
    request: &'a RequestContext,
    object: &'a ObjectRef,
    patch_type: PatchType,
    bytes: body::ReceivedBody,
    manager: &'a str,
    force: bool,
    validation: FieldValidation,
    /// The decoded body of a server-side apply and its field warnings. Other patch types are decoded
    /// for each attempt, since their result depends on the stored object.
    apply_configuration: Option<(Value, Vec<String>)>,
}

impl PatchRequest<'_> {
    /// Applies the patch to an object. The result is not validated yet.
    fn apply_patch(&self, old: Option<&Value>, now: Timestamp) -> Result<Value, Status> {
        let target = old.unwrap_or(&Value::Null);
        let manager = self.object.field_manager(self.manager, now)?;
        match (self.patch_type, &self.apply_configuration) {
            (PatchType::Apply, Some((configuration, _))) => {
                let mut configuration = configuration.clone();
                if let Value::Object(fields) = &mut configuration
                    && let Value::Object(metadata) = fields.entry("metadata").or_insert(json!({}))
                {
                    metadata.insert("name".to_owned(), self.object.name.clone().into());
                }
                patch::server_side_apply(old, configuration, &manager, self.force)
            }
            (PatchType::Json, _) => patch::apply_json_patch(target, &self.bytes),
            (PatchType::Merge, _) => patch::apply_merge_patch(target, &self.bytes),
            (PatchType::Strategic | PatchType::Apply, _) => {
                patch::apply_strategic_patch(target, self.parse_strategic_patch()?, manager.schema)
            }
        }
    }

    fn parse_strategic_patch(&self) -> Result<Value, Status> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            if error.is_eof() {
                Status::bad_request("unexpected end of JSON input")
            } else {
                Status::bad_request(error.to_string())
            }
        })
    }

    /// Checks the types and field names of the patched object.
    fn check(&self, value: Value) -> Result<(Value, Vec<String>), Status> {
        let expected = self.object.collection.served.expected_kind();
        let registry = &self.request.server.state.registry;
        let decoded = DecodedObject { value, field_warnings: Vec::new() };
        let dialect = registry.validation.dialect;
        let unknown = registry.unknown_fields();
        let decoded = decode::check_object(decoded, &expected, dialect, unknown)?;
        decoded.accept(self.validation, &expected)
    }

    /// Reports a decoding error of the patched object as an invalid patch, as kube-apiserver does.
    /// The error contains the whole patch or object.
    fn as_invalid_patch(&self, old: Option<&Value>, now: Timestamp, error: Status) -> Status {
        if error.reason != StatusReason::BadRequest {
            return error;
        }
        let detail = error.message.split_once("cannot be handled as a ");
        let Some((_, reason)) = detail.and_then(|(_, detail)| detail.split_once(": ")) else {
            return error;
        };
        let (value, reason) = match self.patch_type {
            PatchType::Strategic => {
                let mut patch = self.parse_strategic_patch().unwrap_or_default();
                drop_directives(&mut patch);
                (patch::format_go_value(&patch), go_converter_message(reason))
            }
            _ => (self.apply_patch(old, now).unwrap_or_default().to_string(), reason.to_owned()),
        };
        let error = FieldError::invalid(&FieldPath::root("patch"), value.as_str(), reason);
        Status::invalid(GroupKind { group: "", kind: "" }, "", &[error])
    }
}

/// Removes directives from a strategic patch. kube-apiserver's error messages show the patch
/// without them.
fn drop_directives(patch: &mut Value) {
    match patch {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with('$'));
            for value in fields.values_mut() {
                drop_directives(value);
            }
        }
        Value::Array(items) => {
            for item in items {
                drop_directives(item);
            }
        }
        _ => {}
    }
}

/// Rephrases a type error as Go's unstructured converter does, which decodes strategic patches.
fn go_converter_message(reason: &str) -> String {
    let kind = reason.rsplit_once(" of type ").map(|(_, kind)| kind);
    match kind {
        Some(kind @ ("bool" | "int32" | "int64" | "string")) => {
            format!("unrecognized type: {kind}")
        }
        _ => reason.to_owned(),
    }
}

impl ObjectUpdate for PatchRequest<'_> {
    fn apply(&self, old: Option<&Value>, now: Timestamp) -> Result<(Value, Vec<String>), Status> {
        let checked = self.check(self.apply_patch(old, now)?);
        let (value, mut warnings) = checked.map_err(|why| self.as_invalid_patch(old, now, why))?;
        if let Some((_, field_warnings)) = &self.apply_configuration {
            warnings.clone_from(field_warnings);
        }
        Ok((value, warnings))
    }

    fn allows_create(&self) -> bool {
        self.patch_type == PatchType::Apply && self.object.subresource.is_none()
    }

    fn sets_managed_fields(&self) -> bool {
        self.patch_type == PatchType::Apply
    }
}
