//! Defaults of Jobs, and the generated selector.

use serde_json::{Map, Value};

use super::{child, children, pod, section, section_of, text, value};
use crate::well_known::labels;

/// Sets the defaults of the Job template in a CronJob: only the Pod template and policies. The
/// other defaults are set when a Job is created, so that CronJobs follow changes of those defaults.
pub(super) fn template(spec: &mut Map<String, Value>) {
    failure_policy(spec);
    pod::template(section_of(spec, "template"));
}

/// Sets the defaults of a Job.
pub(super) fn spec(spec: &mut Map<String, Value>) {
    template(spec);
    let is_absent = |spec: &Map<String, Value>, name| spec.get(name).is_none_or(Value::is_null);
    if is_absent(spec, "completions") && is_absent(spec, "parallelism") {
        value(spec, "completions", 1);
    }
    value(spec, "parallelism", 1);
    let per_index = !is_absent(spec, "backoffLimitPerIndex");
    value(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    value(spec, "completionMode", "NonIndexed");
    value(spec, "suspend", false);
    let has_failure_policy = !is_absent(spec, "podFailurePolicy");
    let replacement = if has_failure_policy { "Failed" } else { "TerminatingOrFailed" };
    value(spec, "podReplacementPolicy", replacement);
    value(spec, "manualSelector", false);
}

fn failure_policy(spec: &mut Map<String, Value>) {
    let Some(policy) = child(spec, "podFailurePolicy") else {
        return;
    };
    for rule in children(policy, "rules") {
        for pattern in children(rule, "onPodConditions") {
            text(pattern, "status", "True");
        }
    }
}

/// Generates the selector and the matching labels of a new Job from its name and UID. A Job with
/// `manualSelector` keeps its selector. Labels that the client set are kept; validation rejects
/// wrong ones.
pub fn generate_selector(object: &mut Value, uid: &str) {
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let name = name.to_owned();
    let spec = section(object, "spec");
    if spec.get("manualSelector") != Some(&Value::Bool(true)) {
        let template = section_of(section_of(spec, "template"), "metadata");
        let template_labels = section_of(template, "labels");
        for (key, wanted) in [
            (labels::LEGACY_JOB_NAME, name.as_str()),
            (labels::JOB_NAME, &name),
            (labels::LEGACY_CONTROLLER_UID, uid),
            (labels::CONTROLLER_UID, uid),
        ] {
            value(template_labels, key, wanted);
        }
        let selected = section_of(section_of(spec, "selector"), "matchLabels");
        value(selected, labels::CONTROLLER_UID, uid);
    }
}

/// Copies the labels of the Pod template to a Job without labels.
pub fn inherit_labels(object: &mut Value) {
    let Some(template) = object.pointer("/spec/template/metadata/labels").cloned() else {
        return;
    };
    let metadata = section(object, "metadata");
    let has_labels = child(metadata, "labels").is_some_and(|labels| !labels.is_empty());
    if !has_labels {
        metadata.insert("labels".to_owned(), template);
    }
}
