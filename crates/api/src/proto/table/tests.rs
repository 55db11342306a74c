use std::collections::BTreeSet;

use super::*;

/// Structs and fields of the schema tables that are newer than v1.36 and have no number.
const NEWER: [&str; 26] = [
    "ClusterTrustBundleProjection.user",
    "ConfigMapVolumeSource.defaultUser",
    "DownwardAPIVolumeFile.user",
    "DownwardAPIVolumeSource.defaultUser",
    "EmptyDirVolumeSource.mode",
    "EvictionResponder",
    "GRPCAction.mode",
    "HTTPGetAction.protocol",
    "JobSpec.scheduling",
    "KeyToPath.user",
    "NodeAllocatableMappedResources",
    "NodeAllocatableOverheadResources",
    "NodeAllocatableResourceClaimStatus.mapping",
    "NodeAllocatableResourceClaimStatus.overhead",
    "NodePodPreemptionPolicy",
    "NodeSpec.podPreemptionPolicy",
    "NodeSystemInfo.runningInUserNamespace",
    "PodCertificateProjection.user",
    "PodSpec.evictionResponders",
    "PodStatus.volumeHealth",
    "PodVolumeHealth",
    "ProjectedVolumeSource.defaultUser",
    "SecretVolumeSource.defaultUser",
    "ServiceAccountTokenProjection.user",
    "VolumeHealthCondition",
    "VolumeMount.bindMountOptions",
];

/// Returns the JSON names of all fields of a message, including embedded messages.
fn names_of(message: &Message) -> BTreeSet<&'static str> {
    let names = |field: &ProtoField| match field.cardinality {
        Cardinality::Embedded(id) => names_of(id.get()),
        _ => BTreeSet::from([field.name]),
    };
    message.fields.iter().flat_map(names).collect()
}

/// Returns the struct or the fields of the struct that have no number.
fn without_number(name: &str) -> Vec<String> {
    let Some(message) = find_message(name) else { return vec![name.to_owned()] };
    let shape = schema::find_struct(name).unwrap();
    let names = names_of(message);
    let kubernetes_fields = shape.fields.iter().filter(|field| !field.is_extension);
    let missing = kubernetes_fields.filter(|field| !names.contains(field.json));
    missing.map(|field| format!("{name}.{}", field.json)).collect()
}

#[test]
fn every_field_of_kubernetes_v1_36_has_a_number() {
    let missing: BTreeSet<_> = schema::struct_names().flat_map(without_number).collect();
    assert_eq!(missing, NEWER.map(str::to_owned).into());
}

#[test]
fn every_entry_of_the_table_is_parsed_and_every_number_is_unique() {
    for MessageSource { name, entries } in read_sources() {
        let message = find_message(name).unwrap();
        assert_eq!(message.fields.len(), entries.len(), "{name}: {entries:?}");
        let numbers: BTreeSet<_> = message.fields.iter().map(|field| field.number).collect();
        assert_eq!(numbers.len(), entries.len(), "{name}: {entries:?}");
        assert!(!numbers.contains(&0), "{name}");
    }
    assert_eq!(table().by_name.len(), table().messages.len());
}

#[test]
fn extension_fields_have_no_number() {
    for name in schema::struct_names() {
        let Some(message) = find_message(name) else { continue };
        let names = names_of(message);
        for field in
            schema::find_struct(name).unwrap().fields.iter().filter(|field| field.is_extension)
        {
            assert!(!names.contains(field.json), "{name}.{}", field.json);
        }
    }
}

#[test]
fn only_kubernetes_kinds_have_a_message() {
    let name = |api_version, kind| find_kind(api_version, kind).map(|message| message.name);
    assert_eq!(name("batch/v1", "CronJob"), Some("CronJob"));
    assert_eq!(name("batch/v1beta1", "CronJob"), Some("CronJob"));
    assert_eq!(name("v1", "Event"), Some("Event"));
    assert_eq!(name("events.k8s.io/v1", "Event"), Some("EventsEvent"));
    assert_eq!(
        name("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
        Some("SelfSubjectAccessReview")
    );
    assert_eq!(name("punctual.dev/v1", "ScheduledJob"), None);
    assert_eq!(name("apps/v1", "Deployment"), None);
}
