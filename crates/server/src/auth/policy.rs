//! Authorization: which requests the members of each role, other users and anonymous clients may
//! make.

use punctual_api::Status;
use punctual_api::status::GroupResource;

use super::{ADMIN_GROUP, AUTHENTICATED, User, VIEW_GROUP};

/// The attributes of a request that authorization decides on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessAttributes<'a> {
    /// A request for a resource.
    Resource {
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    /// A request for a path that is not a resource.
    Path { verb: &'a str, path: &'a str },
}

/// Paths that anonymous clients may read, for health checks.
const OPEN_PATHS: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];
/// Paths that every authenticated user may read, for discovery.
const DISCOVERY_PATHS: [&str; 4] = ["/", "/api", "/apis", "/openapi"];

/// Paths that only administrators may read, because they contain Secrets.
const ADMIN_PATHS: [&str; 1] = ["/backup"];

/// Returns an error if a user is not authorized.
pub(crate) fn authorize(user: &User, attributes: &AccessAttributes<'_>) -> Result<(), Status> {
    if is_allowed(user, attributes) { Ok(()) } else { Err(forbidden(user, attributes)) }
}

/// Whether a user is authorized.
pub(super) fn is_allowed(user: &User, attributes: &AccessAttributes<'_>) -> bool {
    if user.is_member_of(ADMIN_GROUP) {
        return true;
    }
    match attributes {
        AccessAttributes::Path { verb, path } => {
            let is_read = ["get", "head"].contains(verb);
            let is_below = |roots: &[&str]| roots.iter().any(|root| is_at_or_below(path, root));
            is_read
                && (is_below(&OPEN_PATHS)
                    || user.is_member_of(AUTHENTICATED) && is_below(&DISCOVERY_PATHS)
                    || user.is_member_of(VIEW_GROUP) && !is_below(&ADMIN_PATHS))
        }
        AccessAttributes::Resource { resource, verb: "create", .. }
            if resource.starts_with("selfsubject") =>
        {
            user.is_member_of(AUTHENTICATED)
        }
        AccessAttributes::Resource { verb, resource, .. } => {
            user.is_member_of(VIEW_GROUP)
                && ["get", "list", "watch"].contains(verb)
                && *resource != "secrets"
        }
    }
}

fn is_at_or_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') && root != "/")
}

/// Returns kube-apiserver's error for a request that is not authorized.
fn forbidden(user: &User, attributes: &AccessAttributes<'_>) -> Status {
    let user = &user.name;
    match attributes {
        AccessAttributes::Path { verb, path } => {
            let why = format!("User \"{user}\" cannot {verb} path \"{path}\"");
            Status::forbidden(GroupResource { group: "", name: "" }, "", &why)
        }
        AccessAttributes::Resource { verb, group, resource, subresource, namespace, name } => {
            let target = match *subresource {
                "" => (*resource).to_owned(),
                subresource => format!("{resource}/{subresource}"),
            };
            let scope = match *namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace \"{namespace}\""),
            };
            let why = format!(
                "User \"{user}\" cannot {verb} resource \"{target}\" in API group \"{group}\" {scope}"
            );
            Status::forbidden(GroupResource { group, name: resource }, name, &why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on<'a>(verb: &'a str, resource: &'a str) -> AccessAttributes<'a> {
        AccessAttributes::Resource {
            verb,
            group: "",
            resource,
            subresource: "",
            namespace: "n",
            name: "",
        }
    }

    fn path<'a>(verb: &'a str, path: &'a str) -> AccessAttributes<'a> {
        AccessAttributes::Path { verb, path }
    }

    #[test]
    fn viewers_may_read_everything_but_secrets() {
        let viewer = User::new("v", VIEW_GROUP);
        assert!(
            is_allowed(&viewer, &on("list", "pods"))
                && is_allowed(&viewer, &path("get", "/metrics"))
        );
        assert!(is_allowed(&viewer, &on("create", "selfsubjectaccessreviews")));
        for no in [
            on("get", "secrets"),
            on("create", "pods"),
            on("delete", "pods"),
            path("post", "/metrics"),
            path("get", "/backup"),
            path("get", "/backup/"),
        ] {
            assert!(!is_allowed(&viewer, &no), "{no:?}");
        }
    }

    #[test]
    fn anonymous_users_may_only_read_health_and_version() {
        let anonymous = User::anonymous();
        for yes in ["/healthz", "/livez", "/readyz", "/readyz/store", "/version"] {
            assert!(is_allowed(&anonymous, &path("get", yes)), "{yes}");
        }
        for no in ["/", "/api", "/apis/batch", "/metrics", "/versions", "/openapi/v3"] {
            assert!(!is_allowed(&anonymous, &path("get", no)), "{no}");
        }
        assert!(!is_allowed(&anonymous, &on("list", "pods")));
        assert!(!is_allowed(&anonymous, &on("create", "selfsubjectreviews")));
        let other = User::new("u", "others");
        assert!(is_allowed(&other, &path("get", "/apis/batch/v1")));
        assert!(!is_allowed(&other, &path("get", "/metrics")));
    }

    #[test]
    fn errors_name_the_user_the_verb_and_the_target() {
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
