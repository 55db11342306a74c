//! Writes: new objects, changes, ends, and questions about oneself.

use axum::body::Body;
use bytes::Bytes;
use http::{Response, StatusCode, header};
use jiff::Timestamp;
use punctual_api::decode::{self, Decoded, FieldValidation};
use punctual_api::status::{Reason, Status};
use punctual_api::strategy;
use serde_json::{Value, json};

use super::{Call, body, empty_details};
use crate::answer::{self, Answer};
use crate::auth::answer_review;
use crate::patch;
use crate::registry::{Change, Deleted, Hand, ObjectRef, Place, Written};
use crate::request::{
    BodyFormat, DeleteOptions, Form, ListOptions, WriteOptions, WriteVerb, media_type,
};
use crate::resource::{JOBS, Resource, Review};

impl Call {
    /// Who writes, by the option or else by the name of the program.
    fn hand(&self, options: &WriteOptions) -> Hand {
        let manager = match options.field_manager.as_str() {
            "" => patch::manager_of(self.header(header::USER_AGENT)),
            name => name.to_owned(),
        };
        Hand { manager, is_dry_run: options.is_dry_run }
    }

    fn written(&self, written: &Written, doubts: &[String]) -> Answer {
        let code = if written.is_new { StatusCode::CREATED } else { StatusCode::OK };
        let mut response = answer::object(code, &written.object, self.showing()?)?;
        let warnings: Vec<String> = doubts.iter().chain(&written.warnings).cloned().collect();
        answer::warn(&mut response, &warnings);
        Ok(response)
    }
}

/// A new object.
pub(super) async fn create(call: &Call, place: Place, body: Body) -> Answer {
    call.showing()?;
    let options = WriteOptions::parse(&call.query, WriteVerb::Create)?;
    let bytes = body::read(call, body).await?;
    let expected = place.view.expected();
    let decoded = body::object(call, &bytes, &expected)?;
    let (object, doubts) = decoded.accept(options.field_validation, &expected)?;
    let hand = call.hand(&options);
    let written = call.server.shared.registry.create(&place, object, &hand).await?;
    call.written(&written, &doubts)
}

/// A whole object in the place of another.
pub(super) async fn replace(call: &Call, object: &ObjectRef, body: Body) -> Answer {
    call.showing()?;
    let options = WriteOptions::parse(&call.query, WriteVerb::Update)?;
    let bytes = body::read(call, body).await?;
    let expected = object.place.view.expected();
    let decoded = body::object(call, &bytes, &expected)?;
    let (new, doubts) = decoded.accept(options.field_validation, &expected)?;
    strategy::check_name(&new, &object.name)?;
    strategy::check_namespace(&new, &object.place.namespace)?;
    let hand = call.hand(&options);
    let written = call.server.shared.registry.update(object, &Replacement(new), &hand).await?;
    call.written(&written, &doubts)
}

struct Replacement(Value);

impl Change for Replacement {
    fn apply(&self, _: Option<&Value>, _: Timestamp) -> Result<(Value, Vec<String>), Status> {
        Ok((self.0.clone(), Vec::new()))
    }
}

/// A change of an object, in one of four languages.
pub(super) async fn patch(call: &Call, object: &ObjectRef, body: Body) -> Answer {
    call.showing()?;
    let language = Language::of(call.header(header::CONTENT_TYPE))?;
    let verb = match language {
        Language::Apply => WriteVerb::Apply,
        _ => WriteVerb::Patch,
    };
    let options = WriteOptions::parse(&call.query, verb)?;
    let bytes = body::read(call, body).await?;
    let hand = call.hand(&options);
    let config = match language {
        Language::Apply => Some(applied(call, object, &bytes, &options)?),
        _ => None,
    };
    let patching = Patching {
        call,
        object,
        language,
        bytes,
        manager: &hand.manager,
        force: options.force,
        validation: options.field_validation,
        config,
    };
    let written = call.server.shared.registry.update(object, &patching, &hand).await?;
    call.written(&written, &[])
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
                Reason::UnsupportedMediaType,
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
                patch::apply(old, config, &writer, self.force)
            }
            (Language::Json, _) => patch::json(target, &self.bytes),
            (Language::Merge, _) => patch::merge(target, &self.bytes),
            (Language::Strategic | Language::Apply, _) => {
                let patch = serde_json::from_slice(&self.bytes)
                    .map_err(|why| Status::bad_request(format!("error decoding patch: {why}")))?;
                patch::strategic(target, patch, writer.shape)
            }
        }
    }
}

