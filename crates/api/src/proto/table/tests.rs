use std::collections::BTreeSet;

use super::*;

/// What the schema has of v1.37 that v1.36 had no numbers for: structs as a whole, and fields.
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

/// The names in JSON of all fields of a message, embedded messages included.
fn names_of(message: &Message) -> BTreeSet<&'static str> {
    let below = |slot: &Slot| match slot.role {
        Role::Embedded(id) => names_of(id.get()),
        _ => BTreeSet::from([slot.name]),
    };
    message.slots.iter().flat_map(below).collect()
}

/// What of a struct has no number.
fn without_number(name: &str) -> Vec<String> {
    let Some(message) = named(name) else { return vec![name.to_owned()] };
    let (shape, names) = (schema::find_struct(name).unwrap(), names_of(message));
    let theirs = shape.fields.iter().filter(|field| !field.is_ours);
    let missing = theirs.filter(|field| !names.contains(field.json));
    missing.map(|field| format!("{name}.{}", field.json)).collect()
}

#[test]
fn every_field_of_kubernetes_v1_36_has_a_number() {
    let missing: BTreeSet<_> = schema::struct_names().flat_map(without_number).collect();
    assert_eq!(missing, NEWER.map(str::to_owned).into());
}

#[test]
fn every_entry_of_the_table_is_understood_and_no_number_is_given_twice() {
    for (name, entries) in read_drafts() {
        let message = named(name).unwrap();
        assert_eq!(message.slots.len(), entries.len(), "{name}: {entries:?}");
        let numbers: BTreeSet<_> = message.slots.iter().map(|slot| slot.number).collect();
        assert_eq!(numbers.len(), entries.len(), "{name}: {entries:?}");
        assert!(!numbers.contains(&0), "{name}");
    }
    assert_eq!(table().by_name.len(), table().messages.len());
}

#[test]
fn our_own_fields_have_no_number() {
    for name in schema::struct_names() {
        let Some(message) = named(name) else { continue };
        let names = names_of(message);
        for field in schema::find_struct(name).unwrap().fields.iter().filter(|field| field.is_ours)
        {
            assert!(!names.contains(field.json), "{name}.{}", field.json);
        }
    }
}

#[test]
fn a_kind_has_its_message_unless_it_is_ours() {
    let name = |api_version, kind| of_kind(api_version, kind).map(|message| message.name);
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
