//! How finely a value is owned and applied: as a whole, or part by part.

use punctual_api::schema::{FieldSchema, FieldType, ListType, MergeRules, StructSchema};
use serde_json::{Map, Value};

use super::fields;

/// How finely a value is owned and applied.
#[derive(Clone, Copy, Debug)]
pub(super) enum Granularity {
    /// As a whole.
    Whole,
    /// Field by field.
    Fields(&'static StructSchema),
    /// Entry by entry.
    Entries(&'static FieldType),
    /// Item by item, where an item is its value.
    Values,
    /// Item by item, where an item is a struct known by these fields.
    Keyed(&'static StructSchema, &'static [&'static str]),
}

static ANY: FieldType = FieldType::Any;

impl Granularity {
    /// The granularity of a field.
    pub(super) fn of(field: &'static FieldSchema) -> Granularity {
        match Granularity::of_type(&field.ty, &field.merge_rules) {
            Granularity::Fields(_) | Granularity::Entries(_) if field.merge_rules.is_atomic => {
                Granularity::Whole
            }
            granularity => granularity,
        }
    }

    fn of_type(ty: &'static FieldType, merging: &'static MergeRules) -> Granularity {
        match (ty, &merging.list_type) {
            (FieldType::Struct(id), _) => Granularity::of_struct(id.get()),
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

    /// The granularity of a struct, wherever it is.
    pub(super) fn of_struct(shape: &'static StructSchema) -> Granularity {
        if shape.is_atomic { Granularity::Whole } else { Granularity::Fields(shape) }
    }

    /// The granularity of a field or an entry. What the tables do not have is owned entry by entry.
    pub(super) fn below(self, name: &str) -> Granularity {
        match self {
            Granularity::Fields(shape) => {
                shape.field(name).map_or(Granularity::Entries(&ANY), Granularity::of)
            }
            Granularity::Entries(FieldType::Struct(id)) => Granularity::of_struct(id.get()),
            Granularity::Entries(FieldType::Any) => Granularity::Entries(&ANY),
            _ => Granularity::Whole,
        }
    }

    /// The granularity of an item.
    pub(super) fn item(self) -> Granularity {
        match self {
            Granularity::Keyed(shape, _) => Granularity::of_struct(shape),
            _ => Granularity::Whole,
        }
    }

    /// The element by which an item is known. None if it has no identity.
    pub(super) fn element(self, item: &Value) -> Option<String> {
        match self {
            Granularity::Values => fields::valued(item),
            Granularity::Keyed(shape, keys) => fields::keyed(item, shape, keys),
            _ => None,
        }
    }

    /// Whether the tables name such a field, so that having something in it implies having it.
    pub(super) fn names(self, name: &str) -> bool {
        matches!(self, Granularity::Fields(shape) if shape.field(name).is_some())
    }

    /// The fields or entries of a value, if it is owned by these.
    pub(super) fn parts(self, value: Option<&Value>) -> Option<&Map<String, Value>> {
        match self {
            Granularity::Fields(_) | Granularity::Entries(_) => value?.as_object(),
            _ => None,
        }
    }

    /// The items of a value, if it is owned by these.
    pub(super) fn items(self, value: Option<&Value>) -> Option<&Vec<Value>> {
        match self {
            Granularity::Values | Granularity::Keyed(..) => value?.as_array(),
            _ => None,
        }
    }
}

/// Whether there is nothing in a value: null, or an object or list that is empty.
pub(super) fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
