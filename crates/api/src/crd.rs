//! The CustomResourceDefinitions of `punctual.dev/v1`: ScheduledJob and RunRequest.
//!
//! The structural schemas are complete: they contain every field of the schema tables
//! ([`crate::schema`]), so that unknown fields are reported as in `batch/v1`. The rules that those
//! tables do not express are in `crd/*_rules.yaml`,
//! written as schema fragments. Together they accept what [`crate::validate`] accepts, as far as a
//! schema can.
//!
//! Fields of the Pod template have no descriptions: `kubectl explain pod` has them, and they would
//! make the definition too large for the annotation of `kubectl apply`.

mod columns;
mod rules;
mod schedule;
mod structure;

use punctual_schedule::Zones;
use serde_json::{Value, json};

use self::columns::Column;
use self::rules::SchemaRules;
use crate::schema;

const GROUP: &str = "punctual.dev";

/// A kind that clusters serve as a custom resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CustomKind {
    /// ScheduledJob.
    ScheduledJob,
    /// RunRequest.
    RunRequest,
}

impl CustomKind {
    /// All kinds.
    pub const ALL: [CustomKind; 2] = [CustomKind::ScheduledJob, CustomKind::RunRequest];

    /// Returns the name in `kind`.
    pub fn kind(self) -> &'static str {
        match self {
            CustomKind::ScheduledJob => "ScheduledJob",
            CustomKind::RunRequest => "RunRequest",
        }
    }

    /// Returns the plural name.
    pub fn plural(self) -> &'static str {
        match self {
            CustomKind::ScheduledJob => "scheduledjobs",
            CustomKind::RunRequest => "runrequests",
        }
    }

    /// Returns the name of the definition, such as `scheduledjobs.punctual.dev`.
    pub fn definition_name(self) -> String {
        format!("{}.{GROUP}", self.plural())
    }

    fn names(self) -> Value {
        let kind = self.kind();
        let list_kind = format!("{kind}List");
        let plural = self.plural();
        let singular = kind.to_lowercase();
        match self {
            CustomKind::ScheduledJob => json!({
                "kind": kind, "listKind": list_kind, "plural": plural, "singular": singular,
                "shortNames": ["sj"], "categories": ["all"],
            }),
            CustomKind::RunRequest => json!({
                "kind": kind, "listKind": list_kind, "plural": plural, "singular": singular,
                "shortNames": ["rr"],
            }),
        }
    }

    /// Returns the paths of the fields that field selectors can name, in Kubernetes 1.31 and newer.
    fn selectable_fields(self) -> &'static [&'static str] {
        match self {
            CustomKind::ScheduledJob => &[],
            CustomKind::RunRequest => &[".spec.target.kind", ".spec.target.name"],
        }
    }

    fn columns(self) -> &'static [Column] {
        match self {
            CustomKind::ScheduledJob => &columns::SCHEDULED_JOB,
            CustomKind::RunRequest => &columns::RUN_REQUEST,
        }
    }
}

/// Returns the definition of a kind, which allows these time zones.
pub fn definition(kind: CustomKind, zones: &Zones) -> Value {
    let columns: Vec<_> = kind.columns().iter().map(Column::definition).collect();
    let mut version = json!({
        "name": "v1",
        "served": true,
        "storage": true,
        "schema": { "openAPIV3Schema": root(kind, zones) },
        "subresources": { "status": {} },
        "additionalPrinterColumns": columns,
    });
    if let Value::Object(version) = &mut version
        && !kind.selectable_fields().is_empty()
    {
        let fields = kind.selectable_fields().iter().map(|path| json!({ "jsonPath": path }));
        version.insert("selectableFields".to_owned(), fields.collect());
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": kind.definition_name() },
        "spec": {
            "group": GROUP,
            "names": kind.names(),
            "scope": "Namespaced",
            "versions": [version],
        },
    })
}

/// Returns the definition of a kind as a YAML document, with a comment that names its source.
pub fn manifest(kind: CustomKind, zones: &Zones) -> String {
    let yaml = serde_saphyr::to_string_with_options(
        &definition(kind, zones),
        serde_saphyr::ser_options! { prefer_block_scalars: false },
    );
    // A tree of strings, numbers and booleans always serializes.
    let yaml = yaml.unwrap_or_default();
    format!("# Written by `punctual crd`.\n{yaml}")
}

/// Returns the schema of the whole object. The server defines the schema of its metadata.
fn root(kind: CustomKind, zones: &Zones) -> Value {
    let Some(struct_schema) = schema::find_kind("punctual.dev/v1", kind.kind()) else {
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

#[cfg(test)]
mod tests;
