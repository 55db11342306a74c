//! Tables: objects as rows of cells, which is what `kubectl get` shows.
//!
//! A kind's table is a list of columns, each with the function that makes its cell; one file
//! for every family of kinds. Cells are those of kube-apiserver v1.36. Objects are looked at as
//! they are: whatever is missing or of the wrong type makes an empty cell, never an error.

mod age;
mod batch;
mod cluster;
mod config;
mod event;
pub(crate) mod partial;
mod pod;
mod recorded;
mod row;
mod selector;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::row::Row;
use crate::resource::ServedResource;

/// The mark of the bookmark that ends the initial events of a watch. Clients wait for it, so it
/// is sent even to those that want no objects.
const INITIAL_EVENTS_END: &str = "/metadata/annotations/k8s.io~1initial-events-end";

/// What a row says about its object besides its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl IncludeObject {
    /// Reads the `includeObject` parameter; the error is the message of the bad request.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "None" => Ok(IncludeObject::None),
            "Object" => Ok(IncludeObject::Object),
            _ => Err(format!("unrecognized includeObject value: {text:?}")),
        }
    }
}

/// How a table is to be rendered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions {
    /// What rows say about their objects.
    pub(crate) include: IncludeObject,
    /// Whether columns are described. A watch describes them in its first event alone.
    pub(crate) has_columns: bool,
    /// The present, from which ages are counted.
    pub(crate) now: Timestamp,
}

/// A table of objects. `metadata` is that of the list, or of the list of one (see
/// [`metadata_of_one`]).
pub(crate) fn render(
    served: ServedResource,
    objects: &[Value],
    metadata: Value,
    how: TableOptions,
) -> Value {
    let layout = Layout::of(served.resource.kind);
    let columns = how.has_columns.then(|| layout.columns.iter().map(Column::definition).collect());
    let rows: Vec<_> = objects.iter().map(|object| layout.row(object, how)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns.map_or(Value::Null, Value::Array),
        "rows": rows,
    })
}

/// The metadata of a table with one object, as in the answer to a get or in an event of a watch.
pub(crate) fn metadata_of_one(object: &Value) -> Value {
    match object.pointer("/metadata/resourceVersion") {
        Some(version) => json!({ "resourceVersion": version }),
        None => json!({}),
    }
}

/// How the objects of a kind are shown.
struct Layout {
    columns: &'static [Column],
    /// What can be said about a row as a whole.
    conditions: fn(&Row<'_>) -> Option<Value>,
}

impl Layout {
    const fn new(columns: &'static [Column]) -> Self {
        Layout { columns, conditions: |_| None }
    }

    fn of(kind: &str) -> &'static Layout {
        match kind {
            "CronJob" | "ScheduledJob" => &batch::CRON_JOB,
            "Job" => &batch::JOB,
            "Pod" => &pod::POD,
            "Event" => &event::EVENT,
            "Namespace" => &cluster::NAMESPACE,
            "Node" => &cluster::NODE,
            "ConfigMap" => &config::CONFIG_MAP,
            "Secret" => &config::SECRET,
            "Lease" => &config::LEASE,
            _ => &config::NAME_AND_AGE,
        }
    }

    fn row(&self, object: &Value, how: TableOptions) -> Value {
        let row = Row { object, now: how.now };
        let cells: Vec<_> = self.columns.iter().map(|column| (column.cell)(&row)).collect();
        let mut shown = json!({ "cells": cells, "object": included(object, how.include) });
        if let (Some(conditions), Some(entries)) = ((self.conditions)(&row), shown.as_object_mut())
        {
            entries.insert("conditions".to_owned(), conditions);
        }
        shown
    }
}

fn included(object: &Value, include: IncludeObject) -> Value {
    let ends_initial_events = || object.pointer(INITIAL_EVENTS_END).is_some();
    match include {
        IncludeObject::Object => object.clone(),
        IncludeObject::None if !ends_initial_events() => Value::Null,
        IncludeObject::None | IncludeObject::Metadata => partial::object(object),
    }
}

/// A column and the making of its cells.
struct Column {
    name: &'static str,
    ty: &'static str,
    format: &'static str,
    description: &'static str,
    /// Zero for columns that are always shown, one for those of `kubectl get -o wide`.
    priority: u8,
    cell: fn(&Row<'_>) -> Value,
}

impl Column {
    const fn text(
        name: &'static str,
        description: &'static str,
        cell: fn(&Row<'_>) -> Value,
    ) -> Self {
        Column { name, ty: "string", format: "", description, priority: 0, cell }
    }

    const fn wide(
        name: &'static str,
        description: &'static str,
        cell: fn(&Row<'_>) -> Value,
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

/// The name, by which kubectl refers to the object of a row.
const NAME: Column = Column {
    format: "name",
    ..Column::text("Name", "Name of the object, unique in its namespace.", |row| row.name())
};

/// The time since creation.
const AGE: Column = Column::text("Age", "Time since the object was created.", |row| row.age());

#[cfg(test)]
mod tests;
