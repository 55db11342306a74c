//! Aggregated discovery: every group, version and resource in one document.

use serde_json::{Value, json};

use super::{add_names_for_people, group_names, resources_of, reviews_of, verbs, versions_of};
use crate::resource::{Resource, Review, Served};

/// The versions of the document; they differ in name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// What clients ask for since 1.30.
    V2,
    /// What older clients ask for.
    V2Beta1,
}

impl Form {
    /// The form that a client asks for by the `v` parameter of a media type.
    pub(crate) fn parse(version: &str) -> Option<Self> {
        match version {
            "v2" => Some(Form::V2),
            "v2beta1" => Some(Form::V2Beta1),
            _ => None,
        }
    }

    /// The media type of the answer; clients look at it to tell the forms apart.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Form::V2 => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Form::V2Beta1 => {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            }
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Form::V2 => "apidiscovery.k8s.io/v2",
            Form::V2Beta1 => "apidiscovery.k8s.io/v2beta1",
        }
    }
}

/// The aggregated document at `/api`.
pub(crate) fn core(form: Form) -> Value {
    list(form, vec![group_item("")])
}

/// The aggregated document at `/apis`.
pub(crate) fn groups(form: Form) -> Value {
    list(form, group_names().map(group_item).collect())
}

fn list(form: Form, items: Vec<Value>) -> Value {
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": form.api_version(),
        "metadata": {},
        "items": items,
    })
}

fn group_item(name: &str) -> Value {
    let versions: Vec<_> = versions_of(name).map(version_item).collect();
    // The core group has no name, and what is empty is left out.
    let metadata = if name.is_empty() { json!({}) } else { json!({ "name": name }) };
    json!({ "metadata": metadata, "versions": versions })
}

fn version_item(served: Served) -> Value {
    let resources: Vec<_> = resources_of(served)
        .map(resource_item)
        .chain(reviews_of(served).map(review_item))
        .collect();
    json!({ "version": served.version, "resources": resources, "freshness": "Current" })
}

fn resource_item(resource: &'static Resource) -> Value {
    let mut item = json!({
        "resource": resource.plural,
        "responseKind": response_kind(resource.kind),
        "scope": if resource.is_namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(resource),
    });
    add_names_for_people(&mut item, resource);
    let subresources: Vec<_> = resource
        .subresources
        .iter()
        .map(|subresource| {
            json!({
                "subresource": subresource.name(),
                "responseKind": response_kind(resource.kind),
                "verbs": subresource.verbs(),
            })
        })
        .collect();
    if let (false, Some(entries)) = (subresources.is_empty(), item.as_object_mut()) {
        entries.insert("subresources".to_owned(), Value::Array(subresources));
    }
    item
}

fn review_item(review: &Review) -> Value {
    json!({
        "resource": review.plural,
        "responseKind": response_kind(review.kind),
        "scope": "Cluster",
        "singularResource": review.kind.to_ascii_lowercase(),
        "verbs": ["create"],
    })
}

/// A kind of the very group and version it is listed under, which then go without saying.
fn response_kind(kind: &str) -> Value {
    json!({ "group": "", "version": "", "kind": kind })
}
