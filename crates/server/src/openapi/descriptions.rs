//! Descriptions of types and fields, for `kubectl explain`.
//!
//! The texts are in `descriptions.txt`: `Struct: text` in the first column, the fields below it
//! with two spaces, `field: text`, and six spaces where a text goes on. Rare fields have none.

use std::collections::HashMap;
use std::sync::OnceLock;

const SOURCE: &str = include_str!("descriptions.txt");

/// Texts by struct and field; the text of the struct itself is that of the field without a name.
type Texts = HashMap<(&'static str, &'static str), String>;

/// What a struct is.
pub(super) fn of_struct(name: &'static str) -> Option<&'static str> {
    of_field(name, "")
}

/// What a field of a struct is for.
pub(super) fn of_field(name: &'static str, field: &'static str) -> Option<&'static str> {
    static TEXTS: OnceLock<Texts> = OnceLock::new();
    TEXTS.get_or_init(|| read(SOURCE)).get(&(name, field)).map(String::as_str)
}

fn read(source: &'static str) -> Texts {
    let mut texts = Texts::new();
    let mut place = ("", "");
    for line in source.lines().filter(|line| !line.starts_with('#')) {
        let text = match (line.strip_prefix("      "), line.split_once(": ")) {
            (Some(more), _) => more,
            (None, Some((name, text))) => {
                place = match name.strip_prefix("  ") {
                    Some(field) => (place.0, field),
                    None => (name, ""),
                };
                text
            }
            (None, None) => continue,
        };
        let known = texts.entry(place).or_default();
        if !known.is_empty() {
            known.push(' ');
        }
        known.push_str(text);
    }
    texts
}

#[cfg(test)]
mod tests {
    use punctual_api::schema;

    use super::*;

    #[test]
    fn every_described_type_and_field_exists() {
        for (name, field) in read(SOURCE).into_keys() {
            let shape = schema::find_struct(name).unwrap_or_else(|| panic!("{name}"));
            assert!(field.is_empty() || shape.field(field).is_some(), "{name}.{field}");
        }
    }

    #[test]
    fn every_text_is_a_sentence_and_every_line_is_read() {
        for ((name, field), text) in read(SOURCE) {
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
    fn all_fields_of_the_kinds_that_people_write_are_described() {
        let names = [
            "CronJob",
            "CronJobSpec",
            "CronJobStatus",
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
            "Namespace",
            "Event",
            "EventsEvent",
            "Lease",
            "LeaseSpec",
            "Node",
        ];
        for name in names {
            let shape = schema::find_struct(name).unwrap();
            assert!(of_struct(name).is_some(), "{name}");
            for field in &shape.fields {
                assert!(of_field(name, field.json).is_some(), "{name}.{}", field.json);
            }
        }
    }
}