impl Change for Patching<'_> {
    fn apply(&self, old: Option<&Value>, now: Timestamp) -> Result<(Value, Vec<String>), Status> {
        let value = self.patched(old, now)?;
        let expected = self.object.place.view.expected();
        let registry = &self.call.server.shared.registry;
        let decoded = Decoded { value, doubts: Vec::new() };
        let (dialect, unknown) = (registry.rules.dialect, registry.unknown_fields());
        let decoded = decode::tree(decoded, &expected, dialect, unknown)?;
        let (value, mut doubts) = decoded.accept(self.validation, &expected)?;
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

/// The end of an object.
pub(super) async fn delete(call: &Call, object: &ObjectRef, body: Body) -> Answer {
    let showing = call.showing()?;
    let bytes = body::read(call, body).await?;
    let options = DeleteOptions::parse(&call.query, body::options(call, &bytes)?.as_ref())?;
    let mut response = match call.server.shared.registry.delete(object, &options).await? {
        Deleted::Shown(stored) => answer::object(StatusCode::OK, &stored, showing)?,
        Deleted::Gone(status) => answer::status(&status),
    };
    warn_of_orphans(&mut response, object.place.view.resource, &options);
    Ok(response)
}

/// Whoever deletes a Job and says nothing about its Pods may not expect them to stay.
fn warn_of_orphans(response: &mut Response<Body>, resource: &Resource, options: &DeleteOptions) {
    const ORPHANS: &str = "child pods are preserved by default when jobs are deleted; set \
                           propagationPolicy=Background to remove them or set \
                           propagationPolicy=Orphan to suppress this warning";
    if resource == &JOBS && options.propagation.is_none() {
        answer::warn(response, &[ORPHANS.to_owned()]);
    }
}

/// The end of many objects.
pub(super) async fn delete_collection(call: &Call, place: Place, body: Body) -> Answer {
    let showing = call.showing()?;
    let bytes = body::read(call, body).await?;
    let options = DeleteOptions::parse(&call.query, body::options(call, &bytes)?.as_ref())?;
    let list = ListOptions::parse(&call.query, &place.view)?;
    let registry = &call.server.shared.registry;
    let (deleted, revision) = registry.delete_collection(&place, &list.selector, &options).await?;
    let mut items = Vec::new();
    for stored in deleted {
        let mut item = stored.served_tree()?;
        if let Value::Object(fields) = &mut item {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        items.push(item);
    }
    let list = json!({
        "kind": format!("{}List", place.view.resource.kind),
        "apiVersion": place.view.served.api_version,
        "metadata": {"resourceVersion": revision.to_string()},
        "items": items,
    });
    Ok(answer::tree_as(StatusCode::OK, &list, showing.form))
}

/// A question of somebody about themselves.
pub(super) async fn review(call: &Call, review: &'static Review, body: Body) -> Answer {
    let bytes = body::read(call, body).await?;
    let expected = decode::Expected { api_version: review.served.api_version, kind: review.kind };
    let decoded = body::object(call, &bytes, &expected)?;
    let now = call.server.shared.registry.world.now();
    let answer = answer_review(review, &decoded.value, &call.user, now);
    let form = Form::accepted(call.header(header::ACCEPT))?;
    let response: Response<Body> = answer::tree_as(StatusCode::CREATED, &answer, form);
    Ok(response)
}
