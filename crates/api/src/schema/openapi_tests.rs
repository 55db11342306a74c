//! Compares the schema tables with the OpenAPI document of kube-apiserver v1.36.3, field by field.
//!
//! `testdata/kubernetes-1.36-openapi.tsv` contains the names, types, required fields and merge rules
//! of that document; `e2e/kubernetes-tables` writes it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    FieldSchema, FieldType, ListType, PatchStrategy, StructSchema, find_struct, struct_names,
};
use crate::table_differences::{IntendedDifferences, check_differences};

const OPENAPI: &str = include_str!("../../testdata/kubernetes-1.36-openapi.tsv");

const INTENDED: &[IntendedDifferences] = &[
    IntendedDifferences {
        reason: "an extension of this project",
        differences: &[
            "ActiveRun: not in Kubernetes",
            "ContainerOverride: not in Kubernetes",
            "CronJobSpec.catchUpLimit: not in Kubernetes",
            "CronJobSpec.jitter: not in Kubernetes",
            "CronJobSpec.pendingDeadlineSeconds: not in Kubernetes",
            "CronJobStatus.conditions: not in Kubernetes",
            "CronJobStatus.failedRuns: not in Kubernetes",
            "CronJobStatus.failuresSinceSuccess: not in Kubernetes",
            "CronJobStatus.lastMissedTime: not in Kubernetes",
            "CronJobStatus.lastSkippedTime: not in Kubernetes",
            "CronJobStatus.missedRuns: not in Kubernetes",
            "CronJobStatus.nextScheduleTime: not in Kubernetes",
            "CronJobStatus.skippedRuns: not in Kubernetes",
            "CronJobStatus.slots: not in Kubernetes",
            "CronJobStatus.successfulRuns: not in Kubernetes",
            "CronJobStatus.suspendedSince: not in Kubernetes",
            "RunOverrides: not in Kubernetes",
            "RunRequest: not in Kubernetes",
            "RunRequestSpec: not in Kubernetes",
            "RunRequestStatus: not in Kubernetes",
            "RunTarget: not in Kubernetes",
            "SlotJob: not in Kubernetes",
            "SlotRange: not in Kubernetes",
            "SlotRecord: not in Kubernetes",
            "SlotRecordObject: not in Kubernetes",
        ],
    },
    IntendedDifferences {
        reason: "Go embeds the struct, and OpenAPI inlines its fields",
        differences: &[
            "EphemeralContainerCommon: not in Kubernetes",
            "ProbeHandler: not in Kubernetes",
            "VolumeSource: not in Kubernetes",
        ],
    },
    IntendedDifferences {
        reason: "the server adds retainKeys when it writes its OpenAPI document",
        differences: &[
            "PodSpec.resourceClaims: rules [map=name merge=name], Kubernetes [map=name merge,retainKeys=name]",
            "PodSpec.volumes: rules [map=name merge=name], Kubernetes [map=name merge,retainKeys=name]",
            "PodStatus.resourceClaimStatuses: rules [map=name merge=name], Kubernetes [map=name merge,retainKeys=name]",
        ],
    },
    IntendedDifferences {
        reason: "required, but Go omits the empty value (omitempty)",
        differences: &[
            "ContainerRestartRule.action: optional, Kubernetes required",
            "ContainerRestartRuleOnExitCodes.operator: optional, Kubernetes required",
            "CronJob.spec: optional, Kubernetes required",
            "ImageVolumeStatus.imageRef: optional, Kubernetes required",
            "PodCertificateProjection.keyType: optional, Kubernetes required",
            "PodCertificateProjection.signerName: optional, Kubernetes required",
        ],
    },
    IntendedDifferences {
        reason: "optional, but Go always writes the value (no omitempty)",
        differences: &[
            "ContainerImage.names: always written, Kubernetes optional",
            "Event.reportingComponent: always written, Kubernetes optional",
            "Event.reportingInstance: always written, Kubernetes optional",
            "GRPCAction.service: always written, Kubernetes optional",
            "NodeRuntimeHandler.name: always written, Kubernetes optional",
            "PodFailurePolicyOnPodConditionsPattern.status: always written, Kubernetes optional",
            "ProjectedVolumeSource.sources: always written, Kubernetes optional",
            "TypedLocalObjectReference.apiGroup: always written, Kubernetes optional",
            "TypedObjectReference.apiGroup: always written, Kubernetes optional",
        ],
    },
    IntendedDifferences {
        reason: "removed in Kubernetes v1.37, with which the recorded responses agree",
        differences: &["NodeAllocatableResourceClaimStatus.resources: missing"],
    },
    IntendedDifferences {
        reason: "added in Kubernetes v1.37, with which the recorded responses agree",
        differences: &[
            "ClusterTrustBundleProjection.user: not in Kubernetes",
            "ConfigMapVolumeSource.defaultUser: not in Kubernetes",
            "DownwardAPIVolumeFile.user: not in Kubernetes",
            "DownwardAPIVolumeSource.defaultUser: not in Kubernetes",
            "EmptyDirVolumeSource.mode: not in Kubernetes",
            "EvictionResponder: not in Kubernetes",
            "GRPCAction.mode: not in Kubernetes",
            "HTTPGetAction.protocol: not in Kubernetes",
            "JobSpec.scheduling: not in Kubernetes",
            "KeyToPath.user: not in Kubernetes",
            "NodeAllocatableMappedResources: not in Kubernetes",
            "NodeAllocatableOverheadResources: not in Kubernetes",
            "NodeAllocatableResourceClaimStatus.mapping: not in Kubernetes",
            "NodeAllocatableResourceClaimStatus.overhead: not in Kubernetes",
            "NodePodPreemptionPolicy: not in Kubernetes",
            "NodeSpec.podPreemptionPolicy: not in Kubernetes",
            "NodeSystemInfo.runningInUserNamespace: not in Kubernetes",
            "PodCertificateProjection.user: not in Kubernetes",
            "PodSpec.evictionResponders: not in Kubernetes",
            "PodStatus.volumeHealth: not in Kubernetes",
            "PodVolumeHealth: not in Kubernetes",
            "ProjectedVolumeSource.defaultUser: not in Kubernetes",
            "SecretVolumeSource.defaultUser: not in Kubernetes",
            "ServiceAccountTokenProjection.user: not in Kubernetes",
            "VolumeHealthCondition: not in Kubernetes",
            "VolumeMount.bindMountOptions: not in Kubernetes",
        ],
    },
];

