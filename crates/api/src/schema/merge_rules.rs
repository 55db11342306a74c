//! How strategic merge patches and server-side apply merge fields.
//!
//! The rules are in `merge.txt`. A line names a struct that is `atomic`, or a field and its rules:
//! `atomic` for an object that is applied as one value, `set` or `map=key+key` for a list whose
//! items are applied one by one, `merge` or `merge=key` for a list that a strategic merge patch
//! merges, and `default=text` for the default of a list key.

use std::collections::HashMap;

use super::StructSchema;

/// How a field is merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeRules {
    /// Whether server-side apply treats the object as one value.
    pub is_atomic: bool,
    /// How server-side apply merges a list (`x-kubernetes-list-type`).
    pub list_type: ListType,
    /// How a strategic merge patch merges a list (`x-kubernetes-patch-strategy`).
    pub patch_strategy: PatchStrategy,
    /// The default of the field if it is the key of a list item.
    pub default: Option<&'static str>,
}

/// How server-side apply merges a list (`x-kubernetes-list-type`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// The list is a set of values.
    Set,
    /// Items are identified by these fields, in alphabetical order.
    Map(Vec<&'static str>),
}

/// How a strategic merge patch merges a list (`x-kubernetes-patch-strategy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// The patch replaces the list.
    #[default]
    Replace,
    /// The patch adds missing values.
    MergeValues,
    /// The patch merges items with an equal value of this field and adds the others.
    MergeByKey(&'static str),
}

const SOURCE: &str = include_str!("merge.txt");

/// Applies the rules of `merge.txt` to the schema tables.
pub(super) fn apply(structs: &mut [StructSchema], by_name: &HashMap<&'static str, usize>) {
    for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rules)) = line.split_once(' ') else { continue };
        if let Some(struct_schema) = by_name.get(name).and_then(|place| structs.get_mut(*place)) {
            apply_line(struct_schema, rules);
        }
    }
}

fn apply_line(struct_schema: &mut StructSchema, rules: &'static str) {
    match rules.split_once(' ') {
        None => struct_schema.is_atomic = rules == "atomic",
        Some((name, rules)) => {
            let field = struct_schema.fields.iter_mut().find(|field| field.json == name);
            if let Some(field) = field {
                for rule in rules.split(' ') {
                    field.merge_rules.apply(rule);
                }
            }
        }
    }
}

impl MergeRules {
    fn apply(&mut self, rule: &'static str) {
        match rule.split_once('=') {
            Some(("map", keys)) => self.list_type = ListType::Map(sorted(keys)),
            Some(("merge", key)) => self.patch_strategy = PatchStrategy::MergeByKey(key),
            Some(("default", text)) => self.default = Some(text),
            None if rule == "set" => self.list_type = ListType::Set,
            None if rule == "merge" => self.patch_strategy = PatchStrategy::MergeValues,
            None if rule == "atomic" => self.is_atomic = true,
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
    fn every_line_applies_to_the_tables() {
        for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<_> = line.split(' ').collect();
            let struct_schema = find_struct(words[0]).expect(line);
            match words[1..] {
                ["atomic"] => assert!(struct_schema.is_atomic, "{line}"),
                [field, ..] => {
                    assert_ne!(merge_rules(words[0], field), MergeRules::default(), "{line}")
                }
                [] => panic!("{line}"),
            }
        }
    }

    #[test]
    fn list_keys_are_fields_of_the_items_in_alphabetical_order() {
        for struct_schema in super::super::struct_names().filter_map(find_struct) {
            for field in &struct_schema.fields {
                let ListType::Map(keys) = &field.merge_rules.list_type else { continue };
                let FieldType::List(item) = &field.ty else {
                    panic!("{} is not a list", field.json)
                };
                let FieldType::Struct(item) = **item else { panic!("{} has no keys", field.json) };
                assert!(keys.iter().all(|key| item.get().field(key).is_some()));
                assert!(keys.is_sorted());
            }
        }
    }

    #[test]
    fn ports_are_keyed_by_number_and_protocol_but_patched_by_number() {
        let ports = merge_rules("Container", "ports");
        assert_eq!(ports.list_type, ListType::Map(vec!["containerPort", "protocol"]));
        assert_eq!(ports.patch_strategy, PatchStrategy::MergeByKey("containerPort"));
        assert_eq!(merge_rules("ContainerPort", "protocol").default, Some("TCP"));
        assert_eq!(merge_rules("ObjectMeta", "finalizers").list_type, ListType::Set);
        assert_eq!(merge_rules("Container", "command"), MergeRules::default());
        assert!(find_struct("LabelSelector").unwrap().is_atomic);
    }
}
