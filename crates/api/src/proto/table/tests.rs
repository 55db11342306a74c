//! Compares the table of protobuf messages with the schema tables and with Kubernetes'
//! `generated.proto`.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::table_differences::{IntendedDifferences, check_differences};

/// Structs of this project, and structs and fields that are newer than v1.36. They have no number.
const WITHOUT_NUMBER: [&str; 37] = [
    "ActiveRun",
    "ClusterTrustBundleProjection.user",
    "ConfigMapVolumeSource.defaultUser",
    "ContainerOverride",
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
    "RunOverrides",
    "RunRequest",
    "RunRequestSpec",
    "RunRequestStatus",
    "RunTarget",
    "SecretVolumeSource.defaultUser",
    "ServiceAccountTokenProjection.user",
    "SlotJob",
    "SlotRange",
    "SlotRecord",
    "SlotRecordObject",
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
    let struct_schema = schema::find_struct(name).unwrap();
    let names = names_of(message);
    let kubernetes_fields = struct_schema.fields.iter().filter(|field| !field.is_extension);
    let missing = kubernetes_fields.filter(|field| !names.contains(field.json));
    missing.map(|field| format!("{name}.{}", field.json)).collect()
}

#[test]
fn every_field_of_kubernetes_v1_36_has_a_number() {
    let missing: BTreeSet<_> = schema::struct_names().flat_map(without_number).collect();
    assert_eq!(missing, WITHOUT_NUMBER.map(str::to_owned).into());
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

/// Names, numbers and types of the messages in `generated.proto` of `k8s.io/api` v0.36.3.
const GENERATED_PROTO: &str = include_str!("../../../testdata/kubernetes-1.36-proto.tsv");

const INTENDED: &[IntendedDifferences] = &[
    IntendedDifferences {
        reason: "the server sets the status of a review, so it is never decoded",
        differences: &[
            "ExtraValue: missing",
            "NonResourceRule: missing",
            "ResourceRule: missing",
            "SelfSubjectAccessReview.status: missing",
            "SelfSubjectReview.status: missing",
            "SelfSubjectReviewStatus: missing",
            "SelfSubjectRulesReview.status: missing",
            "SubjectAccessReviewStatus: missing",
            "SubjectRulesReviewStatus: missing",
            "UserInfo: missing",
        ],
    },
    IntendedDifferences {
        reason: "the embedded ProbeHandler has the protobuf name handler; such names are not used",
        differences: &["Probe.handler: missing", "Probe.probeHandler: not in Kubernetes"],
    },
    IntendedDifferences {
        reason: "removed in Kubernetes v1.37, with which the recorded responses agree",
        differences: &["NodeAllocatableResourceClaimStatus.resources: missing"],
    },
];

type ComparedFields = BTreeMap<String, String>;

/// Reads the messages of Kubernetes: name -> field -> number and type.
fn read_generated_proto() -> BTreeMap<String, ComparedFields> {
    let mut messages = BTreeMap::<String, ComparedFields>::new();
    for line in GENERATED_PROTO.lines().skip(2) {
        let columns: Vec<_> = line.split('\t').collect();
        let fields = messages.entry(columns[0].to_owned()).or_default();
        if let [_, name, number, ty] = columns[..] {
            fields.insert(name.to_owned(), format!("{number} {ty}"));
        }
    }
    messages
}

/// Reads our message: field -> number and type.
fn read_message(message: &Message) -> ComparedFields {
    let fields = message.fields.iter().map(|field| {
        let number = field.number;
        match field.cardinality {
            Cardinality::Single(ty) => {
                (field.name.to_owned(), format!("{number} {}", format_type(ty)))
            }
            Cardinality::List(ty) => {
                (field.name.to_owned(), format!("{number} []{}", format_type(ty)))
            }
            Cardinality::Map(ty) => {
                (field.name.to_owned(), format!("{number} {{}}{}", format_type(ty)))
            }
            Cardinality::Embedded(id) => {
                let name = id.get().name;
                (uncapitalized(name), format!("{number} {name}"))
            }
        }
    });
    fields.collect()
}

fn format_type(ty: ValueType) -> &'static str {
    match ty {
        ValueType::Bool => "bool",
        ValueType::Int32 => "int32",
        ValueType::Int64 => "int64",
        ValueType::Text => "string",
        ValueType::Bytes => "bytes",
        ValueType::Quantity => "Quantity",
        ValueType::IntOrString => "IntOrString",
        ValueType::Time => "Time",
        ValueType::MicroTime => "MicroTime",
        ValueType::Json => "any",
        ValueType::Message(id) => id.get().name,
    }
}

fn uncapitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[test]
fn the_messages_equal_generated_proto_of_kubernetes() {
    let kubernetes = read_generated_proto();
    assert!(kubernetes.len() > 150, "{} messages", kubernetes.len());
    let ours = read_sources().into_iter().map(|source| source.name.to_owned());
    let names: BTreeSet<String> = kubernetes.keys().cloned().chain(ours).collect();
    let mut differences = BTreeSet::new();
    for name in names {
        let (Some(ours), Some(theirs)) = (find_message(&name), kubernetes.get(&name)) else {
            let problem =
                if kubernetes.contains_key(&name) { "missing" } else { "not in Kubernetes" };
            differences.insert(format!("{name}: {problem}"));
            continue;
        };
        let ours = read_message(ours);
        for field in ours.keys().chain(theirs.keys()) {
            match (ours.get(field), theirs.get(field)) {
                (Some(ours), Some(theirs)) if ours == theirs => {}
                (Some(ours), Some(theirs)) => {
                    differences.insert(format!("{name}.{field}: {ours}, Kubernetes {theirs}"));
                }
                (Some(_), None) => {
                    _ = differences.insert(format!("{name}.{field}: not in Kubernetes"))
                }
                _ => _ = differences.insert(format!("{name}.{field}: missing")),
            }
        }
    }
    check_differences(differences, INTENDED);
}
