//! What a user may do, as the cluster says (SelfSubjectAccessReview).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::Request;
use punctual_client::Clock;
use punctual_reader::Reader;
use serde_json::{Value, json};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// How long an answer is believed. The cluster checks each write itself.
const VALID_FOR: Duration = Duration::from_secs(30);
/// How many answers are kept.
const KEPT_MAX: usize = 1_000;

/// What a user may do in a namespace. What is not allowed is not offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Suspend, resume and edit.
    pub(crate) edit: bool,
    /// Start runs.
    pub(crate) start: bool,
    /// Delete Jobs.
    pub(crate) stop: bool,
}

impl Rights {
    /// Whether any action is allowed.
    pub(crate) fn any(self) -> bool {
        self.edit || self.start || self.stop
    }
}

/// Asks the cluster for the rights of one user.
#[derive(Default)]
pub(crate) struct RightsReader {
    kept: Mutex<HashMap<String, (Duration, Rights)>>,
}

/// One question to the cluster.
struct Attributes<'a> {
    namespace: &'a str,
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
}

impl RightsReader {
    /// Returns the rights in a namespace; an empty one means all namespaces.
    pub(crate) async fn read(&self, reader: &Reader, namespace: &str, clock: &dyn Clock) -> Rights {
        let now = clock.monotonic();
        if let Some(rights) = self.kept(namespace, now) {
            return rights;
        }
        let starts = if reader.serves("runrequests") {
            Attributes { namespace, verb: "create", group: "punctual.dev", resource: "runrequests" }
        } else {
            Attributes { namespace, verb: "create", group: "batch", resource: "jobs" }
        };
        let edit = Attributes { namespace, verb: "patch", group: "batch", resource: "cronjobs" };
        let stop = Attributes { namespace, verb: "delete", group: "batch", resource: "jobs" };
        let (edit, start, stop) = tokio::join!(
            is_allowed(reader, &edit),
            is_allowed(reader, &starts),
            is_allowed(reader, &stop)
        );
        let rights = Rights { edit, start, stop };
        self.keep(namespace, now, rights);
        rights
    }

    fn kept(&self, namespace: &str, now: Duration) -> Option<Rights> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, rights) = kept.get(namespace)?;
        (now.saturating_sub(*at) < VALID_FOR).then_some(*rights)
    }

    fn keep(&self, namespace: &str, now: Duration, rights: Rights) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(namespace.to_owned(), (now, rights));
    }
}

async fn is_allowed(reader: &Reader, attributes: &Attributes<'_>) -> bool {
    let Attributes { namespace, verb, group, resource } = attributes;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes":
            {"namespace": namespace, "verb": verb, "group": group, "resource": resource}},
    });
    let request = Request::post(REVIEWS)
        .header("Content-Type", "application/json")
        .body(review.to_string().into_bytes());
    let Ok(request) = request else { return false };
    match reader.send::<Value>(request).await {
        Ok(Ok(answer)) => answer.pointer("/status/allowed").and_then(Value::as_bool) == Some(true),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the cluster did not answer an access review");
            false
        }
        Err(error) => {
            tracing::debug!(%error, "the cluster did not answer an access review");
            false
        }
    }
}
