//! What a server serves, told to clients that ask before they do anything else.
//!
//! There are two forms: the old one, with a document for every group and version, and the
//! aggregated one ([`aggregated`]), which tells everything at once and is what kubectl asks for.
//! Both are read off the tables in [`crate::resource`], so nothing can be served and not be told.
//! Hashes of storage versions are left out: only storage migrators look at them.

pub(crate) mod aggregated;

use serde_json::{Value, json};

use crate::resource::{ALL, GROUP_VERSIONS, NAMESPACES, REVIEWS, Resource, Review, Served, VERBS};

/// The document at `/api`. Clients inside and outside a cluster are told the same address.
pub(crate) fn core_versions(server_address: &str) -> Value {
    let versions: Vec<_> = versions_of("").map(|served| served.version).collect();
    json!({
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [
            { "clientCIDR": "0.0.0.0/0", "serverAddress": server_address },
        ],
    })
}

/// The document at `/apis`.
pub(crate) fn group_list() -> Value {
    let groups: Vec<_> = group_names().map(group_entry).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// The document at `/apis/<group>`; the core group has none.
pub(crate) fn group(name: &str) -> Option<Value> {
    let name = group_names().find(|known| *known == name)?;
    let mut document = group_entry(name);
    let entries = document.as_object_mut()?;
    entries.insert("kind".to_owned(), json!("APIGroup"));
    entries.insert("apiVersion".to_owned(), json!("v1"));
    Some(document)
}

/// The document at `/api/v1` (for the empty group) and `/apis/<group>/<version>`.
pub(crate) fn resource_list(group: &str, version: &str) -> Option<Value> {
    let served = versions_of(group).find(|served| served.version == version)?;
    let resources: Vec<_> = resources_of(served)
        .flat_map(resource_entries)
        .chain(reviews_of(served).map(review_entry))
        .collect();
    let mut document = json!({
        "kind": "APIResourceList",
        "groupVersion": served.api_version,
        "resources": resources,
    });
    // kube-apiserver leaves the version of the document itself out for the core group.
    if let (false, Some(entries)) = (group.is_empty(), document.as_object_mut()) {
        entries.insert("apiVersion".to_owned(), json!("v1"));
    }
    Some(document)
}

/// What can be done with a resource. Namespaces go one by one.
pub(crate) fn verbs(resource: &Resource) -> Vec<&'static str> {
    let is_namespaces = resource.plural == NAMESPACES.plural;
    VERBS.into_iter().filter(|verb| !(is_namespaces && *verb == "deletecollection")).collect()
}

fn group_entry(name: &'static str) -> Value {
    let versions: Vec<_> = versions_of(name)
        .map(|served| json!({ "groupVersion": served.api_version, "version": served.version }))
        .collect();
    json!({ "name": name, "preferredVersion": versions.first(), "versions": versions })
}

/// A resource and its subresources.
fn resource_entries(resource: &'static Resource) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        "verbs": verbs(resource),
    });
    add_names_for_people(&mut entry, resource);
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

fn review_entry(review: &Review) -> Value {
    json!({
        "name": review.plural,
        "singularName": review.kind.to_ascii_lowercase(),
        "namespaced": false,
        "kind": review.kind,
        "verbs": ["create"],
    })
}

/// Short names and categories, which are left out where there are none.
fn add_names_for_people(entry: &mut Value, resource: &Resource) {
    let Some(entries) = entry.as_object_mut() else { return };
    if !resource.short_names.is_empty() {
        entries.insert("shortNames".to_owned(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        entries.insert("categories".to_owned(), json!(resource.categories));
    }
}

/// The versions of a group, the preferred one first.
fn versions_of(group: &str) -> impl Iterator<Item = Served> {
    GROUP_VERSIONS.into_iter().filter(move |served| served.group == group)
}

/// Every group but the core group, once.
fn group_names() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    GROUP_VERSIONS.into_iter().map(|served| served.group).filter(move |name| {
        let is_new = *name != last;
        last = name;
        is_new
    })
}

fn resources_of(served: Served) -> impl Iterator<Item = &'static Resource> {
    ALL.into_iter().filter(move |resource| resource.served.contains(&served))
}

fn reviews_of(served: Served) -> impl Iterator<Item = &'static Review> {
    REVIEWS.iter().filter(move |review| review.served == served)
}

#[cfg(test)]
mod tests;
