//! The CustomResourceDefinition of `punctual.dev/v1` ScheduledJob.
//!
//! The structural schema is complete: it contains every field of the schema tables
//! ([`crate::schema`]), so that unknown fields are reported as in `batch/v1`. The rules that those
//! tables do not express are in `crd/*_rules.yaml`,
//! written as schema fragments. Together they accept what [`crate::validate`] accepts, as far as a
//! schema can.
//!
//! Fields of the Pod template have no descriptions: `kubectl explain pod` has them, and they would
//! make the definition too large for the annotation of `kubectl apply`.

mod rules;
mod schedule;
mod structure;

use punctual_schedule::Zones;
use serde_json::{Value, json};

use self::rules::SchemaRules;
use crate::cronjob::CronJobKind;
use crate::schema;

const PLURAL: &str = "scheduledjobs";

/// Returns the definition, which allows these time zones.
pub fn definition(zones: &Zones) -> Value {
    let kind = CronJobKind::ScheduledJob.kind();
    let group = CronJobKind::ScheduledJob.group();
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
                "schema": { "openAPIV3Schema": root(zones) },
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
            }],
        },
    })
}

/// Returns the definition as YAML, with a comment that names its source.
pub fn manifest(zones: &Zones) -> String {
    let yaml = serde_saphyr::to_string_with_options(
        &definition(zones),
        serde_saphyr::ser_options! { prefer_block_scalars: false },
    );
    // A tree of strings, numbers and booleans always serializes.
    let yaml = yaml.unwrap_or_default();
    format!("# Written by `punctual crd`.\n{yaml}")
}

/// Returns the schema of the whole object. The server defines the schema of its metadata.
fn root(zones: &Zones) -> Value {
    let Some(struct_schema) =
        schema::find_kind("punctual.dev/v1", CronJobKind::ScheduledJob.kind())
    else {
        return Value::Null;
    };
    let mut rules = SchemaRules::read();
    rules.add("CronJobSpec", schedule::rules());
    rules.add("CronJobSpec", time_zone(zones));
    let mut root = structure::struct_schema(struct_schema, &rules);
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

/// Returns the rule for time zones. An enumeration would list all zones in its error message.
fn time_zone(zones: &Zones) -> Value {
    let mut names = zones.names();
    names.sort_unstable();
    let rule = json!({
        "rule": format!("self == '' || self in {names:?}"),
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
    /// Whether the column appears only with `-o wide`.
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
        // kube-apiserver omits a zero priority; an explicit one would appear as a change on every
        // apply.
        if *is_wide && let Value::Object(column) = &mut column {
            column.insert("priority".to_owned(), json!(1));
        }
        column
    }
}

/// The columns that our server prints, as far as a JSON path can express them. A path cannot count,
/// so the column for active Jobs shows the name of one.
const COLUMNS: [Column; 9] = [
    Column::new("Schedule", "string", ".spec.schedule", "The schedule."),
    Column::new("Timezone", "string", ".spec.timeZone", "The time zone of the schedule."),
    Column::new("Suspend", "boolean", ".spec.suspend", "Whether new runs are suspended."),
    Column::new("Active", "string", ".status.active[*].name", "An active Job."),
    Column::new(
        "Last Schedule",
        "date",
        ".status.lastScheduleTime",
        "Time since the latest slot for which a Job was started.",
    ),
    Column::new("Age", "date", ".metadata.creationTimestamp", "Time since creation."),
    Column::wide("Next Schedule", ".status.nextScheduleTime", "When the next run starts."),
    Column::wide(
        "Containers",
        ".spec.jobTemplate.spec.template.spec.containers[*].name",
        "The first container of the pods.",
    ),
    Column::wide(
        "Images",
        ".spec.jobTemplate.spec.template.spec.containers[*].image",
        "The image of the first container of the pods.",
    ),
];

#[cfg(test)]
mod tests;
