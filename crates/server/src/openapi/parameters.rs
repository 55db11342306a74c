//! The parameters of requests. kubectl looks here for what a server can do.

use serde_json::{Value, json};

/// A parameter of a request.
struct Parameter {
    name: &'static str,
    ty: &'static str,
    description: &'static str,
}

const fn query(name: &'static str, ty: &'static str, description: &'static str) -> Parameter {
    Parameter { name, ty, description }
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
/// Parameters of a deletion.
pub(super) const DELETE: &[&str] =
    &["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"];
/// Parameters of the deletion of all objects that are selected.
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

const ALL: [Parameter; 27] = [
    query("allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks."),
    query("container", "string", "The container whose log is wanted; needed if there are several."),
    query("continue", "string", "Where a list that came in parts goes on, as the last part said."),
    query(
        "dryRun",
        "string",
        "With `All`, the request is checked and answered, and nothing is kept.",
    ),
    query("fieldManager", "string", "In whose name fields are set; needed for apply."),
    query("fieldSelector", "string", "Only objects whose fields match."),
    query(
        "fieldValidation",
        "string",
        "What becomes of fields that are unknown or given twice: `Ignore`, `Warn` or `Strict`.",
    ),
    query("follow", "boolean", "Whether the log is sent on as it grows."),
    query("force", "boolean", "Whether apply takes fields from other managers. Only for apply."),
    query("gracePeriodSeconds", "integer", "How long the object may take to end; zero is at once."),
    query(
        "insecureSkipTLSVerifyBackend",
        "boolean",
        "Taken and without effect: logs are read locally.",
    ),
    query("labelSelector", "string", "Only objects whose labels match."),
    query("limit", "integer", "How many objects a part of a list may have."),
    query("limitBytes", "integer", "How many bytes of the log are sent at most."),
    query(
        "orphanDependents",
        "boolean",
        "Whether dependents stay. Superseded by `propagationPolicy`.",
    ),
    query("pretty", "string", "Taken and without effect: answers are for programs."),
    query(
        "previous",
        "boolean",
        "Whether the log of the container before its last restart is wanted.",
    ),
    query(
        "propagationPolicy",
        "string",
        "What becomes of dependents: `Orphan`, `Background` or `Foreground`.",
    ),
    query(
        "resourceVersion",
        "string",
        "How recent the answer has to be; for a watch, where it starts.",
    ),
    query(
        "resourceVersionMatch",
        "string",
        "How `resourceVersion` is meant: `Exact` or `NotOlderThan`.",
    ),
    query(
        "sendInitialEvents",
        "boolean",
        "Whether a watch begins with what is there, and says when that is done.",
    ),
    query("sinceSeconds", "integer", "Only lines of the last so many seconds."),
    query("stream", "string", "Which output is wanted; only `All` is known here."),
    query("tailLines", "integer", "Only so many lines, from the end."),
    query("timeoutSeconds", "integer", "How long a list or watch may take."),
    query("timestamps", "boolean", "Whether lines begin with their time."),
    query("watch", "boolean", "Whether changes are sent as they happen instead of a list."),
];

/// The query parameters of those names.
pub(super) fn named(names: &[&str]) -> Vec<Value> {
    let known = ALL.iter().filter(|parameter| names.contains(&parameter.name));
    known
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

/// A part of a path.
pub(super) fn in_path(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": { "type": "string", "uniqueItems": true },
    })
}
