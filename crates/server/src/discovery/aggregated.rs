//! Aggregated discovery: every group, version and resource in one document.

use serde_json::{Value, json};

use super::{add_short_names, group_names, resources_of, reviews_of, verbs, versions_of};
use crate::resource::{GroupVersion, Resource, SelfReview};

/// A version of the aggregated document. The versions differ only in name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DiscoveryVersion {
    /// For clients since Kubernetes 1.30.
    V2,
    /// For older clients.
    V2Beta1,
}

impl DiscoveryVersion {
    /// Parses the `v` parameter of a media type.
    pub(crate) fn parse(version: &str) -> Option<Self> {
        match version {
            "v2" => Some(DiscoveryVersion::V2),
            "v2beta1" => Some(DiscoveryVersion::V2Beta1),
            _ => None,
        }
    }

    /// Returns the media type of the response, by which clients distinguish the versions.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            DiscoveryVersion::V2 => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            DiscoveryVersion::V2Beta1 => {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            }
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            DiscoveryVersion::V2 => "apidiscovery.k8s.io/v2",
            DiscoveryVersion::V2Beta1 => "apidiscovery.k8s.io/v2beta1",
        }
    }
}

/// Returns the aggregated document at `/api`.
pub(crate) fn core(version: DiscoveryVersion) -> Value {
    list(version, vec![group_item("")])
}

/// Returns the aggregated document at `/apis`.
pub(crate) fn groups(version: DiscoveryVersion) -> Value {
    list(version, group_names().map(group_item).collect())
}

fn list(version: DiscoveryVersion, items: Vec<Value>) -> Value {
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": version.api_version(),
        "metadata": {},
        "items": items,
    })
}

fn group_item(name: &str) -> Value {
    let versions: Vec<_> = versions_of(name).map(version_item).collect();
    // The core group has no name.
    let metadata = if name.is_empty() { json!({}) } else { json!({ "name": name }) };
    json!({ "metadata": metadata, "versions": versions })
}

fn version_item(group_version: GroupVersion) -> Value {
    let resources: Vec<_> = resources_of(group_version)
        .map(resource_item)
        .chain(reviews_of(group_version).map(review_item))
        .collect();
    json!({ "version": group_version.version, "resources": resources, "freshness": "Current" })
}

fn resource_item(resource: &'static Resource) -> Value {
    let mut item = json!({
        "resource": resource.plural,
        "responseKind": response_kind(resource.kind),
        "scope": if resource.is_namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(resource),
    });
    add_short_names(&mut item, resource);
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
    if !subresources.is_empty()
        && let Some(entries) = item.as_object_mut()
    {
        entries.insert("subresources".to_owned(), Value::Array(subresources));
    }
    item
}

fn review_item(review: &SelfReview) -> Value {
    json!({
        "resource": review.plural,
        "responseKind": response_kind(review.kind),
        "scope": "Cluster",
        "singularResource": review.kind.to_ascii_lowercase(),
        "verbs": ["create"],
    })
}

/// Returns the kind of responses. Empty group and version mean those under which the resource is
/// listed.
fn response_kind(kind: &str) -> Value {
    json!({ "group": "", "version": "", "kind": kind })
}
