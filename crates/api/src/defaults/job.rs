//! Default values of Jobs and of the Job template in a CronJob, and the generated selector.

use serde_json::{Map, Value};

use super::{
    ensure_object_field, ensure_section, object_field, object_items, pod, set_default,
    set_default_text,
};
use crate::well_known::labels;

/// Sets the defaults of the Job template in a CronJob: only the Pod template and policies. The
/// other defaults are set when a Job is created, so that CronJobs follow changes of those defaults.
pub(super) fn set_template_defaults(spec: &mut Map<String, Value>) {
    set_failure_policy_defaults(spec);
    pod::set_template_defaults(ensure_object_field(spec, "template"));
}

/// Sets the defaults of a Job.
pub(super) fn set_defaults(spec: &mut Map<String, Value>) {
    set_template_defaults(spec);
    let is_absent = |spec: &Map<String, Value>, name| spec.get(name).is_none_or(Value::is_null);
    if is_absent(spec, "completions") && is_absent(spec, "parallelism") {
        set_default(spec, "completions", 1);
    }
    set_default(spec, "parallelism", 1);
    let per_index = !is_absent(spec, "backoffLimitPerIndex");
    set_default(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    let has_failure_policy = !is_absent(spec, "podFailurePolicy");
    let replacement = if has_failure_policy { "Failed" } else { "TerminatingOrFailed" };
    set_default(spec, "podReplacementPolicy", replacement);
    set_default(spec, "manualSelector", false);
}

fn set_failure_policy_defaults(spec: &mut Map<String, Value>) {
    let Some(policy) = object_field(spec, "podFailurePolicy") else {
        return;
    };
    for rule in object_items(policy, "rules") {
        for pattern in object_items(rule, "onPodConditions") {
            set_default_text(pattern, "status", "True");
        }
    }
}

/// Generates the selector and the matching labels of a new Job from its name and UID. A Job with
/// `manualSelector` keeps its selector. Labels that the client set are kept; validation rejects
/// wrong ones.
pub fn generate_selector(object: &mut Value, uid: &str) {
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let name = name.to_owned();
    let spec = ensure_section(object, "spec");
    if spec.get("manualSelector") != Some(&Value::Bool(true)) {
        let template = ensure_object_field(ensure_object_field(spec, "template"), "metadata");
        let template_labels = ensure_object_field(template, "labels");
        for (key, wanted) in [
            (labels::LEGACY_JOB_NAME, name.as_str()),
            (labels::JOB_NAME, &name),
            (labels::LEGACY_CONTROLLER_UID, uid),
            (labels::CONTROLLER_UID, uid),
        ] {
            set_default(template_labels, key, wanted);
        }
        let selected = ensure_object_field(ensure_object_field(spec, "selector"), "matchLabels");
        set_default(selected, labels::CONTROLLER_UID, uid);
    }
}

/// Copies the labels of the Pod template to a Job without labels.
pub fn inherit_labels(object: &mut Value) {
    let Some(template) = object.pointer("/spec/template/metadata/labels").cloned() else {
        return;
    };
    let metadata = ensure_section(object, "metadata");
    let has_labels = object_field(metadata, "labels").is_some_and(|labels| !labels.is_empty());
    if !has_labels {
        metadata.insert("labels".to_owned(), template);
    }
}
