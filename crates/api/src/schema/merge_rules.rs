//! How fields are merged with a patch, and how finely they are owned.
//!
//! The facts are in `merge.txt`. A line names a struct that is `atomic`, or a field and what is true
//! of it: `atomic` for an object that is owned as a whole, `set` or `map=key+key` for a list whose
//! items are owned one by one, `merge` or `merge=key` for a list to which a strategic merge patch
//! adds, and `default=text` for a key that is taken to be that text where an item does not say.

use std::collections::HashMap;

use super::StructSchema;

/// How a field is merged with what is there already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeRules {
    /// Whether an object is owned and applied as a whole.
    pub is_atomic: bool,
    /// How finely a list is owned and applied.
    pub list_type: ListType,
    /// What a strategic merge patch does to a list.
    pub patch_strategy: PatchStrategy,
    /// What the field is taken to be where it is a key and not given.
    pub default: Option<&'static str>,
}

/// How finely a list is owned and applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// As a whole.
    #[default]
    Atomic,
    /// Item by item, where an item is its value.
    Set,
    /// Item by item, where an item is known by these fields, in alphabetical order.
    Map(Vec<&'static str>),
}

/// What a strategic merge patch does to a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// It replaces the list.
    #[default]
    Replace,
    /// It adds values that are not there yet.
    MergeValues,
    /// It changes the items with the same value of this field, and adds the others.
    MergeByKey(&'static str),
}

const SOURCE: &str = include_str!("merge.txt");

/// Notes the facts of `merge.txt` in the tables.
pub(super) fn apply(structs: &mut [StructSchema], by_name: &HashMap<&'static str, usize>) {
    for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, facts)) = line.split_once(' ') else { continue };
        if let Some(shape) = by_name.get(name).and_then(|place| structs.get_mut(*place)) {
            apply_line(shape, facts);
        }
    }
}

fn apply_line(shape: &mut StructSchema, facts: &'static str) {
    match facts.split_once(' ') {
        None => shape.is_atomic = facts == "atomic",
        Some((name, facts)) => {
            let field = shape.fields.iter_mut().find(|field| field.json == name);
            if let Some(field) = field {
                facts.split(' ').for_each(|fact| field.merge_rules.apply(fact));
            }
        }
    }
}

impl MergeRules {
    fn apply(&mut self, fact: &'static str) {
        match fact.split_once('=') {
            Some(("map", keys)) => self.list_type = ListType::Map(sorted(keys)),
            Some(("merge", key)) => self.patch_strategy = PatchStrategy::MergeByKey(key),
            Some(("default", text)) => self.default = Some(text),
            None if fact == "set" => self.list_type = ListType::Set,
            None if fact == "merge" => self.patch_strategy = PatchStrategy::MergeValues,
            None if fact == "atomic" => self.is_atomic = true,
            _ => {}
        }
    }
}

fn sorted(keys: &'static str) -> Vec<&'static str> {
    let mut keys: Vec<_> = keys.split('+').collect();
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests {
    use super::super::{FieldType, find_struct};
    use super::*;

    fn merge_rules(name: &str, field: &str) -> MergeRules {
        find_struct(name).unwrap().field(field).unwrap().merge_rules.clone()
    }

    #[test]
    fn every_line_speaks_of_something_in_the_tables_and_changes_it() {
        for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<_> = line.split(' ').collect();
            let shape = find_struct(words[0]).expect(line);
            match words[1..] {
                ["atomic"] => assert!(shape.is_atomic, "{line}"),
                [field, ..] => {
                    assert_ne!(merge_rules(words[0], field), MergeRules::default(), "{line}")
                }
                [] => panic!("{line}"),
            }
        }
    }

    #[test]
    fn keys_are_fields_of_the_items_and_alphabetical() {
        for shape in super::super::struct_names().filter_map(find_struct) {
            for field in &shape.fields {
                let ListType::Map(keys) = &field.merge_rules.list_type else { continue };
                let FieldType::List(item) = &field.ty else { panic!("{} is no list", field.json) };
                let FieldType::Struct(item) = **item else { panic!("{} has no keys", field.json) };
                assert!(keys.iter().all(|key| item.get().field(key).is_some()));
                assert!(keys.is_sorted());
            }
        }
    }

    #[test]
    fn ports_are_known_by_number_and_protocol_but_patched_by_number() {
        let ports = merge_rules("Container", "ports");
        assert_eq!(ports.list_type, ListType::Map(vec!["containerPort", "protocol"]));
        assert_eq!(ports.patch_strategy, PatchStrategy::MergeByKey("containerPort"));
        assert_eq!(merge_rules("ContainerPort", "protocol").default, Some("TCP"));
        assert_eq!(merge_rules("ObjectMeta", "finalizers").list_type, ListType::Set);
        assert_eq!(merge_rules("Container", "command"), MergeRules::default());
        assert!(find_struct("LabelSelector").unwrap().is_atomic);
    }
}
