//! The schema tables: every struct that a request may contain, with its fields and their types.
//!
//! The tables have three uses: `decode` checks the JSON of a request and reports unknown fields,
//! `defaults` brings an object into the form that kube-apiserver writes, and messages show internal
//! values as Go does. Rules about values are in `validate`. A test compares the tables with
//! Kubernetes v1.36 (see `schema/openapi_tests.rs`).
//!
//! The tables are text files. A line that starts in the first column names a struct, followed by
//! `json` if its Go form has JSON names. The fields follow, each as `name type`. `name/GoName`
//! gives a Go name that is not the capitalized name, `name!` marks a field that is always written,
//! `name?` a struct that is omitted if zero, `~name` an extension of ours. `*T` is optional, `[]T`
//! a list, `{}T` a map with string keys, `string(Alias)` a named string type, and `+Struct` embeds
//! the fields of another struct.

mod merge_rules;
#[cfg(test)]
mod openapi_tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

pub use self::merge_rules::{ListType, MergeRules, PatchStrategy};

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A boolean.
    Bool,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// A string, with the name of its Go type if that is not `string`.
    Text(Option<&'static str>),
    /// Bytes, in base64.
    Bytes,
    /// A resource quantity.
    Quantity,
    /// An integer or a string.
    IntOrString,
    /// An instant in seconds.
    Time,
    /// An instant in microseconds.
    MicroTime,
    /// Any JSON value.
    Any,
    /// An object with known fields.
    Struct(StructId),
    /// A list.
    List(Box<FieldType>),
    /// A map with string keys.
    Map(Box<FieldType>),
}

/// The index of a struct in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(usize);

impl StructId {
    /// Returns the struct.
    pub fn get(self) -> &'static StructSchema {
        // Indexes are only created for existing structs, so `EMPTY` is never returned.
        tables().structs.get(self.0).unwrap_or(&EMPTY)
    }
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct FieldSchema {
    /// The JSON name.
    pub json: &'static str,
    /// The Go name, if it is not the capitalized JSON name.
    go: Option<&'static str>,
    /// Whether absence differs from zero (a pointer in Go).
    pub is_pointer: bool,
    /// Whether the field is written even if it is zero (no `omitempty` in Go).
    pub is_always_written: bool,
    /// Whether the field is omitted if zero although it is a struct (`omitzero` in Go).
    pub is_omitted_if_zero: bool,
    /// Whether the field is an extension that Kubernetes does not have.
    pub is_extension: bool,
    /// The type.
    pub ty: FieldType,
    /// How patches and server-side apply merge the field.
    pub merge_rules: MergeRules,
}

impl FieldSchema {
    /// The Go name.
    pub fn go_name(&self) -> Cow<'static, str> {
        if let Some(name) = self.go {
            return Cow::Borrowed(name);
        }
        let mut letters = self.json.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        Cow::Owned(first.into_iter().chain(letters).collect())
    }
}

/// An object with known fields.
#[derive(Clone, Debug)]
pub struct StructSchema {
    /// The Go name.
    pub name: &'static str,
    /// Whether Go formats the struct with JSON names.
    pub has_json_names: bool,
    /// Whether server-side apply treats the struct as one value.
    pub is_atomic: bool,
    /// The fields, including those of embedded structs.
    pub fields: Vec<FieldSchema>,
}

impl StructSchema {
    /// Returns the field with a JSON name.
    pub fn field(&self, json: &str) -> Option<&FieldSchema> {
        self.fields.iter().find(|field| field.json == json)
    }
}

static EMPTY: StructSchema =
    StructSchema { name: "", has_json_names: false, is_atomic: false, fields: Vec::new() };

/// Finds a struct by name, such as `CronJob` or `PodTemplateSpec`.
pub fn find_struct(name: &str) -> Option<&'static StructSchema> {
    let tables = tables();
    tables.structs.get(*tables.by_name.get(name)?)
}

/// Finds the struct of a kind. ScheduledJob uses the struct of CronJob. SlotRecord has metadata, unlike the
/// records in a status. The Event of
/// `events.k8s.io/v1` has its own struct.
pub fn find_kind(api_version: &str, kind: &str) -> Option<&'static StructSchema> {
    find_struct(match (api_version, kind) {
        (_, "ScheduledJob") => "CronJob",
        (_, "SlotRecord") => "SlotRecordObject",
        ("events.k8s.io/v1", "Event") => "EventsEvent",
        _ => kind,
    })
}

/// Returns the names of all structs.
pub fn struct_names() -> impl Iterator<Item = &'static str> {
    tables().structs.iter().map(|struct_schema| struct_schema.name)
}

struct Tables {
    structs: Vec<StructSchema>,
    by_name: HashMap<&'static str, usize>,
}

const SOURCES: [&str; 6] = [
    include_str!("schema/meta.txt"),
    include_str!("schema/batch.txt"),
    include_str!("schema/core.txt"),
    include_str!("schema/coordination.txt"),
    include_str!("schema/events.txt"),
    include_str!("schema/punctual.txt"),
];

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let sources = SOURCES.into_iter().flat_map(read_sources).collect();
        let mut tables = resolve(sources);
        merge_rules::apply(&mut tables.structs, &tables.by_name);
        tables
    })
}

/// A struct as it is written in the table, with unparsed fields.
struct StructSource {
    name: &'static str,
    has_json_names: bool,
    entries: Vec<&'static str>,
}

