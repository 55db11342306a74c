//! How finely a value is owned and applied: as a whole, or part by part.

use punctual_api::schema::{FieldSchema, FieldType, ListType, MergeRules, StructSchema};
use serde_json::{Map, Value};

use super::fields;

/// How finely a value is owned and applied.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grain {
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

impl Grain {
    /// The grain of a field.
    pub(super) fn of(field: &'static FieldSchema) -> Grain {
        match Grain::of_type(&field.ty, &field.merge_rules) {
            Grain::Fields(_) | Grain::Entries(_) if field.merge_rules.is_atomic => Grain::Whole,
            grain => grain,
        }
    }

    fn of_type(ty: &'static FieldType, merging: &'static MergeRules) -> Grain {
        match (ty, &merging.list_type) {
            (FieldType::Struct(id), _) => Grain::of_struct(id.get()),
            (FieldType::Map(entry), _) => Grain::Entries(entry),
            (FieldType::List(_), ListType::Set) => Grain::Values,
            (FieldType::List(item), ListType::Map(keys)) => match **item {
                FieldType::Struct(id) => Grain::Keyed(id.get(), keys),
                _ => Grain::Whole,
            },
            (FieldType::Any, _) => Grain::Entries(&ANY),
            _ => Grain::Whole,
        }
    }

    /// The grain of a struct, wherever it is.
    pub(super) fn of_struct(shape: &'static StructSchema) -> Grain {
        if shape.is_atomic { Grain::Whole } else { Grain::Fields(shape) }
    }

    /// The grain of a field or an entry. What the tables do not have is owned entry by entry.
    pub(super) fn below(self, name: &str) -> Grain {
        match self {
            Grain::Fields(shape) => shape.field(name).map_or(Grain::Entries(&ANY), Grain::of),
            Grain::Entries(FieldType::Struct(id)) => Grain::of_struct(id.get()),
            Grain::Entries(FieldType::Any) => Grain::Entries(&ANY),
            _ => Grain::Whole,
        }
    }

    /// The grain of an item.
    pub(super) fn item(self) -> Grain {
        match self {
            Grain::Keyed(shape, _) => Grain::of_struct(shape),
            _ => Grain::Whole,
        }
    }

    /// The element by which an item is known. None if it has no identity.
    pub(super) fn element(self, item: &Value) -> Option<String> {
        match self {
            Grain::Values => fields::valued(item),
            Grain::Keyed(shape, keys) => fields::keyed(item, shape, keys),
            _ => None,
        }
    }

    /// Whether the tables name such a field, so that having something in it implies having it.
    pub(super) fn names(self, name: &str) -> bool {
        matches!(self, Grain::Fields(shape) if shape.field(name).is_some())
    }

    /// The fields or entries of a value, if it is owned by these.
    pub(super) fn parts(self, value: Option<&Value>) -> Option<&Map<String, Value>> {
        match self {
            Grain::Fields(_) | Grain::Entries(_) => value?.as_object(),
            _ => None,
        }
    }

    /// The items of a value, if it is owned by these.
    pub(super) fn items(self, value: Option<&Value>) -> Option<&Vec<Value>> {
        match self {
            Grain::Values | Grain::Keyed(..) => value?.as_array(),
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
