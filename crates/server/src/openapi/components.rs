//! The schemas of types (`components/schemas` of an OpenAPI document), generated from the tables in
//! `punctual_api::schema`. `fixed_schemas.json` has the schemas of the types that those tables lack.

use std::collections::HashMap;

use punctual_api::Dialect;
use punctual_api::schema::{self, FieldSchema, FieldType, StructSchema};
use serde_json::{Map, Value, json};

use super::names::{self, REF_PREFIX};
use super::{descriptions, enums, merge};
use crate::resource::{GroupVersion, RESOURCES};

/// Schemas by name: scalar types such as `Quantity`, and types that occur only in requests or responses.
const FIXED_SCHEMAS: &str = include_str!("fixed_schemas.json");

/// Fields that are required although our encoding may omit them. All others are required if it always
/// writes them.
const REQUIRED: [(&str, &str); 6] = [
    ("CronJob", "spec"),
    ("ContainerRestartRule", "action"),
    ("ContainerRestartRuleOnExitCodes", "operator"),
    ("ImageVolumeStatus", "imageRef"),
    ("PodCertificateProjection", "keyType"),
    ("PodCertificateProjection", "signerName"),
];
/// Fields that are optional although our encoding always writes them.
const OPTIONAL: [(&str, &str); 9] = [
    ("ContainerImage", "names"),
    ("Event", "reportingComponent"),
    ("Event", "reportingInstance"),
    ("GRPCAction", "service"),
    ("NodeRuntimeHandler", "name"),
    ("PodFailurePolicyOnPodConditionsPattern", "status"),
    ("ProjectedVolumeSource", "sources"),
    ("TypedLocalObjectReference", "apiGroup"),
    ("TypedObjectReference", "apiGroup"),
];

/// The schemas available to the document of a group and version.
pub(super) struct Components {
    group_version: GroupVersion,
    /// Whether fields that only Punctual has (such as `jitter`) are included.
    includes_punctual_fields: bool,
    structs: HashMap<String, &'static StructSchema>,
    /// The kinds of this group and version, by the name of their schema.
    kinds: HashMap<String, &'static str>,
    fixed: Map<String, Value>,
}

impl Components {
    /// Collects the schemas. [`Dialect::Kubernetes`] is plain Kubernetes, without our fields.
    pub(super) fn new(group_version: GroupVersion, dialect: Dialect) -> Self {
        let structs = schema::struct_names().filter_map(schema::find_struct);
        let kinds = RESOURCES
            .into_iter()
            .filter(|resource| resource.group_versions.contains(&group_version));
        Components {
            group_version,
            includes_punctual_fields: dialect == Dialect::Punctual
                || group_version.group == "punctual.dev",
            structs: structs
                .map(|schema| (names::struct_schema_name(group_version, schema.name), schema))
                .collect(),
            kinds: kinds
                .filter_map(|resource| {
                    Some((kind_schema_name(group_version, resource.kind)?, resource.kind))
                })
                .collect(),
            // A test checks that the embedded file is valid.
            fixed: serde_json::from_str(FIXED_SCHEMAS).unwrap_or_default(),
        }
    }

    /// Returns the schemas that a part of a document refers to, directly or indirectly.
    pub(super) fn reachable_from(&self, part: &Value) -> Map<String, Value> {
        let mut found = Map::new();
        let mut pending = Vec::new();
        collect_references(part, &mut pending);
        while let Some(name) = pending.pop() {
            if found.contains_key(&name) {
                continue;
            }
            if let Some(schema) = self.schema(&name) {
                collect_references(&schema, &mut pending);
                found.insert(name, schema);
            }
        }
        found
    }

    fn schema(&self, name: &str) -> Option<Value> {
        if let Some(item) = name.strip_suffix("List").filter(|item| self.kinds.contains_key(*item))
        {
            return Some(self.list(item));
        }
        if let Some(schema) = self.fixed.get(name) {
            return Some(schema.clone());
        }
        let mut schema = self.object(self.structs.get(name)?);
        if let Some(kind) = self.kinds.get(name) {
            add_type(&mut schema, self.group_version_kind(kind));
        }
        Some(Value::Object(schema))
    }

    fn object(&self, struct_schema: &'static StructSchema) -> Map<String, Value> {
        let fields = || {
            struct_schema
                .fields
                .iter()
                .filter(|field| self.includes_punctual_fields || !field.is_extension)
        };
        let properties: Map<_, _> = fields()
            .map(|field| {
                (field.json.to_owned(), Value::Object(self.property(struct_schema, field)))
            })
            .collect();
        let required: Vec<_> = fields()
            .filter(|field| is_required(struct_schema, field))
            .map(|field| field.json)
            .collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        insert_text(
            &mut schema,
            "description",
            descriptions::struct_description(struct_schema.name),
        );
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        schema.extend(merge::struct_extensions(struct_schema));
        schema
    }

    fn property(&self, struct_schema: &StructSchema, field: &FieldSchema) -> Map<String, Value> {
        let mut schema = match field.json {
            "fieldsV1" => reference(&names::meta_schema("FieldsV1")),
            _ => self.field_type_schema(&field.ty),
        };
        insert_text(
            &mut schema,
            "description",
            descriptions::field_description(struct_schema.name, field.json),
        );
        schema.extend(merge::field_extensions(struct_schema, field));
        schema
    }

