//! Patches: changes of objects in one of four languages.

use axum::body::Body;
use bytes::Bytes;
use http::header;
use jiff::Timestamp;
use punctual_api::decode::{self, DecodedObject, FieldValidation};
use punctual_api::field::{FieldError, FieldPath};
use punctual_api::status::{GroupKind, Status, StatusReason};
use punctual_api::strategy;
use serde_json::{Value, json};

use super::{Call, body, empty_details};
use crate::answer::Answer;
use crate::patch;
use crate::registry::{Change, ObjectRef};
use crate::request::{BodyFormat, WriteOptions, WriteVerb, media_type};

/// Changes an object as a patch says.
pub(super) async fn answer(call: &Call, object: &ObjectRef, body: Body) -> Answer {
    let showing = call.showing()?;
    let language = Language::of(call.header(header::CONTENT_TYPE))?;
    let verb = match language {
        Language::Apply => WriteVerb::Apply,
        _ => WriteVerb::Patch,
    };
    let options = WriteOptions::parse(&call.query, verb)?;
    let bytes = body::read(call, body).await?;
    let context = call.context(&options);
    let config = match language {
        Language::Apply => Some(applied(call, object, &bytes, &options)?),
        _ => None,
    };
    let patching = Patching {
        call,
        object,
        language,
        bytes,
        manager: &context.manager,
        force: options.force,
        validation: options.field_validation,
        config,
    };
    let written = call.server.shared.registry.update(object, &patching, &context).await?;
    call.written(&written, &[], showing)
}

/// The configuration of a server-side apply, checked like any object.
fn applied(
    call: &Call,
    object: &ObjectRef,
    bytes: &Bytes,
    options: &WriteOptions,
) -> Result<(Value, Vec<String>), Status> {
    let expected = object.place.view.expected();
    let is_json = bytes.trim_ascii_start().first() == Some(&b'{');
    let format = if is_json { BodyFormat::Json } else { BodyFormat::Yaml };
    let decoded = body::decoded(call, bytes, format, &expected)?;
    let (config, doubts) = decoded.accept(options.field_validation, &expected)?;
    strategy::check_name(&config, &object.name)?;
    strategy::check_namespace(&config, &object.place.namespace)?;
    Ok((config, doubts))
}

/// The languages of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Language {
    fn of(content_type: &str) -> Result<Language, Status> {
        match media_type(content_type) {
            "application/json-patch+json" => Ok(Language::Json),
            "application/merge-patch+json" => Ok(Language::Merge),
            "application/strategic-merge-patch+json" => Ok(Language::Strategic),
            "application/apply-patch+yaml" => Ok(Language::Apply),
            _ => Err(empty_details(Status::failure(
                StatusReason::UnsupportedMediaType,
                "415: Unsupported Media Type",
            ))),
        }
    }
}

struct Patching<'a> {
    call: &'a Call,
    object: &'a ObjectRef,
    language: Language,
    bytes: Bytes,
    manager: &'a str,
    force: bool,
    validation: FieldValidation,
    /// What is applied, with what is doubtful about it.
    config: Option<(Value, Vec<String>)>,
}

impl Patching<'_> {
    /// What the patch makes of the object, before anybody has looked at it.
    fn patched(&self, old: Option<&Value>, now: Timestamp) -> Result<Value, Status> {
        let nothing = Value::Null;
        let target = old.unwrap_or(&nothing);
        let writer = self.object.writer(self.manager, now)?;
        match (self.language, &self.config) {
            (Language::Apply, Some((config, _))) => {
                let mut config = config.clone();
                if let Value::Object(fields) = &mut config
                    && let Value::Object(metadata) = fields.entry("metadata").or_insert(json!({}))
                {
                    metadata.insert("name".to_owned(), self.object.name.clone().into());
                }
                patch::server_side_apply(old, config, &writer, self.force)
            }
            (Language::Json, _) => patch::apply_json_patch(target, &self.bytes),
            (Language::Merge, _) => patch::apply_merge_patch(target, &self.bytes),
            (Language::Strategic | Language::Apply, _) => {
                patch::apply_strategic_patch(target, self.strategic_patch()?, writer.shape)
            }
        }
    }

    fn strategic_patch(&self) -> Result<Value, Status> {
        serde_json::from_slice(&self.bytes).map_err(|why| match why.is_eof() {
            true => Status::bad_request("unexpected end of JSON input"),
            false => Status::bad_request(why.to_string()),
        })
    }

    /// Checks what the patch made of the object, like any object.
    fn checked(&self, value: Value) -> Result<(Value, Vec<String>), Status> {
        let expected = self.object.place.view.expected();
        let registry = &self.call.server.shared.registry;
        let decoded = DecodedObject { value, field_warnings: Vec::new() };
        let (dialect, unknown) = (registry.rules.dialect, registry.unknown_fields());
        let decoded = decode::check_object(decoded, &expected, dialect, unknown)?;
        decoded.accept(self.validation, &expected)
    }

    /// Kubernetes blames the patch for what it makes of the object, and shows it whole.
    fn blamed(&self, old: Option<&Value>, now: Timestamp, why: Status) -> Status {
        let (prefix, path) = ("cannot be handled as a ", FieldPath::root("patch"));
        let reason = why.message.split_once(prefix).and_then(|(_, rest)| rest.split_once(": "));
        let Some((_, reason)) = reason.filter(|_| why.reason == StatusReason::BadRequest) else {
            return why;
        };
        let (shown, reason) = match self.language {
            Language::Strategic => {
                let mut patch = self.strategic_patch().unwrap_or_default();
                drop_directives(&mut patch);
                (patch::shown(&patch), converted(reason))
            }
            _ => (self.patched(old, now).unwrap_or_default().to_string(), reason.to_owned()),
        };
        let error = FieldError::invalid(&path, shown.as_str(), reason);
        Status::invalid(GroupKind { group: "", kind: "" }, "", &[error])
    }
}

/// Directives are used up by the time that Kubernetes shows a patch.
fn drop_directives(patch: &mut Value) {
    match patch {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with('$'));
            fields.values_mut().for_each(drop_directives);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_directives),
        _ => {}
    }
}

/// The words of Go's converter, which strategic patches go through, for a value of a wrong type.
fn converted(reason: &str) -> String {
    let kind = reason.rsplit_once(" of type ").map(|(_, kind)| kind);
    match kind {
        Some(kind @ ("bool" | "int32" | "int64" | "string")) => {
            format!("unrecognized type: {kind}")
        }
        _ => reason.to_owned(),
    }
}

impl Change for Patching<'_> {
    fn apply(&self, old: Option<&Value>, now: Timestamp) -> Result<(Value, Vec<String>), Status> {
        let checked = self.checked(self.patched(old, now)?);
        let (value, mut doubts) = checked.map_err(|why| self.blamed(old, now, why))?;
        if let Some((_, config_doubts)) = &self.config {
            doubts.clone_from(config_doubts);
        }
        Ok((value, doubts))
    }

    fn creates(&self) -> bool {
        self.language == Language::Apply && self.object.below.is_none()
    }

    fn tracks(&self) -> bool {
        self.language == Language::Apply
    }
}
