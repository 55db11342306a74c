//! Compares our OpenAPI documents with those of kube-apiserver v1.36, without their descriptions.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::*;

fn parsed(document: &Document) -> Value {
    serde_json::from_slice(&document.body).unwrap()
}

fn v3(path: &str) -> Value {
    parsed(Documents::new(Dialect::Kubernetes).v3(path).unwrap())
}

fn entries(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

fn texts(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the parameters of an operation and of its path.
fn parameters(item: &Value, operation: &Value) -> BTreeSet<String> {
    let lists = [&item["parameters"], &operation["parameters"]];
    let parameters = lists.into_iter().filter_map(Value::as_array).flatten();
    parameters.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn paths_have_the_recorded_operations() {
    let recorded: Value =
        serde_json::from_str(include_str!("../../testdata/openapi_paths.json")).unwrap();
    let mut missing: BTreeSet<_> = entries(&recorded).keys().cloned().collect();
    for group_version in GROUP_VERSIONS.into_iter().filter(|it| it.version == "v1") {
        if group_version.group == "punctual.dev" {
            continue;
        }
        for (path, item) in entries(&v3(&group_version_path(group_version))["paths"]) {
            missing.remove(path);
            let theirs = entries(&recorded[path]);
            for (method, operation) in entries(item).iter().filter(|(key, _)| *key != "parameters")
            {
                let theirs = &theirs[method];
                assert_eq!(operation["operationId"], theirs["id"], "{path} {method}");
                assert_eq!(operation["x-kubernetes-action"], theirs["action"], "{path} {method}");
                let kind = &operation["x-kubernetes-group-version-kind"];
                assert_eq!(kind, &theirs["gvk"], "{path} {method}");
                let ours = parameters(item, operation);
                let ours: BTreeSet<_> = ours.iter().map(String::as_str).collect();
                assert_eq!(ours, texts(&theirs["parameters"]), "{path} {method}");
                let codes: BTreeSet<_> =
                    entries(&operation["responses"]).keys().map(String::as_str).collect();
                assert_eq!(codes, texts(&theirs["codes"]), "{path} {method}");
                let response = &operation["responses"]["200"]["content"]["application/json"];
                let schema = response["schema"]["$ref"].as_str().unwrap_or_default();
                assert_eq!(schema.rsplit('.').next().unwrap(), theirs["answer"], "{path} {method}");
            }
            assert_eq!(theirs.len(), entries(item).keys().filter(|it| *it != "parameters").count());
        }
    }
    assert_eq!(missing, BTreeSet::new());
}

/// Returns a schema without descriptions and with sorted `required` lists.
fn normalize(schema: &Value) -> Value {
    match schema {
        Value::Object(entries) => entries
            .iter()
            .filter(|(key, value)| !(*key == "description" && value.is_string()))
            .map(|(key, value)| match key.as_str() {
                "required" => (key.clone(), texts(value).into_iter().collect()),
                _ => (key.clone(), normalize(value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(normalize).collect(),
        plain => plain.clone(),
    }
}

/// Differences from v1.36: fields of v1.37, and union extensions, which no client reads.
const KNOWN_DIFFERENCES: [&str; 25] = [
    "io.k8s.api.batch.v1.JobSpec.properties.scheduling",
    "io.k8s.api.core.v1.AppArmorProfile.x-kubernetes-unions",
    "io.k8s.api.core.v1.ClusterTrustBundleProjection.properties.user",
    "io.k8s.api.core.v1.ConfigMapVolumeSource.properties.defaultUser",
    "io.k8s.api.core.v1.DownwardAPIVolumeFile.properties.user",
    "io.k8s.api.core.v1.DownwardAPIVolumeSource.properties.defaultUser",
    "io.k8s.api.core.v1.EmptyDirVolumeSource.properties.mode",
    "io.k8s.api.core.v1.GRPCAction.properties.mode",
    "io.k8s.api.core.v1.HTTPGetAction.properties.protocol",
    "io.k8s.api.core.v1.KeyToPath.properties.user",
    "io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus.properties.mapping",
    "io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus.properties.overhead",
    "io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus.properties.resources",
    "io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus.required",
    "io.k8s.api.core.v1.NodeSpec.properties.podPreemptionPolicy",
    "io.k8s.api.core.v1.NodeSystemInfo.properties.runningInUserNamespace",
    "io.k8s.api.core.v1.PodCertificateProjection.properties.user",
    "io.k8s.api.core.v1.PodSchedulingGroup.x-kubernetes-unions",
    "io.k8s.api.core.v1.PodSpec.properties.evictionResponders",
    "io.k8s.api.core.v1.PodStatus.properties.volumeHealth",
    "io.k8s.api.core.v1.ProjectedVolumeSource.properties.defaultUser",
    "io.k8s.api.core.v1.SeccompProfile.x-kubernetes-unions",
    "io.k8s.api.core.v1.SecretVolumeSource.properties.defaultUser",
    "io.k8s.api.core.v1.ServiceAccountTokenProjection.properties.user",
    "io.k8s.api.core.v1.VolumeMount.properties.bindMountOptions",
];

#[test]
fn types_have_the_recorded_schema() {
    let recorded: Value =
        serde_json::from_str(include_str!("../../testdata/openapi_types.json")).unwrap();
    let mut differences = BTreeSet::new();
    let mut missing: BTreeSet<_> = entries(&recorded).keys().cloned().collect();
    for group_version in GROUP_VERSIONS {
        let document = v3(&group_version_path(group_version));
        for (name, schema) in entries(&document["components"]["schemas"]) {
            let Some(theirs) = recorded.get(name) else { continue };
            missing.remove(name);
            compare(name, &normalize(schema), &normalize(theirs), &mut differences);
        }
    }
    assert_eq!(differences, KNOWN_DIFFERENCES.map(str::to_owned).into());
    // Only the status of CronJobs in our own dialect uses the Condition of meta/v1.
    missing.remove("io.k8s.apimachinery.pkg.apis.meta.v1.Condition");
    assert_eq!(missing, BTreeSet::new());
}

/// Collects the paths at which two schemas differ.
fn compare(path: &str, ours: &Value, theirs: &Value, differences: &mut BTreeSet<String>) {
    let (Some(one), Some(other)) = (ours.as_object(), theirs.as_object()) else {
        if ours != theirs {
            differences.insert(path.to_owned());
        }
        return;
    };
    for key in one.keys().chain(other.keys()) {
        let path = format!("{path}.{key}");
        match (one.get(key), other.get(key)) {
            (Some(ours), Some(theirs)) => compare(&path, ours, theirs, differences),
            _ => drop(differences.insert(path)),
        }
    }
}

#[test]
fn every_reference_has_a_schema() {
    let documents = Documents::new(Dialect::Punctual);
    for group_version in GROUP_VERSIONS {
        let document = parsed(documents.v3(&group_version_path(group_version)).unwrap());
        let schemas = entries(&document["components"]["schemas"]);
        let references = references(&document, "#/components/schemas/");
        assert_eq!(references, schemas.keys().cloned().collect(), "{group_version:?}");
    }
    let v2 = parsed(documents.v2());
    let definitions = entries(&v2["definitions"]).keys().cloned().collect();
    assert_eq!(references(&v2, "#/definitions/"), definitions);
    assert!(!documents.v2().body.windows(12).any(|it| it == b"#/components"));
}

fn references(part: &Value, prefix: &str) -> BTreeSet<String> {
    match part {
        Value::Object(entries) => {
            let own = entries.get("$ref").and_then(Value::as_str);
            let own = own.map(|it| it.strip_prefix(prefix).unwrap().to_owned());
            entries.values().flat_map(|it| references(it, prefix)).chain(own).collect()
        }
        Value::Array(items) => items.iter().flat_map(|it| references(it, prefix)).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn every_kind_has_exactly_one_schema() {
    let documents = Documents::new(Dialect::Punctual);
    for resource in crate::resource::RESOURCES {
        for group_version in resource.group_versions {
            let document = parsed(documents.v3(&group_version_path(*group_version)).unwrap());
            for kind in [resource.kind.to_owned(), format!("{}List", resource.kind)] {
                let gvk = json!([{
                    "group": group_version.group, "version": group_version.version, "kind": kind,
                }]);
                let schemas = entries(&document["components"]["schemas"]);
                let found = schemas
                    .values()
                    .filter(|it| it["x-kubernetes-group-version-kind"] == gvk)
                    .collect::<Vec<_>>();
                assert_eq!(found.len(), 1, "{gvk}");
                assert!(found[0]["properties"]["metadata"].is_object());
            }
        }
    }
}

#[test]
fn extension_fields_are_described_where_they_are_accepted() {
    let spec = |dialect, path: &str, name: &str| {
        let document = parsed(Documents::new(dialect).v3(path).unwrap());
        document["components"]["schemas"][name]["properties"].clone()
    };
    let ours = spec(Dialect::Punctual, "apis/batch/v1", "io.k8s.api.batch.v1.CronJobSpec");
    assert!(ours["jitter"].is_object());
    assert_eq!(ours["concurrencyPolicy"]["enum"][1], "CatchUp");
    let strict = spec(Dialect::Kubernetes, "apis/batch/v1", "io.k8s.api.batch.v1.CronJobSpec");
    assert!(strict["jitter"].is_null() && strict["schedule"].is_object());
    assert_eq!(strict["concurrencyPolicy"]["enum"], json!(["Allow", "Forbid", "Replace"]));
    let own_kind =
        spec(Dialect::Kubernetes, "apis/punctual.dev/v1", "dev.punctual.v1.ScheduledJobSpec");
    assert!(own_kind["jitter"].is_object());
    let beta = "io.k8s.api.batch.v1beta1.CronJobSpec";
    let beta = spec(Dialect::Punctual, "apis/batch/v1beta1", beta);
    let template = "#/components/schemas/io.k8s.api.batch.v1beta1.JobTemplateSpec";
    assert_eq!(beta["jobTemplate"]["allOf"][0]["$ref"], template);
}

#[test]
fn index_lists_every_document() {
    let documents = Documents::default();
    let index = parsed(documents.index());
    assert_eq!(entries(&index["paths"]).len(), GROUP_VERSIONS.len());
    for (path, entry) in entries(&index["paths"]) {
        let document = documents.v3(path).unwrap();
        let url = format!("/openapi/v3/{path}?hash={}", document.hash);
        assert_eq!(entry["serverRelativeURL"], url);
    }
    assert!(documents.v3("apis/apps/v1").is_none());
    assert!(documents.v3("").is_none());
}

#[test]
fn documents_are_deterministic() {
    let one = Documents::default();
    let other = Documents::default();
    assert_eq!(one.index().body, other.index().body);
    assert_eq!(one.v2().hash, other.v2().hash);
    let strict = Documents::new(Dialect::Kubernetes);
    let path = "apis/batch/v1";
    assert_ne!(one.v3(path).unwrap().hash, strict.v3(path).unwrap().hash);
}

#[test]
fn version_2_describes_the_same_types_and_operations() {
    let document = parsed(Documents::default().v2());
    assert_eq!(document["swagger"], "2.0");
    let spec = &document["definitions"]["io.k8s.api.batch.v1.CronJobSpec"]["properties"];
    assert_eq!(spec["jobTemplate"]["$ref"], "#/definitions/io.k8s.api.batch.v1.JobTemplateSpec");
    assert!(spec["jobTemplate"]["description"].is_string());
    let quantity = &document["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
    assert_eq!(quantity["type"], "string");
    let path = "/apis/batch/v1/namespaces/{namespace}/cronjobs/{name}";
    let patch = &document["paths"][path]["patch"];
    let body = patch["parameters"].as_array().unwrap().last().unwrap();
    assert_eq!(body["in"], "body");
    assert_eq!(patch["consumes"].as_array().unwrap().len(), 4);
    assert_eq!(patch["produces"], json!(["application/json", "application/yaml"]));
    let response = &patch["responses"]["200"]["schema"]["$ref"];
    assert_eq!(response, "#/definitions/io.k8s.api.batch.v1.CronJob");
}
