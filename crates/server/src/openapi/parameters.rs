//! The query parameters of operations in OpenAPI documents. kubectl reads them to learn what a
//! server supports.

use serde_json::{Value, json};

/// A query parameter.
struct QueryParameter {
    name: &'static str,
    ty: &'static str,
    description: &'static str,
}

const fn query(name: &'static str, ty: &'static str, description: &'static str) -> QueryParameter {
    QueryParameter { name, ty, description }
}

/// Parameters of a list or a watch.
pub(super) const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
/// Parameters of a write.
pub(super) const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
/// Parameters of a patch.
pub(super) const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
/// Parameters of a delete.
pub(super) const DELETE: &[&str] =
    &["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"];
/// Parameters of a delete of a collection.
pub(super) const DELETE_COLLECTION: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];
/// Parameters of a log.
pub(super) const LOG: &[&str] = &[
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
];

const QUERY_PARAMETERS: [QueryParameter; 27] = [
    query("allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks."),
    query("container", "string", "The container; required if the Pod has several."),
    query("continue", "string", "The token of the previous page of a list."),
    query(
        "dryRun",
        "string",
        "With `All`, the request is validated and answered, but nothing is stored.",
    ),
    query("fieldManager", "string", "The name of the field manager; required for apply."),
    query("fieldSelector", "string", "Selects objects by their fields."),
    query(
        "fieldValidation",
        "string",
        "How unknown and duplicate fields are treated: `Ignore`, `Warn` or `Strict`.",
    ),
    query("follow", "boolean", "Whether new lines are streamed as they are written."),
    query("force", "boolean", "Whether apply takes fields from other managers. Only for apply."),
    query("gracePeriodSeconds", "integer", "The grace period; zero deletes immediately."),
    query(
        "insecureSkipTLSVerifyBackend",
        "boolean",
        "Accepted without effect: logs are read locally.",
    ),
    query("labelSelector", "string", "Selects objects by their labels."),
    query("limit", "integer", "The maximum number of objects in a page."),
    query("limitBytes", "integer", "The maximum number of bytes of the log."),
    query(
        "orphanDependents",
        "boolean",
        "Whether dependents are kept. Deprecated: use `propagationPolicy`.",
    ),
    query("pretty", "string", "Accepted without effect."),
    query("previous", "boolean", "Whether to return the log of the previous run of the container."),
    query(
        "propagationPolicy",
        "string",
        "How dependents are treated: `Orphan`, `Background` or `Foreground`.",
    ),
    query(
        "resourceVersion",
        "string",
        "The version to return; for a watch, the version to start after.",
    ),
    query(
        "resourceVersionMatch",
        "string",
        "How `resourceVersion` is matched: `Exact` or `NotOlderThan`.",
    ),
    query(
        "sendInitialEvents",
        "boolean",
        "Whether a watch starts with the existing objects and a bookmark that ends them.",
    ),
    query("sinceSeconds", "integer", "Only lines of the last so many seconds."),
    query("stream", "string", "The output to return; only `All` is supported."),
    query("tailLines", "integer", "The number of lines from the end of the log."),
    query("timeoutSeconds", "integer", "The time limit of a list or watch."),
    query("timestamps", "boolean", "Whether each line starts with its time."),
    query("watch", "boolean", "Whether to stream changes instead of returning a list."),
];

/// Renders the query parameters with these names.
pub(super) fn render_query(names: &[&str]) -> Vec<Value> {
    let selected = QUERY_PARAMETERS.iter().filter(|parameter| names.contains(&parameter.name));
    selected
        .map(|parameter| {
            json!({
                "name": parameter.name,
                "in": "query",
                "description": parameter.description,
                "schema": { "type": parameter.ty, "uniqueItems": true },
            })
        })
        .collect()
}

/// Renders a path parameter.
pub(super) fn render_path(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": { "type": "string", "uniqueItems": true },
    })
}
