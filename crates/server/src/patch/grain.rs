//! How finely a value is owned and applied: as a whole, or part by part.

use punctual_api::schema::{Field, Items, Merging, Struct, Type};
use serde_json::{Map, Value};

use super::fields;

/// How finely a value is owned and applied.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grain {
    /// As a whole.
    Whole,
    /// Field by field.
    Fields(&'static Struct),
    /// Entry by entry.
    Entries(&'static Type),
    /// Item by item, where an item is its value.
    Values,
    /// Item by item, where an item is a struct known by these fields.
    Keyed(&'static Struct, &'static [&'static str]),
}

static ANY: Type = Type::Any;

impl Grain {
    /// The grain of a field.
    pub(super) fn of(field: &'static Field) -> Grain {
        match Grain::of_type(&field.ty, &field.merging) {
            Grain::Fields(_) | Grain::Entries(_) if field.merging.is_atomic => Grain::Whole,
            grain => grain,
        }
    }

    fn of_type(ty: &'static Type, merging: &'static Merging) -> Grain {
        match (ty, &merging.items) {
            (Type::Struct(id), _) => Grain::of_struct(id.get()),
            (Type::Map(entry), _) => Grain::Entries(entry),
            (Type::List(_), Items::Set) => Grain::Values,
            (Type::List(item), Items::Keyed(keys)) => match **item {
                Type::Struct(id) => Grain::Keyed(id.get(), keys),
                _ => Grain::Whole,
            },
            (Type::Any, _) => Grain::Entries(&ANY),
            _ => Grain::Whole,
        }
    }

    /// The grain of a struct, wherever it is.
    pub(super) fn of_struct(shape: &'static Struct) -> Grain {
        if shape.is_atomic { Grain::Whole } else { Grain::Fields(shape) }
    }

    /// The grain of a field or an entry. What the tables do not have is owned entry by entry.
    pub(super) fn below(self, name: &str) -> Grain {
        match self {
            Grain::Fields(shape) => shape.field(name).map_or(Grain::Entries(&ANY), Grain::of),
            Grain::Entries(Type::Struct(id)) => Grain::of_struct(id.get()),
            Grain::Entries(Type::Any) => Grain::Entries(&ANY),
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
