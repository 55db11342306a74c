//! Checks the types and names of the fields of a request against the schema tables
//! ([`crate::schema`]), with Go's error messages.

use serde_json::{Map, Value};

use super::UnknownFields;
use crate::dialect::Dialect;
use crate::quantity::{ParseQuantityError, Quantity};
use crate::schema::{FieldSchema, FieldType, StructSchema};
use crate::time::{ParseTimeError, parse_rfc3339};

/// A value has the wrong type, with the message of Go or Kubernetes.
#[derive(Debug, thiserror::Error)]
pub(super) enum TypeError {
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    #[error(transparent)]
    Time(#[from] ParseTimeError),
    #[error(
        "json: cannot unmarshal {found} into Go struct field {struct_name}.{path} of type {go_type}"
    )]
    Mismatch { found: String, struct_name: &'static str, path: String, go_type: String },
}

/// The state of one traversal of a tree.
pub(super) struct TypeCheck {
    pub(super) dialect: Dialect,
    pub(super) unknown: UnknownFields,
    /// Field names and indexes from the root.
    pub(super) path: Vec<String>,
    pub(super) field_warnings: Vec<String>,
}

impl TypeCheck {
    pub(super) fn check_object(
        &mut self,
        value: &mut Value,
        struct_schema: &StructSchema,
        is_root: bool,
    ) -> Result<(), TypeError> {
        let Value::Object(fields) = value else {
            return Ok(());
        };
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            if is_root && (name == "apiVersion" || name == "kind") {
                continue;
            }
            match struct_schema.field(&name).filter(|field| self.is_known(field)) {
                Some(field) => self.check_field(fields, field, struct_schema)?,
                None => self.report_unknown_field(fields, &name, struct_schema),
            }
        }
        Ok(())
    }

    fn is_known(&self, field: &FieldSchema) -> bool {
        !(field.is_extension && self.dialect == Dialect::Kubernetes)
    }

    /// Reports an unknown field. An extension is always dropped where it is unknown, because it
    /// would take effect if it were stored.
    fn report_unknown_field(
        &mut self,
        fields: &mut Map<String, Value>,
        name: &str,
        struct_schema: &StructSchema,
    ) {
        self.path.push(name.to_owned());
        self.field_warnings.push(format!("unknown field \"{}\"", self.path_with_indexes()));
        self.path.pop();
        if self.unknown == UnknownFields::Drop || struct_schema.field(name).is_some() {
            fields.remove(name);
        }
    }

    fn check_field(
        &mut self,
        fields: &mut Map<String, Value>,
        field: &FieldSchema,
        struct_schema: &StructSchema,
    ) -> Result<(), TypeError> {
        // Go reads `null` as zero, which equals an absent field.
        if fields.get(field.json).is_none_or(Value::is_null) {
            fields.remove(field.json);
            return Ok(());
        }
        self.path.push(field.json.to_owned());
        if let Some(value) = fields.get_mut(field.json) {
            self.check_value(value, &field.ty, struct_schema)?;
        }
        self.path.pop();
        Ok(())
    }

    fn check_value(
        &mut self,
        value: &mut Value,
        ty: &FieldType,
        struct_schema: &StructSchema,
    ) -> Result<(), TypeError> {
        match (ty, value) {
            (FieldType::Struct(id), value @ Value::Object(_)) => {
                self.check_object(value, id.get(), false)
            }
            (FieldType::List(item), Value::Array(items)) => {
                self.check_list(items, item, struct_schema)
            }
            (FieldType::Map(item), Value::Object(entries)) => {
                self.check_map(entries, item, struct_schema)
            }
            (FieldType::Quantity, Value::String(text)) => {
                Quantity::parse(text.trim())?;
                Ok(())
            }
            (FieldType::Time | FieldType::MicroTime, Value::String(text)) => {
                parse_rfc3339(text)?;
                Ok(())
            }
            (_, value) if is_of_type(value, ty) => Ok(()),
            (_, value) => Err(self.mismatch(value, ty, struct_schema)),
        }
    }

    fn check_list(
        &mut self,
        items: &mut [Value],
        ty: &FieldType,
        struct_schema: &StructSchema,
    ) -> Result<(), TypeError> {
        for (i, item) in items.iter_mut().enumerate() {
            if item.is_null() {
                *item = zero_value(ty);
            }
            self.path.push(format!("[{i}]"));
            self.check_value(item, ty, struct_schema)?;
            self.path.pop();
        }
        Ok(())
    }

    fn check_map(
        &mut self,
        entries: &mut Map<String, Value>,
        ty: &FieldType,
        struct_schema: &StructSchema,
    ) -> Result<(), TypeError> {
        for (key, item) in entries.iter_mut() {
            if item.is_null() {
                *item = zero_value(ty);
            }
            self.path.push(key.clone());
            self.check_value(item, ty, struct_schema)?;
            self.path.pop();
        }
        Ok(())
    }

    /// Formats the path as in the message for unknown fields: `spec.containers[0].name`.
    fn path_with_indexes(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    }

    /// Returns the error for a value of the wrong type. Go's path has no indexes.
    fn mismatch(&self, value: &Value, ty: &FieldType, struct_schema: &StructSchema) -> TypeError {
        let names: Vec<_> = self.path.iter().filter(|step| !step.starts_with('[')).collect();
        let path = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(".");
        let found = match value {
            Value::Number(number) if is_integer(ty) => format!("number {number}"),
            _ => json_type(value).to_owned(),
        };
        TypeError::Mismatch { found, struct_name: struct_schema.name, path, go_type: go_type(ty) }
    }
}