/// A field as the comparison sees it.
#[derive(Debug, PartialEq)]
struct ComparedField {
    field_type: String,
    is_required: bool,
    rules: String,
}

/// A struct as the comparison sees it.
#[derive(Debug, Default)]
struct ComparedStruct {
    rules: String,
    fields: BTreeMap<String, ComparedField>,
}

fn read_openapi() -> BTreeMap<String, ComparedStruct> {
    let mut structs = BTreeMap::<String, ComparedStruct>::new();
    for line in OPENAPI.lines().skip(2) {
        let columns: Vec<_> = line.split('\t').collect();
        let column = |index: usize| columns.get(index).copied().unwrap_or_default().to_owned();
        let definition = structs.entry(column(0)).or_default();
        if column(1).is_empty() {
            definition.rules = column(4);
            continue;
        }
        let mut rules = column(4);
        // A list without a list type is atomic, as in our tables.
        if column(2).starts_with("[]") {
            rules = rules.split(' ').filter(|rule| *rule != "atomic").collect::<Vec<_>>().join(" ");
        }
        let is_required = column(3) == "required";
        let field = ComparedField { field_type: column(2), is_required, rules };
        definition.fields.insert(column(1), field);
    }
    structs
}

fn read_table(table: &StructSchema) -> ComparedStruct {
    let rules = if table.is_atomic { "atomic" } else { "" }.to_owned();
    let fields = table.fields.iter().map(|field| {
        let compared = ComparedField {
            field_type: format_type(&field.ty),
            is_required: field.is_always_written,
            rules: format_rules(field),
        };
        (field.json.to_owned(), compared)
    });
    ComparedStruct { rules, fields: fields.collect() }
}

