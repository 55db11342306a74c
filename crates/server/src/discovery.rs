//! API discovery: which groups, versions and resources the server has.
//!
//! There are two forms: the legacy one, with a document for every group and version, and the
//! aggregated one ([`aggregated`]), with one document for everything, which kubectl prefers. Both
//! are generated from the table in [`crate::resource`]. Hashes of storage versions are left out,
//! since only storage migrators use them.

pub(crate) mod aggregated;

use serde_json::{Value, json};

use crate::resource::{
    GROUP_VERSIONS, GroupVersion, NAMESPACES, READ_VERBS, RESOURCES, REVIEWS, Resource, SelfReview,
    VERBS,
};

/// Returns the document at `/api`, with one server address for all clients.
pub(crate) fn core_versions(server_address: &str) -> Value {
    let versions: Vec<_> = versions_of("").map(|group_version| group_version.version).collect();
    json!({
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [
            { "clientCIDR": "0.0.0.0/0", "serverAddress": server_address },
        ],
    })
}

/// Returns the document at `/apis`.
pub(crate) fn group_list() -> Value {
    let groups: Vec<_> = group_names().map(group_entry).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// Returns the document at `/apis/<group>`, which the core group does not have.
pub(crate) fn group(name: &str) -> Option<Value> {
    let name = group_names().find(|known| *known == name)?;
    let mut document = group_entry(name);
    let entries = document.as_object_mut()?;
    entries.insert("kind".to_owned(), json!("APIGroup"));
    entries.insert("apiVersion".to_owned(), json!("v1"));
    Some(document)
}

/// Returns the document at `/api/v1` (for the empty group) or `/apis/<group>/<version>`.
pub(crate) fn resource_list(group: &str, version: &str) -> Option<Value> {
    let group_version =
        versions_of(group).find(|group_version| group_version.version == version)?;
    let resources: Vec<_> = resources_of(group_version)
        .flat_map(resource_entries)
        .chain(reviews_of(group_version).map(review_entry))
        .collect();
    let mut document = json!({
        "kind": "APIResourceList",
        "groupVersion": group_version.api_version,
        "resources": resources,
    });
    // kube-apiserver leaves out `apiVersion` for the core group.
    if !group.is_empty()
        && let Some(entries) = document.as_object_mut()
    {
        entries.insert("apiVersion".to_owned(), json!("v1"));
    }
    Some(document)
}

/// Returns the verbs of a resource. Some can only be read. Namespaces cannot be deleted as a collection.
pub(crate) fn verbs(resource: &Resource) -> Vec<&'static str> {
    if resource.is_read_only {
        return READ_VERBS.to_vec();
    }
    let is_namespaces = resource.plural == NAMESPACES.plural;
    VERBS.into_iter().filter(|verb| !(is_namespaces && *verb == "deletecollection")).collect()
}

fn group_entry(name: &'static str) -> Value {
    let version_entry = |group_version: GroupVersion| json!({ "groupVersion": group_version.api_version, "version": group_version.version });
    let versions: Vec<_> = versions_of(name).map(version_entry).collect();
    json!({ "name": name, "preferredVersion": versions.first(), "versions": versions })
}

/// Returns the entries of a resource and its subresources.
fn resource_entries(resource: &'static Resource) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        "verbs": verbs(resource),
    });
    add_short_names(&mut entry, resource);
    let subresources = resource.subresources.iter().map(|subresource| {
        json!({
            "name": format!("{}/{}", resource.plural, subresource.name()),
            "singularName": "",
            "namespaced": resource.is_namespaced,
            "kind": resource.kind,
            "verbs": subresource.verbs(),
        })
    });
    std::iter::once(entry).chain(subresources).collect()
}

fn review_entry(review: &SelfReview) -> Value {
    json!({
        "name": review.plural,
        "singularName": review.kind.to_ascii_lowercase(),
        "namespaced": false,
        "kind": review.kind,
        "verbs": ["create"],
    })
}

/// Adds short names and categories. Empty ones are left out.
fn add_short_names(entry: &mut Value, resource: &Resource) {
    let Some(entries) = entry.as_object_mut() else { return };
    if !resource.short_names.is_empty() {
        entries.insert("shortNames".to_owned(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        entries.insert("categories".to_owned(), json!(resource.categories));
    }
}

/// Returns the versions of a group; the preferred one comes first.
fn versions_of(group: &str) -> impl Iterator<Item = GroupVersion> {
    GROUP_VERSIONS.into_iter().filter(move |group_version| group_version.group == group)
}

/// Returns every group but the core group, once.
fn group_names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    GROUP_VERSIONS.into_iter().map(|group_version| group_version.group).filter(move |name| {
        let is_new = *name != last;
        last = name;
        is_new
    })
}

fn resources_of(group_version: GroupVersion) -> impl Iterator<Item = &'static Resource> {
    RESOURCES.into_iter().filter(move |resource| resource.group_versions.contains(&group_version))
}

fn reviews_of(group_version: GroupVersion) -> impl Iterator<Item = &'static SelfReview> {
    REVIEWS.iter().filter(move |review| review.group_version == group_version)
}

#[cfg(test)]
mod tests;
