//! Tables: the rows and columns that `kubectl get` shows.
//!
//! The table of a kind is a list of columns, each with a function that computes its cell. There is
//! one file for every family of kinds. Cells are those of kube-apiserver v1.36. Fields that are
//! missing or have a wrong type make empty cells, never errors.

mod age;
mod batch;
mod cluster;
mod column_descriptions;
mod config;
mod event;
pub(crate) mod partial_metadata;
mod pod;
mod quota;
mod row;
mod run_request;
mod selector;
mod slot_record;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::row::TableRow;
use crate::resource::ServedResource;

/// The annotation of the bookmark that ends the initial events of a watch. Clients wait for it, so
/// its row contains the metadata even if the client wants no objects.
const INITIAL_EVENTS_END: &str = "/metadata/annotations/k8s.io~1initial-events-end";

/// What a row contains of its object besides the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// The metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

/// An invalid `includeObject` parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unrecognized includeObject value: {0:?}")]
pub(crate) struct InvalidIncludeObject(String);

impl IncludeObject {
    /// Parses the `includeObject` parameter.
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidIncludeObject> {
        match text {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "None" => Ok(IncludeObject::None),
            "Object" => Ok(IncludeObject::Object),
            _ => Err(InvalidIncludeObject(text.to_owned())),
        }
    }
}

/// How a table is rendered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions {
    /// What rows contain of their objects.
    pub(crate) include_object: IncludeObject,
    /// Whether columns are described. In a watch only the first event describes them.
    pub(crate) has_columns: bool,
    /// The current time, for ages.
    pub(crate) now: Timestamp,
}

/// Renders a table of objects. `metadata` is that of the list, or [`metadata_of_one`] for one
/// object.
pub(crate) fn render(
    served: ServedResource,
    objects: &[Value],
    metadata: Value,
    options: TableOptions,
) -> Value {
    let columns = if options.has_columns { column_definitions(served) } else { Value::Null };
    let rows: Vec<_> = objects.iter().map(|object| render_row(served, object, options)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

/// Returns the descriptions of the columns of a resource.
pub(crate) fn column_definitions(served: ServedResource) -> Value {
    TableLayout::for_kind(served.resource.kind).columns.iter().map(Column::definition).collect()
}

/// Renders the row of an object.
pub(crate) fn render_row(served: ServedResource, object: &Value, options: TableOptions) -> Value {
    TableLayout::for_kind(served.resource.kind).render_row(object, options)
}

/// Returns the metadata of a table with one object, for a get or an event of a watch.
pub(crate) fn metadata_of_one(object: &Value) -> Value {
    match object.pointer("/metadata/resourceVersion") {
        Some(version) => json!({ "resourceVersion": version }),
        None => json!({}),
    }
}

/// The columns of a kind.
struct TableLayout {
    columns: &'static [Column],
    /// Returns the conditions of a row.
    conditions: fn(&TableRow<'_>) -> Option<Value>,
}

impl TableLayout {
    const fn new(columns: &'static [Column]) -> Self {
        TableLayout { columns, conditions: |_| None }
    }

    fn for_kind(kind: &str) -> &'static TableLayout {
        match kind {
            "CronJob" | "ScheduledJob" => &batch::CRON_JOB,
            "Job" => &batch::JOB,
            "Pod" => &pod::POD,
            "Event" => &event::EVENT,
            "Namespace" => &cluster::NAMESPACE,
            "Node" => &cluster::NODE,
            "ConfigMap" => &config::CONFIG_MAP,
            "Secret" => &config::SECRET,
            "RunRequest" => &run_request::RUN_REQUEST,
            "SlotRecord" => &slot_record::SLOT_RECORD,
            "Lease" => &config::LEASE,
            "ResourceQuota" => &quota::RESOURCE_QUOTA,
            _ => &config::NAME_AND_AGE,
        }
    }

    fn render_row(&self, object: &Value, options: TableOptions) -> Value {
        let row = TableRow { object, now: options.now };
        let cells: Vec<_> = self.columns.iter().map(|column| (column.cell)(&row)).collect();
        let object = included_object(object, options.include_object);
        match (self.conditions)(&row) {
            Some(conditions) => {
                json!({ "cells": cells, "conditions": conditions, "object": object })
            }
            None => json!({ "cells": cells, "object": object }),
        }
    }
}

fn included_object(object: &Value, include_object: IncludeObject) -> Value {
    let ends_initial_events = || object.pointer(INITIAL_EVENTS_END).is_some();
    match include_object {
        IncludeObject::Object => object.clone(),
        IncludeObject::None if !ends_initial_events() => Value::Null,
        IncludeObject::None | IncludeObject::Metadata => partial_metadata::object(object),
    }
}

/// A column and the function that computes its cells.
struct Column {
    name: &'static str,
    ty: &'static str,
    format: &'static str,
    description: &'static str,
    /// Zero for columns that are always shown, one for those of `kubectl get -o wide` only.
    priority: u8,
    cell: fn(&TableRow<'_>) -> Value,
}

impl Column {
    const fn text(
        name: &'static str,
        description: &'static str,
        cell: fn(&TableRow<'_>) -> Value,
    ) -> Self {
        Column { name, ty: "string", format: "", description, priority: 0, cell }
    }

    const fn wide(
        name: &'static str,
        description: &'static str,
        cell: fn(&TableRow<'_>) -> Value,
    ) -> Self {
        Column { priority: 1, ..Column::text(name, description, cell) }
    }

    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.ty,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

/// The name column. kubectl uses its cell to refer to the object.
const NAME: Column = Column {
    format: "name",
    ..Column::text("Name", "Name of the object, unique in its namespace.", |row| row.name())
};

/// The age column.
const AGE: Column = Column::text("Age", "Time since the object was created.", |row| row.age());

#[cfg(test)]
mod tests;