fn format_type(ty: &FieldType) -> String {
    match ty {
        FieldType::Bool => "bool".to_owned(),
        FieldType::Int32 => "int32".to_owned(),
        FieldType::Int64 => "int64".to_owned(),
        FieldType::Text(_) => "string".to_owned(),
        FieldType::Bytes => "bytes".to_owned(),
        FieldType::Quantity => "Quantity".to_owned(),
        FieldType::IntOrString => "IntOrString".to_owned(),
        FieldType::Time => "Time".to_owned(),
        FieldType::MicroTime => "MicroTime".to_owned(),
        FieldType::Any => "any".to_owned(),
        FieldType::Struct(id) => id.get().name.to_owned(),
        FieldType::List(item) => format!("[]{}", format_type(item)),
        FieldType::Map(item) => format!("{{}}{}", format_type(item)),
    }
}

/// Formats the merge rules of a field as in the OpenAPI data.
fn format_rules(field: &FieldSchema) -> String {
    let merge = &field.merge_rules;
    let mut rules = Vec::new();
    if merge.is_atomic {
        rules.push("atomic".to_owned());
    }
    match &merge.list_type {
        ListType::Atomic => {}
        ListType::Set => rules.push("set".to_owned()),
        ListType::Map(keys) => rules.push(format!("map={}", keys.join("+"))),
    }
    match merge.patch_strategy {
        PatchStrategy::Replace => {}
        PatchStrategy::MergeValues => rules.push("merge".to_owned()),
        PatchStrategy::MergeByKey(key) => rules.push(format!("merge={key}")),
    }
    if let Some(default) = merge.default {
        rules.push(format!("default={default}"));
    }
    rules.join(" ")
}

/// Describes how a field differs, one text per aspect.
fn compare_fields(ours: &ComparedField, theirs: &ComparedField) -> Vec<String> {
    let mut differences = Vec::new();
    if ours.field_type != theirs.field_type {
        differences.push(format!("type {}, Kubernetes {}", ours.field_type, theirs.field_type));
    }
    match (ours.is_required, theirs.is_required) {
        (true, false) => differences.push("always written, Kubernetes optional".to_owned()),
        (false, true) => differences.push("optional, Kubernetes required".to_owned()),
        _ => {}
    }
    if ours.rules != theirs.rules {
        differences.push(format!("rules [{}], Kubernetes [{}]", ours.rules, theirs.rules));
    }
    differences
}

fn compare_structs(name: &str, ours: &ComparedStruct, theirs: &ComparedStruct) -> Vec<String> {
    let mut differences = Vec::new();
    if ours.rules != theirs.rules {
        let rules = format!("{name}: rules [{}], Kubernetes [{}]", ours.rules, theirs.rules);
        differences.push(rules);
    }
    let names: BTreeSet<_> = ours.fields.keys().chain(theirs.fields.keys()).collect();
    for field in names {
        match (ours.fields.get(field), theirs.fields.get(field)) {
            (Some(ours), Some(theirs)) => {
                let found = compare_fields(ours, theirs).into_iter();
                differences.extend(found.map(|difference| format!("{name}.{field}: {difference}")));
            }
            (Some(_), None) => differences.push(format!("{name}.{field}: not in Kubernetes")),
            _ => differences.push(format!("{name}.{field}: missing")),
        }
    }
    differences
}

#[test]
fn the_tables_equal_the_openapi_document_of_kube_apiserver() {
    let kubernetes = read_openapi();
    assert!(kubernetes.len() > 150, "{} definitions", kubernetes.len());
    let mut differences = BTreeSet::new();
    let names: BTreeSet<String> =
        kubernetes.keys().cloned().chain(struct_names().map(str::to_owned)).collect();
    for name in names {
        match (find_struct(&name), kubernetes.get(&name)) {
            (Some(ours), Some(theirs)) => {
                differences.extend(compare_structs(&name, &read_table(ours), theirs));
            }
            (Some(_), None) => _ = differences.insert(format!("{name}: not in Kubernetes")),
            _ => _ = differences.insert(format!("{name}: missing")),
        }
    }
    check_differences(differences, INTENDED);
}
