//! The shape of every type a request may contain, as tables.
//!
//! One description serves three uses: it checks the JSON of a request and names unknown fields
//! (`decode`), brings an object into the form in which kube-apiserver would write it
//! (`defaults`), and shows internal values in messages as Go would. Rules about values are not
//! here but in `validate`.
//!
//! The tables are text files. A line that starts in the first column names a struct (with `json`
//! behind it if its Go form has JSON names); the fields follow, each `name type`:
//! `name/GoName` where Go's name is not simply capitalised, `name!` if it is always written,
//! `name?` if it is left out when zero even though it is a struct, `~name` if it is ours;
//! `*T` may be absent, `[]T` is a list, `{}T` a map from text, `string(Alias)` a named text,
//! and `+Struct` stands for the fields of another struct.

mod merge_rules;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

pub use self::merge_rules::{ListType, MergeRules, PatchStrategy};

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `true` or `false`.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A text, with the name of its Go type where that is not `string`.
    Text(Option<&'static str>),
    /// Bytes, in base64.
    Bytes,
    /// An amount of a resource.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// An instant of whole seconds.
    Time,
    /// An instant of microseconds.
    MicroTime,
    /// Anything.
    Any,
    /// An object of known fields.
    Struct(StructId),
    /// A list.
    List(Box<FieldType>),
    /// A map from text.
    Map(Box<FieldType>),
}

/// A struct, by its place in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(usize);

impl StructId {
    /// The struct.
    pub fn get(self) -> &'static StructSchema {
        // Ids are only made for structs of the tables, so the empty one is never seen.
        tables().structs.get(self.0).unwrap_or(&EMPTY)
    }
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct FieldSchema {
    /// Name in JSON.
    pub json: &'static str,
    /// Name in Go where it is not the JSON name with a capital letter.
    go: Option<&'static str>,
    /// Whether absence is told from zero.
    pub is_pointer: bool,
    /// Whether it is written even if zero.
    pub is_always_written: bool,
    /// Whether it is left out if zero although it is a struct.
    pub is_omitted_if_zero: bool,
    /// Whether Kubernetes has no such field.
    pub is_ours: bool,
    /// Its type.
    pub ty: FieldType,
    /// How it is merged with what is there already.
    pub merge_rules: MergeRules,
}

impl FieldSchema {
    /// Name in Go.
    pub fn go_name(&self) -> Cow<'static, str> {
        if let Some(name) = self.go {
            return Cow::Borrowed(name);
        }
        let mut letters = self.json.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        Cow::Owned(first.into_iter().chain(letters).collect())
    }
}

/// An object of known fields.
#[derive(Clone, Debug)]
pub struct StructSchema {
    /// Name in Go.
    pub name: &'static str,
    /// Whether Go shows it with JSON names.
    pub has_json_names: bool,
    /// Whether it is owned and applied as a whole, never field by field.
    pub is_atomic: bool,
    /// The fields, those of embedded structs included.
    pub fields: Vec<FieldSchema>,
}

impl StructSchema {
    /// The field of that name in JSON.
    pub fn field(&self, json: &str) -> Option<&FieldSchema> {
        self.fields.iter().find(|field| field.json == json)
    }
}

static EMPTY: StructSchema =
    StructSchema { name: "", has_json_names: false, is_atomic: false, fields: Vec::new() };

/// The struct of that name, such as `CronJob` or `PodTemplateSpec`.
pub fn find_struct(name: &str) -> Option<&'static StructSchema> {
    let tables = tables();
    tables.structs.get(*tables.by_name.get(name)?)
}

/// The struct of a kind. Our own kind has the CronJob's; an event is not the same in every group.
pub fn find_kind(api_version: &str, kind: &str) -> Option<&'static StructSchema> {
    find_struct(match (api_version, kind) {
        (_, "ScheduledJob") => "CronJob",
        ("events.k8s.io/v1", "Event") => "EventsEvent",
        _ => kind,
    })
}

/// The names of all structs.
pub fn struct_names() -> impl Iterator<Item = &'static str> {
    tables().structs.iter().map(|shape| shape.name)
}

struct Tables {
    structs: Vec<StructSchema>,
    by_name: HashMap<&'static str, usize>,
}