fn read_sources(text: &'static str) -> Vec<StructSource> {
    let mut sources: Vec<StructSource> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(' ') {
            let entries = line.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            if let Some(source) = sources.last_mut() {
                source.entries.extend(entries);
            }
        } else {
            let (name, mark) = line.split_once(' ').unwrap_or((line, ""));
            sources.push(StructSource {
                name,
                has_json_names: mark == "json",
                entries: Vec::new(),
            });
        }
    }
    sources
}

fn resolve(sources: Vec<StructSource>) -> Tables {
    let by_name: HashMap<_, _> =
        sources.iter().enumerate().map(|(i, source)| (source.name, i)).collect();
    let structs = sources
        .iter()
        .map(|source| StructSchema {
            name: source.name,
            has_json_names: source.has_json_names,
            is_atomic: false,
            fields: fields_of(source, &sources, &by_name),
        })
        .collect();
    Tables { structs, by_name }
}

/// Parses the fields of a struct. Embedded structs do not embed others, so one level is enough.
fn fields_of(
    source: &StructSource,
    sources: &[StructSource],
    by_name: &HashMap<&'static str, usize>,
) -> Vec<FieldSchema> {
    let mut fields = Vec::new();
    for entry in &source.entries {
        match entry.strip_prefix('+') {
            Some(embedded) => {
                let embedded = sources.iter().find(|source| source.name == embedded);
                let entries = embedded.map_or(&[][..], |source| &source.entries);
                fields.extend(entries.iter().filter_map(|entry| read_field(entry, by_name)));
            }
            None => fields.extend(read_field(entry, by_name)),
        }
    }
    fields
}

fn read_field(entry: &'static str, by_name: &HashMap<&'static str, usize>) -> Option<FieldSchema> {
    let (name, ty) = entry.split_once(' ')?;
    let (name, is_extension) = strip(name, name.strip_prefix('~'));
    let (name, is_always_written) = strip(name, name.strip_suffix('!'));
    let (name, is_omitted_if_zero) = strip(name, name.strip_suffix('?'));
    let (json, go) = match name.split_once('/') {
        Some((json, go)) => (json, Some(go)),
        None => (name, None),
    };
    let (ty, is_pointer) = strip(ty, ty.strip_prefix('*'));
    let ty = read_type(ty, by_name);
    let merge_rules = MergeRules::default();
    Some(FieldSchema {
        json,
        go,
        is_pointer,
        is_always_written,
        is_omitted_if_zero,
        is_extension,
        ty,
        merge_rules,
    })
}

/// Returns the text without its mark and whether the mark was present.
fn strip<'a>(text: &'a str, stripped: Option<&'a str>) -> (&'a str, bool) {
    (stripped.unwrap_or(text), stripped.is_some())
}

fn read_type(text: &'static str, by_name: &HashMap<&'static str, usize>) -> FieldType {
    if let Some(item) = text.strip_prefix("[]") {
        return FieldType::List(Box::new(read_type(item, by_name)));
    }
    if let Some(item) = text.strip_prefix("{}") {
        return FieldType::Map(Box::new(read_type(item, by_name)));
    }
    if let Some(alias) = text.strip_prefix("string(") {
        return FieldType::Text(alias.strip_suffix(')'));
    }
    match text {
        "bool" => FieldType::Bool,
        "int32" => FieldType::Int32,
        "int64" => FieldType::Int64,
        "string" => FieldType::Text(None),
        "bytes" => FieldType::Bytes,
        "Quantity" => FieldType::Quantity,
        "IntOrString" => FieldType::IntOrString,
        "Time" => FieldType::Time,
        "MicroTime" => FieldType::MicroTime,
        _ => by_name.get(text).map_or(FieldType::Any, |i| FieldType::Struct(StructId(*i))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_used_in_the_tables_is_defined() {
        for entry in SOURCES.into_iter().flat_map(read_sources).flat_map(|source| source.entries) {
            let name = entry.split_once(' ').map_or(entry, |(_, ty)| ty);
            let name = name.trim_start_matches(['*', '[', ']', '{', '}', '+']);
            let is_basic = name.starts_with(|c: char| c.is_ascii_lowercase())
                || ["Quantity", "IntOrString", "Time", "MicroTime"].contains(&name);
            assert!(is_basic || find_struct(name).is_some(), "{entry}");
        }
    }

    #[test]
    fn embedded_structs_do_not_embed_others() {
        let sources: Vec<_> = SOURCES.into_iter().flat_map(read_sources).collect();
        for source in &sources {
            for embedded in source.entries.iter().filter_map(|entry| entry.strip_prefix('+')) {
                let embedded = sources.iter().find(|source| source.name == embedded).unwrap();
                // Embedded structs, such as the handler of a probe, have plain fields only.
                let nested = embedded.entries.iter().any(|entry| entry.starts_with('+'));
                assert!(!nested, "{} embeds {}", source.name, embedded.name);
            }
        }
    }

    #[test]
    fn the_pod_spec_table_has_names_types_and_flags() {
        let spec = find_struct("PodSpec").unwrap();
        let policy = spec.field("dnsPolicy").unwrap();
        assert_eq!(policy.go_name(), "DNSPolicy");
        assert_eq!(policy.ty, FieldType::Text(Some("DNSPolicy")));
        assert!(spec.field("securityContext").unwrap().is_pointer);
        assert!(spec.field("containers").unwrap().is_always_written);
        assert!(find_struct("Volume").unwrap().field("emptyDir").is_some());
        assert!(find_struct("CronJobSpec").unwrap().field("jitter").unwrap().is_extension);
    }
}