    fn field_type_schema(&self, ty: &FieldType) -> Map<String, Value> {
        match ty {
            FieldType::Bool => type_schema("boolean", ""),
            FieldType::Int32 => type_schema("integer", "int32"),
            FieldType::Int64 => type_schema("integer", "int64"),
            FieldType::Text(alias) => self.text(*alias),
            FieldType::Bytes => type_schema("string", "byte"),
            FieldType::Quantity => reference("io.k8s.apimachinery.pkg.api.resource.Quantity"),
            FieldType::IntOrString => reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
            FieldType::Time => reference(&names::meta_schema("Time")),
            FieldType::MicroTime => reference(&names::meta_schema("MicroTime")),
            FieldType::Any => type_schema("object", ""),
            FieldType::Struct(id) => {
                reference(&names::struct_schema_name(self.group_version, id.get().name))
            }
            FieldType::List(item) => {
                container_schema("array", "items", self.field_type_schema(item))
            }
            FieldType::Map(item) => container_schema(
                "object",
                "additionalProperties",
                unwrap_reference(self.field_type_schema(item)),
            ),
        }
    }

    fn text(&self, alias: Option<&str>) -> Map<String, Value> {
        let mut schema = type_schema("string", "");
        let values = alias
            .map(|alias| enums::allowed_values(alias, self.includes_punctual_fields))
            .unwrap_or_default();
        if !values.is_empty() {
            schema.insert("enum".to_owned(), json!(values));
        }
        schema
    }

    fn list(&self, item: &str) -> Value {
        let kind = self.kinds.get(item).copied().unwrap_or_default();
        let items = Value::Object(reference(item));
        let metadata = Value::Object(reference(&names::meta_schema("ListMeta")));
        let properties = json!({
            "items": { "type": "array", "description": "The objects.", "items": items },
            "metadata": metadata,
        });
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("description".to_owned(), json!(format!("A list of {kind} objects.")));
        schema.insert("required".to_owned(), json!(["items"]));
        schema.insert("properties".to_owned(), properties);
        add_type(&mut schema, self.group_version_kind(&format!("{kind}List")));
        Value::Object(schema)
    }

    fn group_version_kind(&self, kind: &str) -> Value {
        json!([{ "group": self.group_version.group, "version": self.group_version.version, "kind": kind }])
    }
}

/// Returns the name of the schema of a kind.
pub(super) fn kind_schema_name(group_version: GroupVersion, kind: &str) -> Option<String> {
    let struct_schema = schema::find_kind(group_version.api_version, kind)?;
    Some(names::struct_schema_name(group_version, struct_schema.name))
}

fn is_required(struct_schema: &StructSchema, field: &FieldSchema) -> bool {
    let path = (struct_schema.name, field.json);
    REQUIRED.contains(&path) || (field.is_always_written && !OPTIONAL.contains(&path))
}

/// Adds the version and kind, which only whole objects have.
fn add_type(schema: &mut Map<String, Value>, group_version_kind: Value) {
    schema.insert("x-kubernetes-group-version-kind".to_owned(), group_version_kind);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, description) in [
            ("apiVersion", "The group and version of the object's schema."),
            ("kind", "The kind of the object."),
        ] {
            let property = json!({ "type": "string", "description": description });
            properties.insert(name.to_owned(), property);
        }
    }
}

fn type_schema(ty: &str, format: &str) -> Map<String, Value> {
    let mut schema = Map::new();
    insert_text(&mut schema, "type", Some(ty));
    let format = if format.is_empty() { None } else { Some(format) };
    insert_text(&mut schema, "format", format);
    schema
}

/// Returns a reference, wrapped so that it can have a description.
fn reference(name: &str) -> Map<String, Value> {
    let wrapped = json!([{ "$ref": format!("{REF_PREFIX}{name}") }]);
    Map::from_iter([("allOf".to_owned(), wrapped)])
}

/// Returns the bare reference of a wrapped one.
fn unwrap_reference(mut schema: Map<String, Value>) -> Map<String, Value> {
    match schema.get_mut("allOf").and_then(|wrapped| wrapped.get_mut(0)).map(Value::take) {
        Some(Value::Object(reference)) => reference,
        _ => schema,
    }
}

fn container_schema(ty: &str, key: &str, item: Map<String, Value>) -> Map<String, Value> {
    let mut schema = type_schema(ty, "");
    schema.insert(key.to_owned(), Value::Object(item));
    schema
}

fn insert_text(schema: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        schema.insert(key.to_owned(), json!(text));
    }
}

/// Collects all references in a document. The recursion is only as deep as the tables.
fn collect_references(part: &Value, names: &mut Vec<String>) {
    match part {
        Value::Object(entries) => {
            let reference = entries.get("$ref").and_then(Value::as_str);
            let name = reference.and_then(|reference| reference.strip_prefix(REF_PREFIX));
            names.extend(name.map(str::to_owned));
            for entry in entries.values() {
                collect_references(entry, names);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_references(item, names);
            }
        }
        _ => {}
    }
}
