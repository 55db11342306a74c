//! Handlers of writes (create, update, delete) and of self-subject reviews.

use axum::body::Body;
use http::{Response, StatusCode, header};
use jiff::Timestamp;
use punctual_api::{Status, decode, strategy};
use serde_json::{Value, json};

use super::{Call, body};
use crate::auth::evaluate_review;
use crate::patch;
use crate::registry::{
    CollectionRef, DeleteResult, ObjectRef, ObjectUpdate, WriteContext, WriteResult,
};
use crate::request::{DeleteOptions, ListOptions, ResponseFormat, WriteOptions, WriteVerb};
use crate::resource::{JOBS, Resource, SelfReview};
use crate::response::{self, ApiResult, RenderOptions};

impl Call {
    /// Returns the context of a write. The field manager defaults to the client's program name.
    pub(super) fn write_context(&self, options: &WriteOptions) -> WriteContext {
        let manager = match options.field_manager.as_str() {
            "" => patch::manager_from_user_agent(self.header(header::USER_AGENT)),
            name => name.to_owned(),
        };
        WriteContext { manager, is_dry_run: options.is_dry_run }
    }

    /// Renders a written object, with the given warnings and those of the write.
    pub(super) fn render_write_result(
        &self,
        result: &WriteResult,
        field_warnings: &[String],
        options: RenderOptions,
    ) -> ApiResult {
        let code = if result.is_new { StatusCode::CREATED } else { StatusCode::OK };
        let mut response = response::render_object(code, &result.object, options)?;
        let warnings: Vec<String> =
            field_warnings.iter().chain(&result.warnings).cloned().collect();
        response::add_warnings(&mut response, &warnings);
        Ok(response)
    }
}

/// Handles a create.
pub(super) async fn create(call: &Call, collection: CollectionRef, body: Body) -> ApiResult {
    let render_options = call.render_options()?;
    let options = WriteOptions::parse(&call.query, WriteVerb::Create)?;
    let bytes = body::read(call, body).await?;
    let expected = collection.served.expected_kind();
    let decoded = body::decode_object(call, &bytes, &expected)?;
    let (object, warnings) = decoded.accept(options.field_validation, &expected)?;
    let context = call.write_context(&options);
    let result = call.server.state.registry.create(&collection, object, &context).await?;
    call.render_write_result(&result, &warnings, render_options)
}

/// Handles an update, which replaces a whole object.
pub(super) async fn replace(call: &Call, object: &ObjectRef, body: Body) -> ApiResult {
    let render_options = call.render_options()?;
    let options = WriteOptions::parse(&call.query, WriteVerb::Update)?;
    let bytes = body::read(call, body).await?;
    let expected = object.collection.served.expected_kind();
    let decoded = body::decode_object(call, &bytes, &expected)?;
    let (new, warnings) = decoded.accept(options.field_validation, &expected)?;
    strategy::check_name(&new, &object.name)?;
    strategy::check_namespace(&new, &object.collection.namespace)?;
    let context = call.write_context(&options);
    let result = call.server.state.registry.update(object, &Replacement(new), &context).await?;
    call.render_write_result(&result, &warnings, render_options)
}

/// An update that ignores the old object.
struct Replacement(Value);

impl ObjectUpdate for Replacement {
    fn apply(&self, _: Option<&Value>, _: Timestamp) -> Result<(Value, Vec<String>), Status> {
        Ok((self.0.clone(), Vec::new()))
    }
}

/// Handles a delete.
pub(super) async fn delete(call: &Call, object: &ObjectRef, body: Body) -> ApiResult {
    let render_options = call.render_options()?;
    let bytes = body::read(call, body).await?;
    let options =
        DeleteOptions::parse(&call.query, body::decode_delete_options(call, &bytes)?.as_ref())?;
    let mut response = match call.server.state.registry.delete(object, &options).await? {
        DeleteResult::Object(stored) => {
            response::render_object(StatusCode::OK, &stored, render_options)?
        }
        DeleteResult::Status(status) => response::render_status(&status),
    };
    warn_about_orphans(&mut response, object.collection.served.resource, &options);
    Ok(response)
}

/// Warns, as kube-apiserver does, that deleting a Job without a propagation policy keeps its Pods.
fn warn_about_orphans(response: &mut Response<Body>, resource: &Resource, options: &DeleteOptions) {
    const ORPHANS: &str = "child pods are preserved by default when jobs are deleted; set \
                           propagationPolicy=Background to remove them or set \
                           propagationPolicy=Orphan to suppress this warning";
    if resource == &JOBS && options.propagation.is_none() {
        response::add_warnings(response, &[ORPHANS.to_owned()]);
    }
}

/// Handles a delete of all selected objects of a collection.
pub(super) async fn delete_collection(
    call: &Call,
    collection: CollectionRef,
    body: Body,
) -> ApiResult {
    let render_options = call.render_options()?;
    let bytes = body::read(call, body).await?;
    let options =
        DeleteOptions::parse(&call.query, body::decode_delete_options(call, &bytes)?.as_ref())?;
    let list = ListOptions::parse(&call.query, &collection.served)?;
    let registry = &call.server.state.registry;
    let (deleted, revision) =
        registry.delete_collection(&collection, &list.selector, &options).await?;
    let mut items = Vec::new();
    for stored in deleted {
        let mut item = stored.to_served_json()?;
        if let Value::Object(fields) = &mut item {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        items.push(item);
    }
    let list = json!({
        "kind": format!("{}List", collection.served.resource.kind),
        "apiVersion": collection.served.group_version.api_version,
        "metadata": {"resourceVersion": revision.to_string()},
        "items": items,
    });
    Ok(response::render_value(StatusCode::OK, &list, render_options.format))
}

/// Handles a self-subject review, which reports the caller's own identity or permissions.
pub(super) async fn review(call: &Call, review: &'static SelfReview, body: Body) -> ApiResult {
    let bytes = body::read(call, body).await?;
    let expected =
        decode::ExpectedKind { api_version: review.group_version.api_version, kind: review.kind };
    let decoded = body::decode_object(call, &bytes, &expected)?;
    let now = call.server.state.registry.env.now();
    let evaluated = evaluate_review(review, &decoded.value, &call.user, now);
    let format = ResponseFormat::negotiate(call.header(header::ACCEPT))?;
    Ok(response::render_value(StatusCode::CREATED, &evaluated, format))
}
