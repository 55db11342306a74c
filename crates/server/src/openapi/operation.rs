//! What can be asked at a path.

use serde_json::{Map, Value, json};

use super::names::{self, REF_PREFIX};
use super::parameters;
use crate::resource::GroupVersion;

/// Kinds whose deletion answers with the object, not with a status.
const ANSWER_WITH_OBJECT: [&str; 2] = ["Pod", "ServiceAccount"];

/// The media types of answers.
const MEDIA_TYPES: [&str; 2] = ["application/json", "application/yaml"];

/// The media types of patches.
const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// Something that can be asked for.
pub(super) struct Operation {
    pub(super) method: &'static str,
    action: &'static str,
    /// The first word of its identifier.
    verb: &'static str,
    description: &'static str,
    parameters: &'static [&'static str],
    body: Body,
    answer: Answer,
    codes: &'static [&'static str],
}

enum Body {
    None,
    Object,
    DeleteOptions,
    Patch,
}

enum Answer {
    Object,
    List,
    Status,
    Text,
}

pub(super) const LIST: Operation = Operation {
    method: "get",
    action: "list",
    verb: "list",
    description: "List or watch objects.",
    parameters: parameters::LIST,
    body: Body::None,
    answer: Answer::List,
    codes: &["200"],
};

pub(super) const CREATE: Operation = Operation {
    method: "post",
    action: "post",
    verb: "create",
    description: "Create an object.",
    parameters: parameters::WRITE,
    body: Body::Object,
    answer: Answer::Object,
    codes: &["200", "201", "202"],
};

pub(super) const DELETE_COLLECTION: Operation = Operation {
    method: "delete",
    action: "deletecollection",
    verb: "delete",
    description: "Delete all objects that are selected.",
    parameters: parameters::DELETE_COLLECTION,
    body: Body::DeleteOptions,
    answer: Answer::Status,
    codes: &["200"],
};

pub(super) const READ: Operation = Operation {
    method: "get",
    action: "get",
    verb: "read",
    description: "Read an object.",
    parameters: &[],
    body: Body::None,
    answer: Answer::Object,
    codes: &["200"],
};

pub(super) const READ_LOG: Operation = Operation {
    description: "Read the log of a container.",
    parameters: parameters::LOG,
    answer: Answer::Text,
    ..READ
};

pub(super) const REPLACE: Operation = Operation {
    method: "put",
    action: "put",
    verb: "replace",
    description: "Replace an object.",
    parameters: parameters::WRITE,
    body: Body::Object,
    answer: Answer::Object,
    codes: &["200", "201"],
};

pub(super) const PATCH: Operation = Operation {
    method: "patch",
    action: "patch",
    verb: "patch",
    description: "Change a part of an object.",
    parameters: parameters::PATCH,
    body: Body::Patch,
    answer: Answer::Object,
    codes: &["200", "201"],
};

pub(super) const DELETE: Operation = Operation {
    method: "delete",
    action: "delete",
    verb: "delete",
    description: "Delete an object.",
    parameters: parameters::DELETE,
    body: Body::DeleteOptions,
    answer: Answer::Status,
    codes: &["200", "202"],
};

/// What operations are about.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) group_version: GroupVersion,
    pub(super) kind: &'a str,
    /// The schema of the kind.
    pub(super) schema: &'a str,
    /// What stands before and after the kind in identifiers, such as `Namespaced` and `Status`.
    pub(super) scope: &'static str,
    pub(super) part: &'a str,
}

impl Operation {
    /// The operation as the documents have it.
    pub(super) fn render(&self, target: &Target<'_>) -> Value {
        let GroupVersion { group, version, .. } = target.group_version;
        let mut operation = json!({
            "tags": [tag(target.group_version)],
            "description": self.description,
            "operationId": self.id(target),
            "responses": self.responses(target),
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": {
                "group": group, "version": version, "kind": target.kind,
            },
        });
        if let Some(entries) = operation.as_object_mut() {
            let parameters = parameters::named(self.parameters);
            if !parameters.is_empty() {
                entries.insert("parameters".to_owned(), Value::Array(parameters));
            }
            if let Some(body) = self.request_body(target) {
                entries.insert("requestBody".to_owned(), body);
            }
        }
        operation
    }

    /// Identifiers are those of Kubernetes; client generators make names of methods of them.
    fn id(&self, target: &Target<'_>) -> String {
        let collection = if self.action == "deletecollection" { "Collection" } else { "" };
        let Target { kind, scope, part, .. } = target;
        format!("{}{}{collection}{scope}{kind}{part}", self.verb, camel_case(target.group_version))
    }

    fn request_body(&self, target: &Target<'_>) -> Option<Value> {
        let body = match self.body {
            Body::None => return None,
            Body::Object => {
                json!({ "content": content(&["*/*"], target.schema), "required": true })
            }
            Body::DeleteOptions => {
                json!({ "content": content(&["*/*"], &names::of_meta("DeleteOptions")) })
            }
            Body::Patch => {
                let content = content(&PATCH_TYPES, &names::of_meta("Patch"));
                json!({ "content": content, "required": true })
            }
        };
        Some(body)
    }

    fn responses(&self, target: &Target<'_>) -> Value {
        let content = match self.answer {
            Answer::Object => content(&MEDIA_TYPES, target.schema),
            Answer::Status if self.answers_with_object(target) => {
                content(&MEDIA_TYPES, target.schema)
            }
            Answer::Status => content(&MEDIA_TYPES, &names::of_meta("Status")),
            Answer::Text => json!({ "text/plain": { "schema": { "type": "string" } } }),
            Answer::List => {
                let [json, yaml] = MEDIA_TYPES;
                let media_types = [json, "application/json;stream=watch", yaml];
                content(&media_types, &format!("{}List", target.schema))
            }
        };
        responses(self.codes, &content)
    }

    fn answers_with_object(&self, target: &Target<'_>) -> bool {
        self.action == "delete" && ANSWER_WITH_OBJECT.contains(&target.kind)
    }
}

/// Where a group and version tells what it has.
pub(super) fn discovery(group_version: GroupVersion) -> Value {
    let content = content(&MEDIA_TYPES, &names::of_meta("APIResourceList"));
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
    let said = |code: &str| match code {
        "200" => "OK",
        "201" => "Created",
        _ => "Accepted",
    };
    let entry = |code: &&str| {
        ((*code).to_owned(), json!({ "description": said(code), "content": content }))
    };
    let mut responses: Map<_, _> = codes.iter().map(entry).collect();
    responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
    Value::Object(responses)
}

fn content(media_types: &[&str], schema: &str) -> Value {
    let schema = json!({ "schema": { "$ref": format!("{REF_PREFIX}{schema}") } });
    media_types.iter().map(|it| ((*it).to_owned(), schema.clone())).collect()
}

/// The first part of a group's name; the core group has one here.
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
    [short_group(group_version), group_version.version].map(capitalized).concat()
}

/// A word with a capital letter.
pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
