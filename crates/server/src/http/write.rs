//! Handlers of writes (create, update, delete) and of self-subject reviews.

use axum::body::Body;
use http::{Response, StatusCode, header};
use jiff::Timestamp;
use punctual_api::{Status, decode, write_rules};
use serde_json::{Value, json};

use super::{RequestContext, body};
use crate::auth::evaluate_review;
use crate::patch;
use crate::registry::{
    CollectionRef, DeleteResult, ObjectRef, ObjectUpdate, WriteContext, WriteResult,
};
use crate::request::{DeleteOptions, ListOptions, ResponseFormat, WriteOptions, WriteVerb};
use crate::resource::{JOBS, Resource, SelfReview};
use crate::response::{self, ApiResult, ResponseOptions};

impl RequestContext {
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
        options: ResponseOptions,
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
pub(super) async fn create(
    request: &RequestContext,
    collection: CollectionRef,
    body: &mut Body,
) -> ApiResult {
    let response_options = request.response_options()?;
    let options = WriteOptions::parse(&request.query, WriteVerb::Create)?;
    let bytes = body::read(request, body).await?;
    let expected = collection.served.expected_kind();
    let decoded = body::decode_object(request, &bytes, &expected)?;
    let (object, warnings) = decoded.accept(options.field_validation, &expected)?;
    let context = request.write_context(&options);
    let result = request.server.state.registry.create(&collection, object, &context).await?;
    request.render_write_result(&result, &warnings, response_options)
}

/// Handles an update, which replaces a whole object.
pub(super) async fn replace(
    request: &RequestContext,
    object: &ObjectRef,
    body: &mut Body,
) -> ApiResult {
    let response_options = request.response_options()?;
    let options = WriteOptions::parse(&request.query, WriteVerb::Update)?;
    let bytes = body::read(request, body).await?;
    let expected = object.collection.served.expected_kind();
    let decoded = body::decode_object(request, &bytes, &expected)?;
    let (new, warnings) = decoded.accept(options.field_validation, &expected)?;
    write_rules::check_name(&new, &object.name)?;
    write_rules::check_namespace(&new, &object.collection.namespace)?;
    let context = request.write_context(&options);
    let result = request.server.state.registry.update(object, &Replacement(new), &context).await?;
    request.render_write_result(&result, &warnings, response_options)
}

/// An update that ignores the old object.
struct Replacement(Value);

impl ObjectUpdate for Replacement {
    fn apply(&self, _: Option<&Value>, _: Timestamp) -> Result<(Value, Vec<String>), Status> {
        Ok((self.0.clone(), Vec::new()))
    }
}

/// Handles a delete.
pub(super) async fn delete(
    request: &RequestContext,
    object: &ObjectRef,
    body: &mut Body,
) -> ApiResult {
    let response_options = request.response_options()?;
    let options = read_delete_options(request, body).await?;
    let mut response = match request.server.state.registry.delete(object, &options).await? {
        DeleteResult::Object(stored) => {
            response::render_object(StatusCode::OK, &stored, response_options)?
        }
        DeleteResult::Status(status) => response::render_status(&status),
    };
    warn_about_orphans(&mut response, object.collection.served.resource, &options);
    Ok(response)
}

/// Reads the options of a delete from its query and its body.
async fn read_delete_options(
    request: &RequestContext,
    body: &mut Body,
) -> Result<DeleteOptions, Status> {
    let bytes = body::read(request, body).await?;
    let given = body::decode_delete_options(request, &bytes)?;
    DeleteOptions::parse(&request.query, given.as_ref())
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
    request: &RequestContext,
    collection: CollectionRef,
    body: &mut Body,
) -> ApiResult {
    let response_options = request.response_options()?;
    let options = read_delete_options(request, body).await?;
    let list = ListOptions::parse(&request.query, &collection.served)?;
    let registry = &request.server.state.registry;
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
    Ok(response::render_value(StatusCode::OK, &list, response_options.format))
}

/// Handles a self-subject review, which reports the caller's own identity or permissions.
pub(super) async fn review(
    request: &RequestContext,
    review: &'static SelfReview,
    body: &mut Body,
) -> ApiResult {
    let bytes = body::read(request, body).await?;
    let expected =
        decode::ExpectedKind { api_version: review.group_version.api_version, kind: review.kind };
    let decoded = body::decode_object(request, &bytes, &expected)?;
    let now = request.server.state.registry.env.now();
    let evaluated = evaluate_review(review, &decoded.value, &request.user, now);
    let format = ResponseFormat::negotiate(request.header(header::ACCEPT))?;
    Ok(response::render_value(StatusCode::CREATED, &evaluated, format))
}
