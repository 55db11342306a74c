//! Maps a request path to the resource, object or review it names.

use crate::resource::{
    GROUP_VERSIONS, GroupVersion, NAMESPACES, REVIEWS, Resource, SelfReview, ServedResource,
    Subresource,
};

/// The path of the Service `kubernetes` below `/api/v1`. Services are not stored; this one is
/// computed, so that clients can find the API.
pub(crate) const KUBERNETES_SERVICE_PATH: [&str; 4] =
    ["namespaces", "default", "services", "kubernetes"];

/// The target of a request path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RequestTarget {
    /// All objects of a resource, in one namespace or in all.
    Collection { served: ServedResource, namespace: Option<String> },
    /// One object or a subresource of it. The namespace is empty for cluster-scoped objects.
    Object {
        served: ServedResource,
        namespace: String,
        name: String,
        subresource: Option<Subresource>,
    },
    /// A self-subject review.
    Review(&'static SelfReview),
    /// A path below a served group and version that names no served resource: always "not found".
    UnknownResource,
    /// Any other path, such as `/healthz`, `/metrics`, discovery, or one that does not exist.
    NonResource,
}

impl RequestTarget {
    /// Returns the resource of the target, if it is one that is stored.
    pub(crate) fn served(&self) -> Option<&ServedResource> {
        match self {
            RequestTarget::Collection { served, .. } | RequestTarget::Object { served, .. } => {
                Some(served)
            }
            RequestTarget::Review(_)
            | RequestTarget::UnknownResource
            | RequestTarget::NonResource => None,
        }
    }

    /// Parses a percent-encoded path.
    pub(crate) fn parse(path: &str) -> RequestTarget {
        let Some(segments) = decode_segments(path) else {
            return RequestTarget::NonResource;
        };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["api", "v1", rest @ ..] if *rest == KUBERNETES_SERVICE_PATH => {
                RequestTarget::NonResource
            }
            ["api", version, rest @ ..] => parse_resource_path("", version, rest),
            ["apis", group, version, rest @ ..] => parse_resource_path(group, version, rest),
            _ => RequestTarget::NonResource,
        }
    }
}

/// Parses the segments below a group and version.
fn parse_resource_path(group: &str, version: &str, rest: &[&str]) -> RequestTarget {
    let is_served = |served: &GroupVersion| served.group == group && served.version == version;
    if rest.is_empty() || !GROUP_VERSIONS.iter().any(is_served) {
        return RequestTarget::NonResource;
    }
    let is_review =
        |review: &&SelfReview| is_served(&review.group_version) && [review.plural] == rest;
    if let Some(review) = REVIEWS.iter().find(is_review) {
        return RequestTarget::Review(review);
    }
    let served = |plural: &str| {
        let (resource, group_version) = Resource::find(group, version, plural)?;
        Some(ServedResource { resource, group_version })
    };
    parse_segments(rest, served).unwrap_or(RequestTarget::UnknownResource)
}

fn parse_segments(
    rest: &[&str],
    served: impl Fn(&str) -> Option<ServedResource>,
) -> Option<RequestTarget> {
    let object =
        |served: ServedResource, namespace: &str, name: &str, subresource: Option<&str>| {
            let subresource = match subresource {
                Some(subresource) => Some(served.resource.subresource(subresource)?),
                None => None,
            };
            Some(RequestTarget::Object {
                served,
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                subresource,
            })
        };
    let namespaced = |plural: &str| served(plural).filter(|served| served.resource.is_namespaced);
    let cluster_scoped =
        |plural: &str| served(plural).filter(|served| !served.resource.is_namespaced);
    match rest {
        [plural] => Some(RequestTarget::Collection { served: served(plural)?, namespace: None }),
        [plural, name] => object(cluster_scoped(plural)?, "", name, None),
        // The third segment is either a subresource of the namespace or a resource in it.
        ["namespaces", name, subresource] if NAMESPACES.subresource(subresource).is_some() => {
            object(served("namespaces")?, "", name, Some(subresource))
        }
        ["namespaces", namespace, plural] => Some(RequestTarget::Collection {
            served: namespaced(plural)?,
            namespace: Some((*namespace).to_owned()),
        }),
        ["namespaces", namespace, plural, name] => {
            object(namespaced(plural)?, namespace, name, None)
        }
        ["namespaces", namespace, plural, name, subresource] => {
            object(namespaced(plural)?, namespace, name, Some(subresource))
        }
        [plural, name, subresource] => object(cluster_scoped(plural)?, "", name, Some(subresource)),
        _ => None,
    }
}

/// Returns the decoded segments of a path. Returns `None` if one is empty or not valid UTF-8.
fn decode_segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/')
        .map(|segment| super::query::decode(segment, false).filter(|s| !s.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{CRON_JOBS, JOBS, NODES, PODS};

    fn object(path: &str) -> (ServedResource, String, String, Option<Subresource>) {
        match RequestTarget::parse(path) {
            RequestTarget::Object { served, namespace, name, subresource } => {
                (served, namespace, name, subresource)
            }
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_name_objects_in_a_served_version() {
        let (served, namespace, name, subresource) =
            object("/apis/batch/v1beta1/namespaces/n/cronjobs/a/status");
        assert_eq!((served.resource, served.group_version.version), (&CRON_JOBS, "v1beta1"));
        assert_eq!((namespace.as_str(), name.as_str()), ("n", "a"));
        assert_eq!(subresource, Some(Subresource::Status));
        assert_eq!(object("/api/v1/nodes/n1").0.resource, &NODES);
        assert_eq!(object("/api/v1/namespaces/n/pods/p/log").3, Some(Subresource::Log));
        assert_eq!(object("/api/v1/namespaces/n/pods/a%2Fb").2, "a/b");
    }

    #[test]
    fn subresources_of_namespaces_are_distinguished_from_namespaced_resources() {
        assert_eq!(object("/api/v1/namespaces/n").0.resource, &NAMESPACES);
        assert_eq!(object("/api/v1/namespaces/n/finalize").3, Some(Subresource::Finalize));
        let collection = |path: &str| match RequestTarget::parse(path) {
            RequestTarget::Collection { served, namespace } => (served.resource, namespace),
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(collection("/api/v1/namespaces/n/pods"), (&PODS, Some("n".to_owned())));
        assert_eq!(collection("/api/v1/namespaces"), (&NAMESPACES, None));
        assert_eq!(collection("/apis/batch/v1/jobs"), (&JOBS, None));
    }

    #[test]
    fn paths_that_are_not_served_have_no_target() {
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
            assert_eq!(RequestTarget::parse(path), RequestTarget::NonResource, "{path}");
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
            assert_eq!(RequestTarget::parse(path), RequestTarget::UnknownResource, "{path}");
        }
    }
}
