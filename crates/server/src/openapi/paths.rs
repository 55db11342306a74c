//! The paths of a group and version, and what can be asked at each.

use serde_json::{Map, Value, json};

use super::operation::{self, Operation, Target, capitalized};
use super::{components, names, parameters, path_of};
use crate::discovery;
use crate::resource::{ALL, GroupVersion, REVIEWS, Resource, Subresource};

/// The paths, with their operations.
pub(super) fn of(group_version: GroupVersion) -> Value {
    let base = format!("/{}", path_of(group_version));
    let mut paths = Paths { group_version, base, paths: Map::new() };
    paths.paths.insert(format!("{}/", paths.base), operation::discovery(group_version));
    for resource in
        ALL.into_iter().filter(|resource| resource.group_versions.contains(&group_version))
    {
        paths.add_resource(resource);
    }
    for review in REVIEWS.iter().filter(|review| review.group_version == group_version) {
        let schema = names::of_review(group_version, review.kind);
        let target =
            Target { group_version, kind: review.kind, schema: &schema, scope: "", part: "" };
        paths.add(review.plural.to_owned(), &[operation::CREATE], &target);
    }
    Value::Object(paths.paths)
}

struct Paths {
    group_version: GroupVersion,
    /// What all paths begin with.
    base: String,
    paths: Map<String, Value>,
}

impl Paths {
    fn add_resource(&mut self, resource: &'static Resource) {
        let Some(schema) = components::of_kind(self.group_version, resource.kind) else { return };
        let (scope, collection) = match resource.is_namespaced {
            true => ("Namespaced", format!("namespaces/{{namespace}}/{}", resource.plural)),
            false => ("", resource.plural.to_owned()),
        };
        let object = format!("{collection}/{{name}}");
        let whole = Target {
            group_version: self.group_version,
            kind: resource.kind,
            schema: &schema,
            scope,
            part: "",
        };
        if resource.is_namespaced {
            let everywhere = Target { scope: "", part: "ForAllNamespaces", ..whole };
            self.add(resource.plural.to_owned(), &[operation::LIST], &everywhere);
        }
        for subresource in resource.subresources {
            let part = capitalized(subresource.name());
            let path = format!("{object}/{}", subresource.name());
            let target = Target { part: &part, ..whole };
            self.add(path, subresource_operations(*subresource), &target);
        }
        self.add(collection, &collection_operations(resource), &whole);
        self.add(object, &OBJECT_OPERATIONS, &whole);
    }

    /// Adds a path that is relative to the base.
    fn add(&mut self, path: String, operations: &[Operation], target: &Target<'_>) {
        let mut item: Map<_, _> =
            operations.iter().map(|it| (it.method.to_owned(), it.render(target))).collect();
        let mut shared = parameters::named(&["pretty"]);
        if path.contains("{namespace}") {
            shared.push(parameters::in_path("namespace", "The namespace of the object."));
        }
        if path.contains("{name}") {
            shared.push(parameters::in_path("name", "The name of the object."));
        }
        item.insert("parameters".to_owned(), json!(shared));
        self.paths.insert(format!("{}/{path}", self.base), Value::Object(item));
    }
}

const OBJECT_OPERATIONS: [Operation; 4] =
    [operation::READ, operation::REPLACE, operation::DELETE, operation::PATCH];

fn collection_operations(resource: &Resource) -> Vec<Operation> {
    let mut operations = vec![operation::LIST, operation::CREATE];
    if discovery::verbs(resource).contains(&"deletecollection") {
        operations.push(operation::DELETE_COLLECTION);
    }
    operations
}

fn subresource_operations(subresource: Subresource) -> &'static [Operation] {
    match subresource {
        Subresource::Status => &[operation::READ, operation::REPLACE, operation::PATCH],
        Subresource::Log => &[operation::READ_LOG],
        Subresource::Finalize => &[operation::REPLACE],
    }
}