const SOURCES: [&str; 5] = [
    include_str!("schema/meta.txt"),
    include_str!("schema/batch.txt"),
    include_str!("schema/core.txt"),
    include_str!("schema/coordination.txt"),
    include_str!("schema/events.txt"),
];

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let drafts = SOURCES.into_iter().flat_map(read_drafts).collect();
        let mut tables = resolve(drafts);
        merge_rules::apply(&mut tables.structs, &tables.by_name);
        tables
    })
}

/// A struct whose types are still text.
struct Draft {
    name: &'static str,
    has_json_names: bool,
    entries: Vec<&'static str>,
}

fn read_drafts(source: &'static str) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for line in source.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(' ') {
            let entries = line.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            if let Some(draft) = drafts.last_mut() {
                draft.entries.extend(entries);
            }
        } else {
            let (name, mark) = line.split_once(' ').unwrap_or((line, ""));
            drafts.push(Draft { name, has_json_names: mark == "json", entries: Vec::new() });
        }
    }
    drafts
}

fn resolve(drafts: Vec<Draft>) -> Tables {
    let by_name: HashMap<_, _> = drafts.iter().enumerate().map(|(i, d)| (d.name, i)).collect();
    let structs = drafts
        .iter()
        .map(|draft| StructSchema {
            name: draft.name,
            has_json_names: draft.has_json_names,
            is_atomic: false,
            fields: fields_of(draft, &drafts, &by_name),
        })
        .collect();
    Tables { structs, by_name }
}

/// The fields of a draft. Embedded structs embed no further ones, so one level is enough.
fn fields_of(
    draft: &Draft,
    drafts: &[Draft],
    by_name: &HashMap<&'static str, usize>,
) -> Vec<FieldSchema> {
    let mut fields = Vec::new();
    for entry in &draft.entries {
        match entry.strip_prefix('+') {
            Some(embedded) => {
                let embedded = drafts.iter().find(|draft| draft.name == embedded);
                let entries = embedded.map_or(&[][..], |draft| &draft.entries);
                fields.extend(entries.iter().filter_map(|entry| read_field(entry, by_name)));
            }
            None => fields.extend(read_field(entry, by_name)),
        }
    }
    fields
}

fn read_field(entry: &'static str, by_name: &HashMap<&'static str, usize>) -> Option<FieldSchema> {
    let (name, ty) = entry.split_once(' ')?;
    let (name, is_ours) = strip(name, name.strip_prefix('~'));
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
        is_ours,
        ty,
        merge_rules,
    })
}

/// The text without its mark, and whether it had one.
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
    fn every_type_that_the_tables_mention_is_in_the_tables() {
        for entry in SOURCES.into_iter().flat_map(read_drafts).flat_map(|draft| draft.entries) {
            let name = entry.split_once(' ').map_or(entry, |(_, ty)| ty);
            let name = name.trim_start_matches(['*', '[', ']', '{', '}', '+']);
            let is_basic = name.starts_with(|c: char| c.is_ascii_lowercase())
                || ["Quantity", "IntOrString", "Time", "MicroTime"].contains(&name);
            assert!(is_basic || find_struct(name).is_some(), "{entry}");
        }
    }

    #[test]
    fn embedded_structs_embed_no_further_ones() {
        let drafts: Vec<_> = SOURCES.into_iter().flat_map(read_drafts).collect();
        for draft in &drafts {
            for embedded in draft.entries.iter().filter_map(|entry| entry.strip_prefix('+')) {
                let embedded = drafts.iter().find(|draft| draft.name == embedded).unwrap();
                // A probe's handler and the like: plain fields only.
                let nested = embedded.entries.iter().any(|entry| entry.starts_with('+'));
                assert!(!nested, "{} embeds {}", draft.name, embedded.name);
            }
        }
    }

    #[test]
    fn a_pod_spec_has_its_fields_with_their_types() {
        let spec = find_struct("PodSpec").unwrap();
        let policy = spec.field("dnsPolicy").unwrap();
        assert_eq!(policy.go_name(), "DNSPolicy");
        assert_eq!(policy.ty, FieldType::Text(Some("DNSPolicy")));
        assert!(spec.field("securityContext").unwrap().is_pointer);
        assert!(spec.field("containers").unwrap().is_always_written);
        assert!(find_struct("Volume").unwrap().field("emptyDir").is_some());
        assert!(find_struct("CronJobSpec").unwrap().field("jitter").unwrap().is_ours);
    }
}
