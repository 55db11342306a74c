//! Asks the server what an account may do, with SubjectAccessReviews.

use anyhow::Context;
use punctual_e2e::{Client, Cluster};
use serde_json::{Value, json};

use super::{InstalledChart, Permission};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Asks the server about the permissions of one account.
pub(super) struct AccessReviewer {
    client: Client,
    user: String,
    groups: Vec<String>,
}

impl AccessReviewer {
    /// Reviews the account of a release.
    pub(super) fn for_chart(
        cluster: &Cluster,
        installed: &InstalledChart,
    ) -> anyhow::Result<AccessReviewer> {
        AccessReviewer::new(cluster, &installed.namespace, &installed.account)
    }

    /// Reviews an account without any role.
    pub(super) fn unprivileged(cluster: &Cluster) -> anyhow::Result<AccessReviewer> {
        AccessReviewer::new(cluster, "none", "unprivileged")
    }

    fn new(cluster: &Cluster, namespace: &str, account: &str) -> anyhow::Result<AccessReviewer> {
        let groups = [
            "system:authenticated".to_owned(),
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ];
        let user = format!("system:serviceaccount:{namespace}:{account}");
        Ok(AccessReviewer { client: Client::new(cluster)?, user, groups: groups.to_vec() })
    }

    /// Whether the account has a permission on a resource.
    pub(super) fn is_allowed(&mut self, permission: &Permission) -> anyhow::Result<bool> {
        let Permission { namespace, group, resource, name, verb } = permission;
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        self.review(json!({
            "resourceAttributes": {
                "namespace": namespace,
                "group": group,
                "resource": resource,
                "subresource": subresource,
                "name": name,
                "verb": verb,
            },
        }))
    }

    /// Whether the account may access a path that is not a resource.
    pub(super) fn is_path_allowed(&mut self, path: &str, verb: &str) -> anyhow::Result<bool> {
        self.review(json!({ "nonResourceAttributes": { "path": path, "verb": verb } }))
    }

    fn review(&mut self, mut spec: Value) -> anyhow::Result<bool> {
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("user".to_owned(), json!(self.user));
            spec.insert("groups".to_owned(), json!(self.groups));
        }
        let review = self.client.create(REVIEWS, &json!({ "spec": spec }))?;
        review
            .pointer("/status/allowed")
            .and_then(Value::as_bool)
            .context("a review without a result")
    }
}
