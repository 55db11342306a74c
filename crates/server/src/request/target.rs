//! From a path to what is meant by it.

use crate::resource::{GROUP_VERSIONS, NAMESPACES, REVIEWS, Resource, Review, Subresource, View};

/// Where every cluster says how its API is reached. Services are not kept here; this one is told as
/// the version is.
pub(crate) const OURSELVES: [&str; 4] = ["namespaces", "default", "services", "kubernetes"];

/// What a path is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// All objects of a resource, in one namespace or everywhere.
    Collection { view: View, namespace: Option<String> },
    /// One object. Its namespace is empty where there is none.
    Object { view: View, namespace: String, name: String, below: Option<Subresource> },
    /// A question about the asker.
    Review(&'static Review),
    /// A path below a group and version that is served, but nothing is there.
    NoResource,
    /// A path that means nothing.
    Unknown,
}

impl Target {
    /// Reads a path, still encoded as in the request.
    pub(crate) fn parse(path: &str) -> Target {
        let Some(parts) = decoded_parts(path) else {
            return Target::Unknown;
        };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["api", "v1", rest @ ..] if *rest == OURSELVES => Target::Unknown,
            ["api", version, rest @ ..] => below("", version, rest),
            ["apis", group, version, rest @ ..] => below(group, version, rest),
            _ => Target::Unknown,
        }
    }
}

fn below(group: &str, version: &str, rest: &[&str]) -> Target {
    let is_served =
        |served: &&crate::resource::Served| served.group == group && served.version == version;
    if rest.is_empty() || !GROUP_VERSIONS.iter().any(|served| is_served(&served)) {
        return Target::Unknown;
    }
    let is_review = |review: &&Review| is_served(&&review.served) && [review.plural] == rest;
    if let Some(review) = REVIEWS.iter().find(is_review) {
        return Target::Review(review);
    }
    let view = |plural: &str| {
        let (resource, served) = Resource::find(group, version, plural)?;
        Some(View { resource, served })
    };
    found(rest, view).unwrap_or(Target::NoResource)
}

fn found(rest: &[&str], view: impl Fn(&str) -> Option<View>) -> Option<Target> {
    let object = |view: View, namespace: &str, name: &str, below: Option<&str>| {
        let below = match below {
            Some(below) => Some(view.resource.subresource(below)?),
            None => None,
        };
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Some(Target::Object { view, namespace, name, below })
    };
    let namespaced = |plural: &str| view(plural).filter(|view| view.resource.is_namespaced);
    let unscoped = |plural: &str| view(plural).filter(|view| !view.resource.is_namespaced);
    match rest {
        [plural] => Some(Target::Collection { view: view(plural)?, namespace: None }),
        [plural, name] => object(unscoped(plural)?, "", name, None),
        // What lies below a namespace is either part of the namespace or in it.
        ["namespaces", name, below] if NAMESPACES.subresource(below).is_some() => {
            object(view("namespaces")?, "", name, Some(below))
        }
        ["namespaces", namespace, plural] => Some(Target::Collection {
            view: namespaced(plural)?,
            namespace: Some((*namespace).to_owned()),
        }),
        ["namespaces", namespace, plural, name] => {
            object(namespaced(plural)?, namespace, name, None)
        }
        ["namespaces", namespace, plural, name, below] => {
            object(namespaced(plural)?, namespace, name, Some(below))
        }
        [plural, name, below] => object(unscoped(plural)?, "", name, Some(below)),
        _ => None,
    }
}

/// The parts between slashes; none where one is empty or no text.
fn decoded_parts(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/')
        .map(|part| super::query::decode(part, false).filter(|p| !p.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{CRON_JOBS, JOBS, NODES, PODS};

    fn object(path: &str) -> (View, String, String, Option<Subresource>) {
        match Target::parse(path) {
            Target::Object { view, namespace, name, below } => (view, namespace, name, below),
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn a_path_names_a_resource_under_one_of_its_versions() {
        let (view, namespace, name, below) =
            object("/apis/batch/v1beta1/namespaces/n/cronjobs/a/status");
        assert_eq!((view.resource, view.served.version), (&CRON_JOBS, "v1beta1"));
        assert_eq!((namespace.as_str(), name.as_str()), ("n", "a"));
        assert_eq!(below, Some(Subresource::Status));
        assert_eq!(object("/api/v1/nodes/n1").0.resource, &NODES);
        assert_eq!(object("/api/v1/namespaces/n/pods/p/log").3, Some(Subresource::Log));
        assert_eq!(object("/api/v1/namespaces/n/pods/a%2Fb").2, "a/b");
    }

    #[test]
    fn a_namespace_and_what_lies_in_it_are_told_apart() {
        assert_eq!(object("/api/v1/namespaces/n").0.resource, &NAMESPACES);
        assert_eq!(object("/api/v1/namespaces/n/finalize").3, Some(Subresource::Finalize));
        let collection = |path: &str| match Target::parse(path) {
            Target::Collection { view, namespace } => (view.resource, namespace),
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(collection("/api/v1/namespaces/n/pods"), (&PODS, Some("n".to_owned())));
        assert_eq!(collection("/api/v1/namespaces"), (&NAMESPACES, None));
        assert_eq!(collection("/apis/batch/v1/jobs"), (&JOBS, None));
    }

    #[test]
    fn what_is_not_served_is_not_found() {
        for path in [
            "/nope",
            "/apis/nope.io/v1",
            "/api",
            "/api/v1",
            "/",
            "",
            "/apis/batch/v1//x",
            "/api/%ff/x",
        ] {
            assert_eq!(Target::parse(path), Target::Unknown, "{path}");
        }
        for path in [
            "/apis/batch/v1/nope",
            "/api/v1/cronjobs",
            "/api/v1/pods/p",
            "/api/v1/namespaces/n/nodes/x",
            "/apis/batch/v1beta1/jobs",
            "/apis/batch/v1/namespaces/n/jobs/j/log",
            "/api/v1/a/b/c/d/e/f",
        ] {
            assert_eq!(Target::parse(path), Target::NoResource, "{path}");
        }
    }
}
