//! Compared with what kube-apiserver v1.36 answered, cut down to the resources served here.

use serde_json::{Value, json};

use super::aggregated::{self, Form};
use super::*;

fn recorded(path: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../../testdata/discovery.json")).unwrap();
    all[path].clone()
}

/// Only kube-apiserver's own versions and groups, in the order of their names.
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
fn the_core_group_is_told_as_recorded() {
    assert_eq!(core_versions("127.0.0.1:6443"), recorded("/api"));
    assert_eq!(resource_list("", "v1").unwrap(), recorded("/api/v1"));
}

#[test]
fn the_resources_of_a_group_are_told_as_recorded() {
    for group in ["batch", "coordination.k8s.io", "events.k8s.io"] {
        let list = resource_list(group, "v1").unwrap();
        assert_eq!(list, recorded(&format!("/apis/{group}/v1")), "{group}");
    }
}

#[test]
fn the_groups_are_told_as_recorded() {
    let name = |group: &Value| group["name"].as_str().unwrap().to_owned();
    assert_eq!(
        comparable(group_list()["groups"].clone(), name),
        comparable(recorded("/apis")["groups"].clone(), name)
    );
}

#[test]
fn aggregated_discovery_is_as_recorded() {
    let name = |group: &Value| group["metadata"]["name"].as_str().unwrap().to_owned();
    let ours = aggregated::groups(Form::V2);
    let theirs = recorded("aggregated discovery");
    assert_eq!(ours["kind"], theirs["kind"]);
    assert_eq!(ours["apiVersion"], theirs["apiVersion"]);
    assert_eq!(comparable(ours["items"].clone(), name), comparable(theirs["items"].clone(), name));
}

#[test]
fn a_group_prefers_its_newest_version() {
    let batch = group("batch").unwrap();
    assert_eq!(batch["kind"], "APIGroup");
    assert_eq!(batch["preferredVersion"], json!({ "groupVersion": "batch/v1", "version": "v1" }));
    assert_eq!(batch["versions"][1]["groupVersion"], "batch/v1beta1");
}

#[test]
fn what_is_not_served_is_not_told() {
    assert_eq!(group(""), None);
    assert_eq!(group("apps"), None);
    assert_eq!(resource_list("batch", "v2"), None);
    assert_eq!(resource_list("apps", "v1"), None);
}

#[test]
fn everything_that_is_served_is_told_in_both_forms() {
    let (core, groups) = (aggregated::core(Form::V2Beta1), aggregated::groups(Form::V2Beta1));
    for document in [&core, &groups] {
        assert_eq!(document["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    }
    let items = core["items"].as_array().unwrap().iter().chain(groups["items"].as_array().unwrap());
    let mut told: Vec<Value> = items
        .flat_map(|item| item["versions"].as_array().unwrap())
        .flat_map(|version| version["resources"].as_array().unwrap())
        .map(|resource| resource["resource"].clone())
        .collect();
    let served = ALL.iter().map(|resource| resource.served.len()).sum::<usize>() + REVIEWS.len();
    assert_eq!(told.len(), served);
    told.retain(|name| name == "cronjobs");
    assert_eq!(told.len(), 2);
}

#[test]
fn lists_of_resources_and_verbs_are_sorted() {
    for served in GROUP_VERSIONS {
        let list = resource_list(served.group, served.version).unwrap();
        let names: Vec<_> =
            list["resources"].as_array().unwrap().iter().map(|r| r["name"].to_string()).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
    assert!(ALL.iter().all(|resource| verbs(resource).is_sorted()));
}
