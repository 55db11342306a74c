//! Who asks the server what somebody may do.

use anyhow::Context;
use serde_json::{Value, json};

use super::{Installed, Right};
use crate::{Client, Cluster};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// A client that asks about one account.
pub(super) struct Reviewer {
    client: Client,
    user: String,
    groups: Vec<String>,
}

impl Reviewer {
    /// Asks about the account of a release.
    pub(super) fn of(cluster: &Cluster, installed: &Installed) -> anyhow::Result<Reviewer> {
        Reviewer::new(cluster, &installed.namespace, &installed.account)
    }

    /// Asks about an account that nobody gave any rights.
    pub(super) fn of_nobody(cluster: &Cluster) -> anyhow::Result<Reviewer> {
        Reviewer::new(cluster, "nowhere", "nobody")
    }

    fn new(cluster: &Cluster, namespace: &str, account: &str) -> anyhow::Result<Reviewer> {
        let groups = [
            "system:authenticated".to_owned(),
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ];
        let user = format!("system:serviceaccount:{namespace}:{account}");
        Ok(Reviewer { client: Client::new(cluster)?, user, groups: groups.to_vec() })
    }

    /// Whether it may do something to a resource.
    pub(super) fn may(&mut self, right: &Right) -> anyhow::Result<bool> {
        let Right { namespace, group, resource, name, verb } = right;
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        self.is_allowed(json!({
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

    /// Whether it may do something at a path that is no resource.
    pub(super) fn may_at(&mut self, path: &str, verb: &str) -> anyhow::Result<bool> {
        self.is_allowed(json!({ "nonResourceAttributes": { "path": path, "verb": verb } }))
    }

    fn is_allowed(&mut self, mut spec: Value) -> anyhow::Result<bool> {
        if let Some(spec) = spec.as_object_mut() {
            spec.insert("user".to_owned(), json!(self.user));
            spec.insert("groups".to_owned(), json!(self.groups));
        }
        let review = self.client.create(REVIEWS, &json!({ "spec": spec }))?;
        review
            .pointer("/status/allowed")
            .and_then(Value::as_bool)
            .context("a review without answer")
    }
}
