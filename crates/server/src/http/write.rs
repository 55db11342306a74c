//! Writes: new objects, changes, ends, and questions about oneself.

use axum::body::Body;
use http::{Response, StatusCode, header};
use jiff::Timestamp;
use punctual_api::{Status, decode, strategy};
use serde_json::{Value, json};

use super::{Call, body};
use crate::answer::{self, Answer, Showing};
use crate::auth::answer_review;
use crate::patch;
use crate::registry::{Change, Deleted, ObjectRef, Place, WriteContext, Written};
use crate::request::{DeleteOptions, Form, ListOptions, WriteOptions, WriteVerb};
use crate::resource::{JOBS, Resource, Review};

impl Call {
    /// Who writes, by the option or else by the name of the program.
    pub(super) fn context(&self, options: &WriteOptions) -> WriteContext {
        let manager = match options.field_manager.as_str() {
            "" => patch::manager_from_user_agent(self.header(header::USER_AGENT)),
            name => name.to_owned(),
        };
        WriteContext { manager, is_dry_run: options.is_dry_run }
    }

    pub(super) fn written(&self, written: &Written, doubts: &[String], showing: Showing) -> Answer {
        let code = if written.is_new { StatusCode::CREATED } else { StatusCode::OK };
        let mut response = answer::object(code, &written.object, showing)?;
        let warnings: Vec<String> = doubts.iter().chain(&written.warnings).cloned().collect();
        answer::warn(&mut response, &warnings);
        Ok(response)
    }
}

/// A new object.
pub(super) async fn create(call: &Call, place: Place, body: Body) -> Answer {
    let showing = call.showing()?;
    let options = WriteOptions::parse(&call.query, WriteVerb::Create)?;
    let bytes = body::read(call, body).await?;
    let expected = place.view.expected();
    let decoded = body::object(call, &bytes, &expected)?;
    let (object, doubts) = decoded.accept(options.field_validation, &expected)?;
    let context = call.context(&options);
    let written = call.server.shared.registry.create(&place, object, &context).await?;
    call.written(&written, &doubts, showing)
}

/// A whole object in the place of another.
pub(super) async fn replace(call: &Call, object: &ObjectRef, body: Body) -> Answer {
    let showing = call.showing()?;
    let options = WriteOptions::parse(&call.query, WriteVerb::Update)?;
    let bytes = body::read(call, body).await?;
    let expected = object.place.view.expected();
    let decoded = body::object(call, &bytes, &expected)?;
    let (new, doubts) = decoded.accept(options.field_validation, &expected)?;
    strategy::check_name(&new, &object.name)?;
    strategy::check_namespace(&new, &object.place.namespace)?;
    let context = call.context(&options);
    let written = call.server.shared.registry.update(object, &Replacement(new), &context).await?;
    call.written(&written, &doubts, showing)
}

struct Replacement(Value);

impl Change for Replacement {
    fn apply(&self, _: Option<&Value>, _: Timestamp) -> Result<(Value, Vec<String>), Status> {
        Ok((self.0.clone(), Vec::new()))
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
    let expected =
        decode::ExpectedKind { api_version: review.served.api_version, kind: review.kind };
    let decoded = body::object(call, &bytes, &expected)?;
    let now = call.server.shared.registry.env.now();
    let answer = answer_review(review, &decoded.value, &call.user, now);
    let form = Form::accepted(call.header(header::ACCEPT))?;
    Ok(answer::tree_as(StatusCode::CREATED, &answer, form))
}
