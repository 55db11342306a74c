//! Compares our discovery documents with those recorded from kube-apiserver v1.36, reduced to the
//! resources served here.

use serde_json::{Value, json};

use super::aggregated::{self, DiscoveryVersion};
use super::*;

fn recorded(path: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../../testdata/discovery.json")).unwrap();
    all[path].clone()
}

/// Returns the groups and versions that kube-apiserver also has, sorted by name.
fn comparable(mut groups: Value, name: impl Fn(&Value) -> String) -> Vec<Value> {
    let groups = groups.as_array_mut().unwrap();
    groups.retain(|group| name(group) != "punctual.dev");
    for group in groups.iter_mut() {
        group["versions"].as_array_mut().unwrap().retain(|version| version["version"] == "v1");
    }
    groups.sort_by_key(name);
    groups.clone()
}

#[test]
fn core_group_matches_the_recording() {
    assert_eq!(core_versions("127.0.0.1:6443"), recorded("/api"));
    assert_eq!(resource_list("", "v1").unwrap(), recorded("/api/v1"));
}

#[test]
fn resources_of_groups_match_the_recording() {
    for group in ["batch", "coordination.k8s.io", "events.k8s.io"] {
        let list = resource_list(group, "v1").unwrap();
        assert_eq!(list, recorded(&format!("/apis/{group}/v1")), "{group}");
    }
}

#[test]
fn groups_match_the_recording() {
    let name = |group: &Value| group["name"].as_str().unwrap().to_owned();
    assert_eq!(
        comparable(group_list()["groups"].clone(), name),
        comparable(recorded("/apis")["groups"].clone(), name)
    );
}

#[test]
fn aggregated_discovery_matches_the_recording() {
    let name = |group: &Value| group["metadata"]["name"].as_str().unwrap().to_owned();
    let ours = aggregated::groups(DiscoveryVersion::V2);
    let theirs = recorded("aggregated discovery");
    assert_eq!(ours["kind"], theirs["kind"]);
    assert_eq!(ours["apiVersion"], theirs["apiVersion"]);
    assert_eq!(comparable(ours["items"].clone(), name), comparable(theirs["items"].clone(), name));
}

#[test]
fn newest_version_of_a_group_is_preferred() {
    let batch = group("batch").unwrap();
    assert_eq!(batch["kind"], "APIGroup");
    assert_eq!(batch["preferredVersion"], json!({ "groupVersion": "batch/v1", "version": "v1" }));
    assert_eq!(batch["versions"][1]["groupVersion"], "batch/v1beta1");
}

#[test]
fn unknown_groups_and_versions_have_no_document() {
    assert_eq!(group(""), None);
    assert_eq!(group("apps"), None);
    assert_eq!(resource_list("batch", "v2"), None);
    assert_eq!(resource_list("apps", "v1"), None);
}

#[test]
fn both_forms_contain_every_served_resource() {
    let core = aggregated::core(DiscoveryVersion::V2Beta1);
    let groups = aggregated::groups(DiscoveryVersion::V2Beta1);
    for document in [&core, &groups] {
        assert_eq!(document["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    }
    let items = core["items"].as_array().unwrap().iter().chain(groups["items"].as_array().unwrap());
    let mut listed: Vec<Value> = items
        .flat_map(|item| item["versions"].as_array().unwrap())
        .flat_map(|version| version["resources"].as_array().unwrap())
        .map(|resource| resource["resource"].clone())
        .collect();
    let expected = RESOURCES.iter().map(|resource| resource.group_versions.len()).sum::<usize>()
        + REVIEWS.len();
    assert_eq!(listed.len(), expected);
    listed.retain(|name| name == "cronjobs");
    assert_eq!(listed.len(), 2);
}

#[test]
fn lists_of_resources_and_verbs_are_sorted() {
    for group_version in GROUP_VERSIONS {
        let list = resource_list(group_version.group, group_version.version).unwrap();
        let names: Vec<_> =
            list["resources"].as_array().unwrap().iter().map(|r| r["name"].to_string()).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
    assert!(RESOURCES.iter().all(|resource| verbs(resource).is_sorted()));
}
