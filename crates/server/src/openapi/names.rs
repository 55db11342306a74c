//! The names of schemas in OpenAPI documents. Types of Kubernetes have its names, so that tools
//! find them.

use crate::resource::GroupVersion;

/// The prefix of references to schemas of the same document.
pub(super) const REF_PREFIX: &str = "#/components/schemas/";

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const CORE: &str = "io.k8s.api.core.v1";
const BATCH: &str = "io.k8s.api.batch.v1";
const BATCH_BETA: &str = "io.k8s.api.batch.v1beta1";
const EVENTS: &str = "io.k8s.api.events.v1";
const COORDINATION: &str = "io.k8s.api.coordination.v1";
const PUNCTUAL: &str = "dev.punctual.v1";

/// Structs of apimachinery and batch. Structs in neither list belong to the core group, except for
/// Leases and Events.
const META_STRUCTS: [&str; 6] = [
    "Condition",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ManagedFieldsEntry",
    "ObjectMeta",
    "OwnerReference",
];
const BATCH_STRUCTS: [&str; 15] = [
    "CronJob",
    "CronJobSpec",
    "CronJobStatus",
    "Job",
    "JobCondition",
    "JobSpec",
    "JobStatus",
    "JobTemplateSpec",
    "PodFailurePolicy",
    "PodFailurePolicyOnExitCodesRequirement",
    "PodFailurePolicyOnPodConditionsPattern",
    "PodFailurePolicyRule",
    "SuccessPolicy",
    "SuccessPolicyRule",
    "UncountedTerminatedPods",
];
/// Structs of RunRequests.
const RUN_REQUEST_STRUCTS: [&str; 8] = [
    "ActiveRun",
    "ContainerOverride",
    "RunOverrides",
    "RunRequest",
    "RunRequestSpec",
    "RunRequestStatus",
    "RunTarget",
    "SlotRange",
];
/// Structs that `batch/v1beta1` defines itself.
const BATCH_BETA_STRUCTS: [&str; 4] =
    ["CronJob", "CronJobSpec", "CronJobStatus", "JobTemplateSpec"];

/// Returns the name of the schema of a struct in the document of a group and version.
pub(super) fn struct_schema_name(group_version: GroupVersion, name: &str) -> String {
    let is_cron_job = name.starts_with("CronJob");
    if let Some(name) = slot_record_name(name).or_else(|| run_request_name(name)) {
        return format!("{PUNCTUAL}.{name}");
    }
    match (group_version.group, group_version.version) {
        ("punctual.dev", _) if is_cron_job => {
            format!("{PUNCTUAL}.{}", name.replacen("CronJob", "ScheduledJob", 1))
        }
        ("batch", "v1beta1") if BATCH_BETA_STRUCTS.contains(&name) => {
            format!("{BATCH_BETA}.{name}")
        }
        _ if name.starts_with("Lease") => format!("{COORDINATION}.{name}"),
        _ if META_STRUCTS.contains(&name) => meta_schema(name),
        _ if BATCH_STRUCTS.contains(&name) => format!("{BATCH}.{name}"),
        _ => match name.strip_prefix("Events") {
            Some(event) => format!("{EVENTS}.{event}"),
            None => format!("{CORE}.{name}"),
        },
    }
}

/// Returns the name of the schema of a struct of the slot ledger. The kind `SlotRecord` has the fields of a
/// record in a status and metadata.
fn slot_record_name(name: &str) -> Option<&'static str> {
    match name {
        "SlotRecordObject" => Some("SlotRecord"),
        "SlotRecord" => Some("StatusSlotRecord"),
        "SlotJob" => Some("SlotJob"),
        _ => None,
    }
}

/// Returns the name of the schema of a struct of RunRequests.
fn run_request_name(name: &str) -> Option<&str> {
    RUN_REQUEST_STRUCTS.contains(&name).then_some(name)
}

/// Returns the name of the schema of a review.
pub(super) fn review_schema(group_version: GroupVersion, kind: &str) -> String {
    let group = group_version.group.split('.').next().unwrap_or_default();
    format!("io.k8s.api.{group}.{}.{kind}", group_version.version)
}

/// Returns the name of the schema of a type of apimachinery.
pub(super) fn meta_schema(name: &str) -> String {
    format!("{META}.{name}")
}
