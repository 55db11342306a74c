//! What each role may do.

use punctual_api::Status;
use punctual_api::status::GroupResource;

use super::{ADMIN_GROUP, AUTHENTICATED, User, VIEW_GROUP};

/// What somebody wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    /// Something with a resource.
    Resource {
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    /// Something with a path that is no resource.
    Path { verb: &'a str, path: &'a str },
}

/// Paths that everybody may read, so that others can see whether the server is well.
const OPEN_PATHS: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];
/// Paths that everybody who is known may read, so that clients find their way.
const KNOWN_PATHS: [&str; 4] = ["/", "/api", "/apis", "/openapi"];

/// Refuses what somebody may not do.
pub(crate) fn authorize(user: &User, asked: &Asked<'_>) -> Result<(), Status> {
    match may(user, asked) {
        true => Ok(()),
        false => Err(refusal(user, asked)),
    }
}

/// Whether somebody may do something.
pub(super) fn may(user: &User, asked: &Asked<'_>) -> bool {
    if user.is_in(ADMIN_GROUP) {
        return true;
    }
    match asked {
        Asked::Path { verb, path } => {
            let is_read = ["get", "head"].contains(verb);
            let below = |roots: &[&str]| roots.iter().any(|root| is_at_or_below(path, root));
            is_read
                && (below(&OPEN_PATHS)
                    || user.is_in(AUTHENTICATED) && below(&KNOWN_PATHS)
                    || user.is_in(VIEW_GROUP))
        }
        Asked::Resource { resource, verb: "create", .. } if resource.starts_with("selfsubject") => {
            user.is_in(AUTHENTICATED)
        }
        Asked::Resource { verb, resource, .. } => {
            user.is_in(VIEW_GROUP)
                && ["get", "list", "watch"].contains(verb)
                && *resource != "secrets"
        }
    }
}

fn is_at_or_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') && root != "/")
}

fn refusal(user: &User, asked: &Asked<'_>) -> Status {
    let who = &user.name;
    match asked {
        Asked::Path { verb, path } => {
            let why = format!("User \"{who}\" cannot {verb} path \"{path}\"");
            Status::forbidden(GroupResource { group: "", name: "" }, "", &why)
        }
        Asked::Resource { verb, group, resource, subresource, namespace, name } => {
            let full = match *subresource {
                "" => (*resource).to_owned(),
                below => format!("{resource}/{below}"),
            };
            let scope = match *namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace \"{namespace}\""),
            };
            let why = format!(
                "User \"{who}\" cannot {verb} resource \"{full}\" in API group \"{group}\" {scope}"
            );
            Status::forbidden(GroupResource { group, name: resource }, name, &why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on<'a>(verb: &'a str, resource: &'a str) -> Asked<'a> {
        Asked::Resource { verb, group: "", resource, subresource: "", namespace: "n", name: "" }
    }

    fn path<'a>(verb: &'a str, path: &'a str) -> Asked<'a> {
        Asked::Path { verb, path }
    }

    #[test]
    fn viewers_read_everything_but_secrets_and_write_nothing() {
        let viewer = User::new("v", VIEW_GROUP);
        assert!(may(&viewer, &on("list", "pods")) && may(&viewer, &path("get", "/metrics")));
        assert!(may(&viewer, &on("create", "selfsubjectaccessreviews")));
        for no in [
            on("get", "secrets"),
            on("create", "pods"),
            on("delete", "pods"),
            path("post", "/metrics"),
        ] {
            assert!(!may(&viewer, &no), "{no:?}");
        }
    }

    #[test]
    fn strangers_see_that_the_server_is_well_and_nothing_else() {
        let nobody = User::anonymous();
        for yes in ["/healthz", "/livez", "/readyz", "/readyz/store", "/version"] {
            assert!(may(&nobody, &path("get", yes)), "{yes}");
        }
        for no in ["/", "/api", "/apis/batch", "/metrics", "/versions", "/openapi/v3"] {
            assert!(!may(&nobody, &path("get", no)), "{no}");
        }
        assert!(!may(&nobody, &on("list", "pods")));
        assert!(!may(&nobody, &on("create", "selfsubjectreviews")));
        let known = User::new("u", "others");
        assert!(
            may(&known, &path("get", "/apis/batch/v1")) && !may(&known, &path("get", "/metrics"))
        );
    }

    #[test]
    fn a_refusal_says_who_may_not_do_what_where() {
        let status = authorize(&User::anonymous(), &on("list", "pods")).unwrap_err();
        let message = "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" \
                       in API group \"\" in the namespace \"n\"";
        assert_eq!(status.message, message);
        let status = authorize(&User::anonymous(), &path("get", "/metrics")).unwrap_err();
        assert_eq!(
            status.message,
            "forbidden: User \"system:anonymous\" cannot get path \"/metrics\""
        );
    }
}
