//! Descriptions of types and fields, for `kubectl explain`.
//!
//! The texts are in `descriptions.txt`. A line without indentation is `Struct: text`. The lines below it,
//! indented by two spaces, are its fields, `field: text`. A line indented by six spaces continues a text.
//! Rare fields have no text.

use std::collections::HashMap;
use std::sync::OnceLock;

const SOURCE: &str = include_str!("descriptions.txt");

/// Texts by struct and field. The text of the struct itself has an empty field name.
type DescriptionMap = HashMap<(&'static str, &'static str), String>;

/// Returns the description of a struct.
pub(super) fn struct_description(name: &'static str) -> Option<&'static str> {
    field_description(name, "")
}

/// Returns the description of a field.
pub(super) fn field_description(name: &'static str, field: &'static str) -> Option<&'static str> {
    static TEXTS: OnceLock<DescriptionMap> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| parse(SOURCE));
    // The object has the fields of a record in a status.
    let inherited = (name == "SlotRecordObject").then_some(("SlotRecord", field));
    let own = texts.get(&(name, field));
    own.or_else(|| texts.get(&inherited?)).map(String::as_str)
}

fn parse(source: &'static str) -> DescriptionMap {
    let mut texts = DescriptionMap::new();
    let mut key = ("", "");
    for line in source.lines().filter(|line| !line.starts_with('#')) {
        let text = match (line.strip_prefix("      "), line.split_once(": ")) {
            (Some(continuation), _) => continuation,
            (None, Some((name, text))) => {
                key = match name.strip_prefix("  ") {
                    Some(field) => (key.0, field),
                    None => (name, ""),
                };
                text
            }
            (None, None) => continue,
        };
        let description = texts.entry(key).or_default();
        if !description.is_empty() {
            description.push(' ');
        }
        description.push_str(text);
    }
    texts
}

#[cfg(test)]
mod tests {
    use punctual_api::schema;

    use super::*;

    #[test]
    fn every_described_type_and_field_exists() {
        for (name, field) in parse(SOURCE).into_keys() {
            let schema = schema::find_struct(name).unwrap_or_else(|| panic!("{name}"));
            assert!(field.is_empty() || schema.field(field).is_some(), "{name}.{field}");
        }
    }

    #[test]
    fn every_text_is_a_sentence_and_every_line_is_parsed() {
        for ((name, field), text) in parse(SOURCE) {
            assert!(text.ends_with(['.', ')']) && !text.contains("  "), "{name}.{field}: {text}");
        }
        for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.starts_with("      ") || line.contains(": "), "{line}");
        }
    }

    #[test]
    fn nothing_is_described_twice() {
        let mut name = "";
        let mut seen = std::collections::HashSet::new();
        for line in
            SOURCE.lines().filter(|line| !line.starts_with(['#']) && !line.starts_with("      "))
        {
            let (field, _) = line.split_once(": ").unwrap();
            name = if field.starts_with(' ') { name } else { field };
            assert!(seen.insert((name, field)), "{line}");
        }
    }

    #[test]
    fn all_fields_of_common_kinds_are_described() {
        let names = [
            "CronJob",
            "CronJobSpec",
            "CronJobStatus",
            "SlotRecord",
            "SlotRecordObject",
            "SlotJob",
            "RunRequest",
            "RunRequestSpec",
            "RunTarget",
            "RunOverrides",
            "ContainerOverride",
            "RunRequestStatus",
            "SlotRange",
            "ActiveRun",
            "Job",
            "JobSpec",
            "JobStatus",
            "JobCondition",
            "JobTemplateSpec",
            "PodFailurePolicy",
            "PodFailurePolicyRule",
            "SuccessPolicy",
            "SuccessPolicyRule",
            "ObjectMeta",
            "OwnerReference",
            "LabelSelector",
            "Condition",
            "PodTemplateSpec",
            "Pod",
            "PodSpec",
            "Container",
            "EnvVar",
            "EnvVarSource",
            "EnvFromSource",
            "VolumeMount",
            "ResourceRequirements",
            "Probe",
            "ConfigMap",
            "Secret",
            "ServiceAccount",
            "ResourceQuota",
            "ResourceQuotaSpec",
            "ResourceQuotaStatus",
            "Namespace",
            "Event",
            "EventsEvent",
            "Lease",
            "LeaseSpec",
            "Node",
        ];
        for name in names {
            let schema = schema::find_struct(name).unwrap();
            assert!(struct_description(name).is_some(), "{name}");
            for field in &schema.fields {
                assert!(field_description(name, field.json).is_some(), "{name}.{}", field.json);
            }
        }
    }
}
