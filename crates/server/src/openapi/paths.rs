//! The paths of a group and version, and what can be asked at each.

use serde_json::{Map, Value, json};

use super::operation::{self, Operation, Target, capitalized};
use super::{components, names, parameters, path_of};
use crate::discovery;
use crate::resource::{ALL, REVIEWS, Resource, Served, Subresource};

/// The paths, with their operations.
pub(super) fn of(served: Served) -> Value {
    let base = format!("/{}", path_of(served));
    let mut paths = Paths { served, base, paths: Map::new() };
    paths.paths.insert(format!("{}/", paths.base), operation::discovery(served));
    for resource in ALL.into_iter().filter(|resource| resource.served.contains(&served)) {
        paths.add_resource(resource);
    }
    for review in REVIEWS.iter().filter(|review| review.served == served) {
        let schema = names::of_review(served, review.kind);
        let target = Target { served, kind: review.kind, schema: &schema, scope: "", part: "" };
        paths.add(review.plural.to_owned(), &[operation::CREATE], &target);
    }
    Value::Object(paths.paths)
}

struct Paths {
    served: Served,
    /// What all paths begin with.
    base: String,
    paths: Map<String, Value>,
}

impl Paths {
    fn add_resource(&mut self, resource: &'static Resource) {
        let Some(schema) = components::of_kind(self.served, resource.kind) else { return };
        let (scope, collection) = match resource.is_namespaced {
            true => ("Namespaced", format!("namespaces/{{namespace}}/{}", resource.plural)),
            false => ("", resource.plural.to_owned()),
        };
        let object = format!("{collection}/{{name}}");
        let whole =
            Target { served: self.served, kind: resource.kind, schema: &schema, scope, part: "" };
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
