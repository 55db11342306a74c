//! The types and names of a request's fields, checked along the tables, in Go's words.

use serde_json::{Map, Value};

use super::Unknown;
use crate::dialect::Dialect;
use crate::quantity::Quantity;
use crate::schema::{Field, Struct, Type};
use crate::time::parse_rfc3339;

/// A walk over a tree along its table.
pub(super) struct Check {
    pub(super) dialect: Dialect,
    pub(super) unknown: Unknown,
    /// Names and indexes from the root.
    pub(super) path: Vec<String>,
    pub(super) doubts: Vec<String>,
}

impl Check {
    pub(super) fn object(
        &mut self,
        value: &mut Value,
        shape: &Struct,
        is_root: bool,
    ) -> Result<(), String> {
        let Value::Object(fields) = value else {
            return Ok(());
        };
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            if is_root && (name == "apiVersion" || name == "kind") {
                continue;
            }
            match shape.field(&name).filter(|field| self.is_known(field)) {
                Some(field) => self.field(fields, field, shape)?,
                None => self.unknown_field(fields, &name, shape),
            }
        }
        Ok(())
    }

    fn is_known(&self, field: &Field) -> bool {
        !(field.is_ours && self.dialect == Dialect::Strict)
    }

    /// What is ours is never kept where it is unknown: it would have an effect all the same.
    fn unknown_field(&mut self, fields: &mut Map<String, Value>, name: &str, shape: &Struct) {
        self.path.push(name.to_owned());
        self.doubts.push(format!("unknown field \"{}\"", self.path_with_indexes()));
        self.path.pop();
        if self.unknown == Unknown::Drop || shape.field(name).is_some() {
            fields.remove(name);
        }
    }

    fn field(
        &mut self,
        fields: &mut Map<String, Value>,
        field: &Field,
        shape: &Struct,
    ) -> Result<(), String> {
        // `null` is Go's zero: as if the field were not there.
        if fields.get(field.json).is_none_or(Value::is_null) {
            fields.remove(field.json);
            return Ok(());
        }
        self.path.push(field.json.to_owned());
        if let Some(value) = fields.get_mut(field.json) {
            self.value(value, &field.ty, shape)?;
        }
        self.path.pop();
        Ok(())
    }

    fn value(&mut self, value: &mut Value, ty: &Type, shape: &Struct) -> Result<(), String> {
        match (ty, value) {
            (Type::Struct(id), value @ Value::Object(_)) => self.object(value, id.get(), false),
            (Type::List(item), Value::Array(items)) => self.list(items, item, shape),
            (Type::Map(item), Value::Object(entries)) => self.map(entries, item, shape),
            (Type::Quantity, Value::String(text)) => {
                Quantity::parse(text.trim()).map(|_| ()).map_err(str::to_owned)
            }
            (Type::Time | Type::MicroTime, Value::String(text)) => parse_rfc3339(text).map(|_| ()),
            (_, value) if is_of_type(value, ty) => Ok(()),
            (_, value) => Err(self.mismatch(value, ty, shape)),
        }
    }

    fn list(&mut self, items: &mut [Value], ty: &Type, shape: &Struct) -> Result<(), String> {
        for (i, item) in items.iter_mut().enumerate() {
            if item.is_null() {
                *item = zero(ty);
            }
            self.path.push(format!("[{i}]"));
            self.value(item, ty, shape)?;
            self.path.pop();
        }
        Ok(())
    }

    fn map(
        &mut self,
        entries: &mut Map<String, Value>,
        ty: &Type,
        shape: &Struct,
    ) -> Result<(), String> {
        for (key, item) in entries.iter_mut() {
            if item.is_null() {
                *item = zero(ty);
            }
            self.path.push(key.clone());
            self.value(item, ty, shape)?;
            self.path.pop();
        }
        Ok(())
    }

    /// `spec.containers[0].name`, as unknown fields are named.
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

    /// Go's text, which leaves indexes out of the path.
    fn mismatch(&self, value: &Value, ty: &Type, shape: &Struct) -> String {
        let names: Vec<_> = self.path.iter().filter(|step| !step.starts_with('[')).collect();
        let path = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(".");
        let found = match value {
            Value::Number(number) if is_integer(ty) => format!("number {number}"),
            _ => json_kind(value).to_owned(),
        };
        let (shape, ty) = (shape.name, go_type(ty));
        format!("json: cannot unmarshal {found} into Go struct field {shape}.{path} of type {ty}")
    }
}

fn is_integer(ty: &Type) -> bool {
    matches!(ty, Type::Int32 | Type::Int64)
}

fn is_of_type(value: &Value, ty: &Type) -> bool {
    match ty {
        Type::Any => true,
        Type::Bool => value.is_boolean(),
        Type::Int32 => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Type::Int64 => value.is_i64(),
        Type::Text(_) | Type::Bytes => value.is_string(),
        Type::Quantity => value.is_number(),
        Type::IntOrString => {
            value.is_string() || value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
        }
        Type::Time | Type::MicroTime | Type::Struct(_) | Type::List(_) | Type::Map(_) => false,
    }
}

/// Go's zero of a type, for a `null` in a list or map.
fn zero(ty: &Type) -> Value {
    match ty {
        Type::Bool => Value::Bool(false),
        Type::Int32 | Type::Int64 | Type::IntOrString => Value::from(0),
        Type::Text(_) | Type::Bytes => Value::from(""),
        Type::Quantity => Value::from("0"),
        Type::List(_) => Value::Array(Vec::new()),
        Type::Struct(_) | Type::Map(_) => Value::Object(Map::new()),
        Type::Any | Type::Time | Type::MicroTime => Value::Null,
    }
}

pub(super) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn go_type(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int32 => "int32".to_owned(),
        Type::Int64 => "int64".to_owned(),
        Type::Text(None) => "string".to_owned(),
        Type::Text(Some("UID")) => "types.UID".to_owned(),
        Type::Text(Some(alias)) => format!("v1.{alias}"),
        Type::Bytes => "[]uint8".to_owned(),
        Type::Quantity => "resource.Quantity".to_owned(),
        Type::IntOrString => "intstr.IntOrString".to_owned(),
        Type::Time => "string".to_owned(),
        Type::MicroTime => "string".to_owned(),
        Type::Any => "interface {}".to_owned(),
        Type::Struct(id) => format!("v1.{}", id.get().name),
        Type::List(item) => format!("[]{}", go_type(item)),
        Type::Map(item) => format!("map[string]{}", go_type(item)),
    }
}
