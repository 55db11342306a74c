//! The operations of a path in an OpenAPI document, such as list or patch: parameters, request
//! bodies and responses.

use serde_json::{Map, Value, json};

use super::names::{self, REF_PREFIX};
use super::parameters;
use crate::resource::GroupVersion;

/// Kinds whose deletion returns the object instead of a status.
const DELETE_RETURNS_OBJECT: [&str; 3] = ["Pod", "ResourceQuota", "ServiceAccount"];

/// The media types of responses.
const MEDIA_TYPES: [&str; 2] = ["application/json", "application/yaml"];

/// The media types of patches.
const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// An operation of a path.
pub(super) struct ApiOperation {
    /// The HTTP method.
    pub(super) method: &'static str,
    /// The value of `x-kubernetes-action`.
    kubernetes_action: &'static str,
    /// The first word of the operation's identifier (`operationId`).
    id_prefix: &'static str,
    description: &'static str,
    parameters: &'static [&'static str],
    body: RequestBody,
    response: ResponseContent,
    codes: &'static [&'static str],
}

enum RequestBody {
    None,
    Object,
    DeleteOptions,
    Patch,
}

enum ResponseContent {
    Object,
    List,
    Status,
    Text,
}

pub(super) const LIST: ApiOperation = ApiOperation {
    method: "get",
    kubernetes_action: "list",
    id_prefix: "list",
    description: "List or watch objects.",
    parameters: parameters::LIST,
    body: RequestBody::None,
    response: ResponseContent::List,
    codes: &["200"],
};

pub(super) const CREATE: ApiOperation = ApiOperation {
    method: "post",
    kubernetes_action: "post",
    id_prefix: "create",
    description: "Create an object.",
    parameters: parameters::WRITE,
    body: RequestBody::Object,
    response: ResponseContent::Object,
    codes: &["200", "201", "202"],
};

pub(super) const DELETE_COLLECTION: ApiOperation = ApiOperation {
    method: "delete",
    kubernetes_action: "deletecollection",
    id_prefix: "delete",
    description: "Delete all selected objects.",
    parameters: parameters::DELETE_COLLECTION,
    body: RequestBody::DeleteOptions,
    response: ResponseContent::Status,
    codes: &["200"],
};

pub(super) const READ: ApiOperation = ApiOperation {
    method: "get",
    kubernetes_action: "get",
    id_prefix: "read",
    description: "Read an object.",
    parameters: &[],
    body: RequestBody::None,
    response: ResponseContent::Object,
    codes: &["200"],
};

pub(super) const READ_LOG: ApiOperation = ApiOperation {
    description: "Read the log of a container.",
    parameters: parameters::LOG,
    response: ResponseContent::Text,
    ..READ
};

pub(super) const REPLACE: ApiOperation = ApiOperation {
    method: "put",
    kubernetes_action: "put",
    id_prefix: "replace",
    description: "Replace an object.",
    parameters: parameters::WRITE,
    body: RequestBody::Object,
    response: ResponseContent::Object,
    codes: &["200", "201"],
};

pub(super) const PATCH: ApiOperation = ApiOperation {
    method: "patch",
    kubernetes_action: "patch",
    id_prefix: "patch",
    description: "Change a part of an object.",
    parameters: parameters::PATCH,
    body: RequestBody::Patch,
    response: ResponseContent::Object,
    codes: &["200", "201"],
};

pub(super) const DELETE: ApiOperation = ApiOperation {
    method: "delete",
    kubernetes_action: "delete",
    id_prefix: "delete",
    description: "Delete an object.",
    parameters: parameters::DELETE,
    body: RequestBody::DeleteOptions,
    response: ResponseContent::Status,
    codes: &["200", "202"],
};

/// The object or collection of an operation.
#[derive(Clone, Copy)]
pub(super) struct OperationTarget<'a> {
    pub(super) group_version: GroupVersion,
    pub(super) kind: &'a str,
    /// The name of the schema of the kind.
    pub(super) schema: &'a str,
    /// The word before the kind in the operation's identifier: `Namespaced` or empty.
    pub(super) kind_prefix: &'static str,
    /// The word after the kind in the operation's identifier, such as `Status`, or empty.
    pub(super) kind_suffix: &'a str,
}

