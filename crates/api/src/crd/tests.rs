//! Tests of the CustomResourceDefinition: its size, structure and rules, and the copy of it in
//! `deploy/`.

use std::collections::BTreeSet;

use serde_json::Map;

use super::*;
use crate::cronjob::JITTER_PERCENT_MAX;
use crate::run_request::{PARALLELISM_MAX, SLOTS_MAX};

/// The maximum size of all annotations; `kubectl apply` stores the object in one.
const ANNOTATION_LEN_MAX: usize = 256 * 1024;

fn property<'a>(schema: &'a Value, path: &str) -> &'a Value {
    path.split('/').fold(schema, |schema, name| match name {
        "[]" => &schema["items"],
        name => &schema["properties"][name],
    })
}

fn schema_of(kind: CustomKind) -> Value {
    root(kind, &Zones::bundled())
}

fn spec() -> Value {
    property(&schema_of(CustomKind::ScheduledJob), "spec").clone()
}

/// Collects a schema and all schemas in it, each with the name of its property.
fn all<'a>(name: &'a str, schema: &'a Value, found: &mut Vec<(&'a str, &'a Map<String, Value>)>) {
    let Value::Object(keys) = schema else { return };
    found.push((name, keys));
    for (name, below) in keys.get("properties").and_then(Value::as_object).into_iter().flatten() {
        all(name, below, found);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(below) = keys.get(key) {
            all(key, below, found);
        }
    }
}

#[test]
fn the_manifests_in_deploy_are_up_to_date() {
    for kind in CustomKind::ALL {
        let file = format!("deploy/chart/punctual/crds/{}.yaml", kind.definition_name());
        let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == manifest(kind, &Zones::bundled()),
            "the file is out of date; write it anew with\n  cargo run -p punctual-cli -- crd {} > {file}",
            kind.plural()
        );
    }
}

#[test]
fn a_manifest_is_the_definition_in_yaml() {
    for kind in CustomKind::ALL {
        let text = manifest(kind, &Zones::bundled());
        let (read, _) = crate::yaml::parse_document(&text, 0, &mut Default::default()).unwrap();
        assert_eq!(read, definition(kind, &Zones::bundled()));
    }
}

#[test]
fn the_definitions_fit_into_the_annotation_of_kubectl() {
    for kind in CustomKind::ALL {
        let len = definition(kind, &Zones::bundled()).to_string().len();
        assert!(len < ANNOTATION_LEN_MAX * 3 / 4, "{len} bytes");
    }
}

#[test]
fn every_rule_belongs_to_a_struct_and_names_its_fields() {
    let rules = SchemaRules::read();
    assert!(rules.names().count() > 30, "the file was not read");
    for name in rules.names() {
        let struct_schema = schema::find_struct(name).unwrap_or_else(|| panic!("{name}"));
        let part = rules.for_struct(name);
        let properties = part["properties"].as_object().cloned().unwrap_or_default();
        let required = part["required"].as_array().cloned().unwrap_or_default();
        let required = required.iter().filter_map(Value::as_str);
        for field in properties.keys().map(String::as_str).chain(required) {
            assert!(struct_schema.field(field).is_some(), "{name}.{field}");
        }
    }
}

/// The requirements for structural schemas that a mistake in the rules could violate.
#[test]
fn every_schema_has_a_type_and_requires_only_its_properties() {
    for (kind, count) in [(CustomKind::ScheduledJob, 1000), (CustomKind::RunRequest, 60)] {
        let schema = schema_of(kind);
        let mut schemas = Vec::new();
        all("", &schema, &mut schemas);
        assert!(schemas.len() > count, "{}", schemas.len());
        for (name, keys) in schemas {
            let has = |key: &str| keys.contains_key(key);
            let is_open = has("x-kubernetes-preserve-unknown-fields");
            assert!(
                has("type") || has("x-kubernetes-int-or-string") || is_open,
                "{name}: {keys:?}"
            );
            let required = keys.get("required").and_then(Value::as_array).into_iter().flatten();
            for key in required {
                assert!(keys["properties"].get(key.as_str().unwrap()).is_some(), "{name}: {key}");
            }
        }
    }
}

#[test]
fn keys_of_lists_are_required_or_have_a_default() {
    let schema = json!({ "properties": {
        "a": schema_of(CustomKind::ScheduledJob), "b": schema_of(CustomKind::RunRequest),
    } });
    let mut schemas = Vec::new();
    all("", &schema, &mut schemas);
    let keyed = schemas.iter().filter(|(_, keys)| keys.contains_key("x-kubernetes-list-map-keys"));
    let mut names = BTreeSet::new();
    for (name, list) in keyed {
        names.insert(*name);
        let items = &list["items"];
        for key in list["x-kubernetes-list-map-keys"].as_array().unwrap() {
            let is_required = items["required"].as_array().is_some_and(|all| all.contains(key));
            let default = &items["properties"][key.as_str().unwrap()]["default"];
            assert!(is_required || !default.is_null(), "{name}: {key}");
        }
    }
    assert!(names.contains("containers") && names.contains("env") && names.contains("ports"));
}

#[test]
fn defaults_and_limits_equal_those_of_our_server() {
    let spec = spec();
    assert_eq!(property(&spec, "concurrencyPolicy")["default"], "Allow");
    assert_eq!(property(&spec, "suspend")["default"], false);
    assert_eq!(property(&spec, "successfulJobsHistoryLimit")["default"], 3);
    assert_eq!(property(&spec, "failedJobsHistoryLimit")["default"], 1);
    assert_eq!(property(&spec, "jitter")["maximum"], JITTER_PERCENT_MAX);
}

#[test]
fn limits_of_run_requests_equal_those_of_our_server() {
    let root = schema_of(CustomKind::RunRequest);
    let spec = property(&root, "spec");
    assert_eq!(property(spec, "slots")["maxItems"], SLOTS_MAX);
    assert_eq!(property(spec, "parallelism")["maximum"], PARALLELISM_MAX);
    assert_eq!(property(spec, "target/kind")["default"], "CronJob");
    let rules = spec["x-kubernetes-validations"].as_array().unwrap();
    let fixed = rules.iter().filter(|rule| rule["message"] == "field is immutable");
    let fixed: BTreeSet<_> = fixed.map(|rule| rule["fieldPath"].as_str().unwrap()).collect();
    let can_change = ["suspend", "parallelism", "ttlSecondsAfterFinished"];
    for name in spec["properties"].as_object().unwrap().keys() {
        let is_fixed = fixed.contains(format!(".{name}").as_str());
        assert_eq!(is_fixed, !can_change.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn extension_fields_have_descriptions() {
    let spec = spec();
    let root = schema_of(CustomKind::ScheduledJob);
    let request = schema_of(CustomKind::RunRequest);
    for part in [
        &spec,
        property(&root, "status"),
        property(&spec, "jobTemplate/spec"),
        property(&request, "spec"),
        property(&request, "spec/target"),
        property(&request, "spec/overrides/containers/[]"),
        property(&request, "status"),
        property(&request, "status/slots/[]"),
        property(&request, "status/active/[]"),
    ] {
        for (name, schema) in part["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name}");
        }
    }
}

#[test]
fn every_zone_of_the_bundled_database_is_allowed() {
    let rule = time_zone(&Zones::bundled()).to_string();
    for zone in ["Europe/Berlin", "UTC", "America/Argentina/ComodRivadavia"] {
        assert!(rule.contains(&format!("\\\"{zone}\\\"")), "{zone}");
    }
    assert!(rule.contains("self == '' || "), "an empty zone means the default zone");
    assert!(!rule.contains("posixrules") && !rule.contains("Local"));
}
