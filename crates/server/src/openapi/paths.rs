//! The `paths` of an OpenAPI document: every path of a group and version, with its operations.

use serde_json::{Map, Value, json};

use super::operation::{self, ApiOperation, OperationTarget, capitalize};
use super::{components, group_version_path, names, parameters};
use crate::discovery;
use crate::resource::{GroupVersion, RESOURCES, REVIEWS, Resource, Subresource};

/// Returns the paths of a group and version, with their operations.
pub(super) fn render(group_version: GroupVersion) -> Value {
    let base = format!("/{}", group_version_path(group_version));
    let mut builder = PathsBuilder { group_version, base, paths: Map::new() };
    builder.paths.insert(format!("{}/", builder.base), operation::discovery(group_version));
    for resource in
        RESOURCES.into_iter().filter(|resource| resource.group_versions.contains(&group_version))
    {
        builder.add_resource(resource);
    }
    for review in REVIEWS.iter().filter(|review| review.group_version == group_version) {
        let schema = names::review_schema(group_version, review.kind);
        let target = OperationTarget {
            group_version,
            kind: review.kind,
            schema: &schema,
            kind_prefix: "",
            kind_suffix: "",
        };
        builder.add(review.plural.to_owned(), &[operation::CREATE], &target);
    }
    Value::Object(builder.paths)
}

struct PathsBuilder {
    group_version: GroupVersion,
    /// The common prefix of the paths.
    base: String,
    paths: Map<String, Value>,
}

impl PathsBuilder {
    fn add_resource(&mut self, resource: &'static Resource) {
        let Some(schema) = components::kind_schema_name(self.group_version, resource.kind) else {
            return;
        };
        let (kind_prefix, collection) = if resource.is_namespaced {
            ("Namespaced", format!("namespaces/{{namespace}}/{}", resource.plural))
        } else {
            ("", resource.plural.to_owned())
        };
        let object = format!("{collection}/{{name}}");
        let object_target = OperationTarget {
            group_version: self.group_version,
            kind: resource.kind,
            schema: &schema,
            kind_prefix,
            kind_suffix: "",
        };
        if resource.is_namespaced {
            let all_namespaces = OperationTarget {
                kind_prefix: "",
                kind_suffix: "ForAllNamespaces",
                ..object_target
            };
            self.add(resource.plural.to_owned(), &[operation::LIST], &all_namespaces);
        }
        for subresource in resource.subresources {
            let kind_suffix = capitalize(subresource.name());
            let path = format!("{object}/{}", subresource.name());
            let target = OperationTarget { kind_suffix: &kind_suffix, ..object_target };
            self.add(path, subresource_operations(*subresource), &target);
        }
        self.add(collection, &collection_operations(resource), &object_target);
        self.add(object, object_operations(resource), &object_target);
    }

    /// Adds a path relative to the base.
    fn add(&mut self, path: String, operations: &[ApiOperation], target: &OperationTarget<'_>) {
        let mut item: Map<_, _> = operations
            .iter()
            .map(|operation| (operation.method.to_owned(), operation.render(target)))
            .collect();
        let mut common = parameters::render_query(&["pretty"]);
        if path.contains("{namespace}") {
            common.push(parameters::render_path("namespace", "The namespace of the object."));
        }
        if path.contains("{name}") {
            common.push(parameters::render_path("name", "The name of the object."));
        }
        item.insert("parameters".to_owned(), json!(common));
        self.paths.insert(format!("{}/{path}", self.base), Value::Object(item));
    }
}

const OBJECT_OPERATIONS: [ApiOperation; 4] =
    [operation::READ, operation::REPLACE, operation::DELETE, operation::PATCH];

fn object_operations(resource: &Resource) -> &'static [ApiOperation] {
    if resource.is_read_only { &[operation::READ] } else { &OBJECT_OPERATIONS }
}

fn collection_operations(resource: &Resource) -> Vec<ApiOperation> {
    if resource.is_read_only {
        return vec![operation::LIST];
    }
    let mut operations = vec![operation::LIST, operation::CREATE];
    if discovery::verbs(resource).contains(&"deletecollection") {
        operations.push(operation::DELETE_COLLECTION);
    }
    operations
}

fn subresource_operations(subresource: Subresource) -> &'static [ApiOperation] {
    match subresource {
        Subresource::Status => &[operation::READ, operation::REPLACE, operation::PATCH],
        Subresource::Log => &[operation::READ_LOG],
        Subresource::Finalize => &[operation::REPLACE],
    }
}