impl ApiOperation {
    /// Renders the operation for a target.
    pub(super) fn render(&self, target: &OperationTarget<'_>) -> Value {
        let GroupVersion { group, version, .. } = target.group_version;
        let mut operation = json!({
            "tags": [tag(target.group_version)],
            "description": self.description,
            "operationId": self.id(target),
            "responses": self.responses(target),
            "x-kubernetes-action": self.kubernetes_action,
            "x-kubernetes-group-version-kind": {
                "group": group, "version": version, "kind": target.kind,
            },
        });
        if let Some(entries) = operation.as_object_mut() {
            let parameters = parameters::render_query(self.parameters);
            if !parameters.is_empty() {
                entries.insert("parameters".to_owned(), Value::Array(parameters));
            }
            if let Some(body) = self.request_body(target) {
                entries.insert("requestBody".to_owned(), body);
            }
        }
        operation
    }

    /// Returns the identifier. It is that of Kubernetes, since client generators derive method
    /// names from it.
    fn id(&self, target: &OperationTarget<'_>) -> String {
        let collection =
            if self.kubernetes_action == "deletecollection" { "Collection" } else { "" };
        let OperationTarget { kind, kind_prefix, kind_suffix, .. } = target;
        format!(
            "{}{}{collection}{kind_prefix}{kind}{kind_suffix}",
            self.id_prefix,
            camel_case(target.group_version)
        )
    }

    fn request_body(&self, target: &OperationTarget<'_>) -> Option<Value> {
        let body = match self.body {
            RequestBody::None => return None,
            RequestBody::Object => {
                json!({ "content": content(&["*/*"], target.schema), "required": true })
            }
            RequestBody::DeleteOptions => {
                json!({ "content": content(&["*/*"], &names::meta_schema("DeleteOptions")) })
            }
            RequestBody::Patch => {
                let content = content(&PATCH_TYPES, &names::meta_schema("Patch"));
                json!({ "content": content, "required": true })
            }
        };
        Some(body)
    }

    fn responses(&self, target: &OperationTarget<'_>) -> Value {
        let content = match self.response {
            ResponseContent::Object => content(&MEDIA_TYPES, target.schema),
            ResponseContent::Status if self.returns_object(target) => {
                content(&MEDIA_TYPES, target.schema)
            }
            ResponseContent::Status => content(&MEDIA_TYPES, &names::meta_schema("Status")),
            ResponseContent::Text => json!({ "text/plain": { "schema": { "type": "string" } } }),
            ResponseContent::List => {
                let [json, yaml] = MEDIA_TYPES;
                let media_types = [json, "application/json;stream=watch", yaml];
                content(&media_types, &format!("{}List", target.schema))
            }
        };
        responses(self.codes, &content)
    }

    fn returns_object(&self, target: &OperationTarget<'_>) -> bool {
        self.kubernetes_action == "delete" && DELETE_RETURNS_OBJECT.contains(&target.kind)
    }
}

/// Renders the discovery operation of a group and version.
pub(super) fn discovery(group_version: GroupVersion) -> Value {
    let content = content(&MEDIA_TYPES, &names::meta_schema("APIResourceList"));
    json!({
        "get": {
            "tags": [tag(group_version)],
            "description": "List the resources of this group and version.",
            "operationId": format!("get{}APIResources", camel_case(group_version)),
            "responses": responses(&["200"], &content),
        },
    })
}

fn responses(codes: &[&str], content: &Value) -> Value {
    let description = |code: &str| match code {
        "200" => "OK",
        "201" => "Created",
        _ => "Accepted",
    };
    let entry = |code: &&str| {
        ((*code).to_owned(), json!({ "description": description(code), "content": content }))
    };
    let mut responses: Map<_, _> = codes.iter().map(entry).collect();
    responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
    Value::Object(responses)
}

fn content(media_types: &[&str], schema: &str) -> Value {
    let schema = json!({ "schema": { "$ref": format!("{REF_PREFIX}{schema}") } });
    let entries = media_types.iter().map(|media_type| ((*media_type).to_owned(), schema.clone()));
    entries.collect()
}

/// Returns the first segment of a group's name, or `core` for the core group.
fn short_group(group_version: GroupVersion) -> &'static str {
    match group_version.group.split('.').next() {
        Some(name) if !name.is_empty() => name,
        _ => "core",
    }
}

fn tag(group_version: GroupVersion) -> String {
    format!("{}_{}", short_group(group_version), group_version.version)
}

fn camel_case(group_version: GroupVersion) -> String {
    [short_group(group_version), group_version.version].map(capitalize).concat()
}

/// Capitalizes a word.
pub(super) fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