fn is_integer(ty: &FieldType) -> bool {
    matches!(ty, FieldType::Int32 | FieldType::Int64)
}

fn is_of_type(value: &Value, ty: &FieldType) -> bool {
    match ty {
        FieldType::Any => true,
        FieldType::Bool => value.is_boolean(),
        FieldType::Int32 => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        FieldType::Int64 => value.is_i64(),
        FieldType::Text(_) | FieldType::Bytes => value.is_string(),
        FieldType::Quantity => value.is_number(),
        FieldType::IntOrString => {
            value.is_string() || value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
        }
        FieldType::Time
        | FieldType::MicroTime
        | FieldType::Struct(_)
        | FieldType::List(_)
        | FieldType::Map(_) => false,
    }
}

/// Returns Go's zero value of a type, for a `null` in a list or map.
fn zero_value(ty: &FieldType) -> Value {
    match ty {
        FieldType::Bool => Value::Bool(false),
        FieldType::Int32 | FieldType::Int64 | FieldType::IntOrString => Value::from(0),
        FieldType::Text(_) | FieldType::Bytes => Value::from(""),
        FieldType::Quantity => Value::from("0"),
        FieldType::List(_) => Value::Array(Vec::new()),
        FieldType::Struct(_) | FieldType::Map(_) => Value::Object(Map::new()),
        FieldType::Any | FieldType::Time | FieldType::MicroTime => Value::Null,
    }
}

pub(super) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn go_type(ty: &FieldType) -> String {
    match ty {
        FieldType::Bool => "bool".to_owned(),
        FieldType::Int32 => "int32".to_owned(),
        FieldType::Int64 => "int64".to_owned(),
        FieldType::Text(None) => "string".to_owned(),
        FieldType::Text(Some("UID")) => "types.UID".to_owned(),
        FieldType::Text(Some(alias)) => format!("v1.{alias}"),
        FieldType::Bytes => "[]uint8".to_owned(),
        FieldType::Quantity => "resource.Quantity".to_owned(),
        FieldType::IntOrString => "intstr.IntOrString".to_owned(),
        FieldType::Time => "string".to_owned(),
        FieldType::MicroTime => "string".to_owned(),
        FieldType::Any => "interface {}".to_owned(),
        FieldType::Struct(id) => format!("v1.{}", id.get().name),
        FieldType::List(item) => format!("[]{}", go_type(item)),
        FieldType::Map(item) => format!("map[string]{}", go_type(item)),
    }
}
