//! The CustomResourceDefinition by which a cluster serves `punctual.dev/v1` ScheduledJob.
//!
//! The schema is structural and complete: every field of the tables down to the last volume source,
//! so that a field that does not exist is reported as in `batch/v1` and nothing is kept unseen. What
//! the tables do not say is in `crd/rules.yaml`, in the words of such a schema. Together they accept
//! what [`crate::validate`] accepts, as far as a schema can.
//!
//! Descriptions end at the Pod template: whoever writes one has `kubectl explain pod`, and they would
//! be most of the definition, which kubectl has to copy into an annotation.

mod rules;
mod schedule;
mod structure;

use punctual_schedule::Zones;
use serde_json::{Value, json};

use self::rules::Rules;
use crate::cronjob::CronJobKind;
use crate::schema;

const PLURAL: &str = "scheduledjobs";

/// The definition.
pub fn definition() -> Value {
    let (kind, group) = (CronJobKind::ScheduledJob.kind(), CronJobKind::ScheduledJob.group());
    let names = json!({
        "kind": kind,
        "listKind": format!("{kind}List"),
        "plural": PLURAL,
        "singular": kind.to_lowercase(),
        "shortNames": ["sj"],
        "categories": ["all"],
    });
    let columns: Vec<_> = COLUMNS.iter().map(Column::definition).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{PLURAL}.{group}") },
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": root() },
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
            }],
        },
    })
}

/// The definition as YAML, with a comment that says where it comes from.
pub fn manifest() -> String {
    let yaml = serde_saphyr::to_string_with_options(
        &definition(),
        serde_saphyr::ser_options! { prefer_block_scalars: false },
    );
    // A tree of texts, numbers and flags can always be written.
    let yaml = yaml.unwrap_or_default();
    format!("# Written by `punctual crd`.\n{yaml}")
}

/// The schema of the whole object. Its metadata is the server's own business.
fn root() -> Value {
    let Some(shape) = schema::find_kind("punctual.dev/v1", CronJobKind::ScheduledJob.kind()) else {
        return Value::Null;
    };
    let mut rules = Rules::read();
    rules.add("CronJobSpec", schedule::rules());
    rules.add("CronJobSpec", time_zone());
    let mut root = structure::of_struct(shape, &rules);
    if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("metadata".to_owned(), json!({ "type": "object" }));
        for (name, what) in [
            ("apiVersion", "Group and version of the object's form."),
            ("kind", "Kind of the object."),
        ] {
            properties.insert(name.to_owned(), json!({ "type": "string", "description": what }));
        }
    }
    Value::Object(root)
}

/// The zones there are. As a rule and not as an enumeration, whose error would list them all.
fn time_zone() -> Value {
    let mut names = Zones::bundled().names();
    names.sort_unstable();
    let rule = json!({
        "rule": format!("self in {names:?}"),
        "messageExpression": "'unknown time zone ' + self",
    });
    json!({ "properties": { "timeZone": { "x-kubernetes-validations": [rule] } } })
}

/// A column of `kubectl get`.
struct Column {
    name: &'static str,
    ty: &'static str,
    path: &'static str,
    description: &'static str,
    /// Whether it is shown only if more is asked for.
    is_wide: bool,
}

impl Column {
    const fn new(
        name: &'static str,
        ty: &'static str,
        path: &'static str,
        description: &'static str,
    ) -> Column {
        Column { name, ty, path, description, is_wide: false }
    }

    const fn wide(name: &'static str, path: &'static str, description: &'static str) -> Column {
        Column { is_wide: true, ..Column::new(name, "string", path, description) }
    }

    fn definition(&self) -> Value {
        let Column { name, ty, path, description, is_wide } = self;
        let mut column =
            json!({"name": name, "type": ty, "jsonPath": path, "description": description});
        // The server leaves a zero out, and who applies one again would be said to change it.
        if let Some(column) = column.as_object_mut().filter(|_| *is_wide) {
            column.insert("priority".to_owned(), json!(1));
        }
        column
    }
}

/// The columns of our own server as far as a path can say them: it cannot count, so that a Job at
/// work is named instead.
const COLUMNS: [Column; 9] = [
    Column::new("Schedule", "string", ".spec.schedule", "When it runs."),
    Column::new("Timezone", "string", ".spec.timeZone", "The zone that the schedule is read in."),
    Column::new("Suspend", "boolean", ".spec.suspend", "Whether it is kept from running."),
    Column::new("Active", "string", ".status.active[*].name", "A Job that is at work."),
    Column::new("Last Schedule", "date", ".status.lastScheduleTime", "Time since its last slot."),
    Column::new("Age", "date", ".metadata.creationTimestamp", "Time since it was created."),
    Column::wide("Next Schedule", ".status.nextScheduleTime", "When it runs next."),
    Column::wide(
        "Containers",
        ".spec.jobTemplate.spec.template.spec.containers[*].name",
        "The first container of its pods.",
    ),
    Column::wide(
        "Images",
        ".spec.jobTemplate.spec.template.spec.containers[*].image",
        "The image of the first container of its pods.",
    ),
];

#[cfg(test)]
mod tests;
