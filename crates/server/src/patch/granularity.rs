//! For server-side apply: whether a field manager owns a value as a whole or part by part.

use punctual_api::schema::{FieldSchema, FieldType, ListType, MergeRules, StructSchema};
use serde_json::{Map, Value};

use super::fields;

/// The unit in which field managers own and apply a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Granularity {
    /// As a whole.
    Whole,
    /// Field by field.
    Fields(&'static StructSchema),
    /// Entry by entry.
    Entries(&'static FieldType),
    /// Item by item, where items are identified by their value.
    Values,
    /// Item by item, where items are structs identified by these fields.
    Keyed(&'static StructSchema, &'static [&'static str]),
}

static ANY: FieldType = FieldType::Any;

impl Granularity {
    /// Returns the granularity of a field.
    pub(super) fn for_field(field: &'static FieldSchema) -> Granularity {
        match Granularity::for_type(&field.ty, &field.merge_rules) {
            Granularity::Fields(_) | Granularity::Entries(_) if field.merge_rules.is_atomic => {
                Granularity::Whole
            }
            granularity => granularity,
        }
    }

    fn for_type(ty: &'static FieldType, merge_rules: &'static MergeRules) -> Granularity {
        match (ty, &merge_rules.list_type) {
            (FieldType::Struct(id), _) => Granularity::for_struct(id.get()),
            (FieldType::Map(entry), _) => Granularity::Entries(entry),
            (FieldType::List(_), ListType::Set) => Granularity::Values,
            (FieldType::List(item), ListType::Map(keys)) => match **item {
                FieldType::Struct(id) => Granularity::Keyed(id.get(), keys),
                _ => Granularity::Whole,
            },
            (FieldType::Any, _) => Granularity::Entries(&ANY),
            _ => Granularity::Whole,
        }
    }

    /// Returns the granularity of a struct.
    pub(super) fn for_struct(schema: &'static StructSchema) -> Granularity {
        if schema.is_atomic { Granularity::Whole } else { Granularity::Fields(schema) }
    }

    /// Returns the granularity of a field or an entry. Unknown fields are owned entry by entry.
    pub(super) fn child(self, name: &str) -> Granularity {
        match self {
            Granularity::Fields(schema) => {
                schema.field(name).map_or(Granularity::Entries(&ANY), Granularity::for_field)
            }
            Granularity::Entries(FieldType::Struct(id)) => Granularity::for_struct(id.get()),
            Granularity::Entries(FieldType::Any) => Granularity::Entries(&ANY),
            _ => Granularity::Whole,
        }
    }

    /// Returns the granularity of an item.
    pub(super) fn item(self) -> Granularity {
        match self {
            Granularity::Keyed(schema, _) => Granularity::for_struct(schema),
            _ => Granularity::Whole,
        }
    }

    /// Returns the set element of a list item, or `None` if the item cannot be identified.
    pub(super) fn element(self, item: &Value) -> Option<String> {
        match self {
            Granularity::Values => fields::value_element(item),
            Granularity::Keyed(schema, keys) => fields::key_element(item, schema, keys),
            _ => None,
        }
    }

    /// Whether the schema declares a field. Owning a part of such a field implies owning the field.
    pub(super) fn is_declared(self, name: &str) -> bool {
        matches!(self, Granularity::Fields(schema) if schema.field(name).is_some())
    }

    /// Returns the fields or entries of a value if they are owned separately.
    pub(super) fn parts(self, value: Option<&Value>) -> Option<&Map<String, Value>> {
        match self {
            Granularity::Fields(_) | Granularity::Entries(_) => value?.as_object(),
            _ => None,
        }
    }

    /// Returns the items of a value if they are owned separately.
    pub(super) fn items(self, value: Option<&Value>) -> Option<&Vec<Value>> {
        match self {
            Granularity::Values | Granularity::Keyed(..) => value?.as_array(),
            _ => None,
        }
    }
}

/// Whether a value is null, an empty object or an empty list.
pub(super) fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
