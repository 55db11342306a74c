//! Handlers of reads of slot records, which are computed from statuses and the archive.

use http::StatusCode;
use punctual_api::Status;

use super::{RequestContext, watch};
use crate::registry::{CollectionRef, ObjectRef};
use crate::request::{ListOptions, QueryParams};
use crate::response::{self, ApiResult, RecordListOptions};

/// Handles a get.
pub(super) async fn get(request: &RequestContext, object: &ObjectRef) -> ApiResult {
    let options = request.response_options()?;
    let served = object.collection.served;
    // A name is never part of the query text, because it may contain any character.
    let mut list = ListOptions::parse(&QueryParams::default(), &served)?;
    list.selector = crate::selector::Selector::for_name(&object.name);
    let registry = &request.server.state.registry;
    let stored = registry.get_record(&object.collection, &list).await?;
    let stored = stored.ok_or_else(|| Status::not_found(served.group_resource(), &object.name))?;
    response::render_object(StatusCode::OK, &stored, options)
}

/// Handles a list or a watch.
pub(super) async fn list_or_watch(
    request: &RequestContext,
    collection: CollectionRef,
) -> ApiResult {
    let response_options = request.response_options()?;
    let options = ListOptions::parse(&request.query, &collection.served)?;
    if options.is_watch {
        return watch::respond(request, &collection, &options, response_options).await;
    }
    let registry = &request.server.state.registry;
    let rendering = RecordListOptions {
        served: collection.served,
        options: response_options,
        accepts_gzip: request.accepts_gzip(),
    };
    if options.limit > 0 {
        let page = registry.list_record_page(&collection, &options).await?;
        return response::render_record_page(&page, rendering);
    }
    let (query, revision) = registry.query_records(&collection, &options).await?;
    let archive = registry.store.archive().clone();
    response::render_record_list(archive, query, revision, rendering).await
}
