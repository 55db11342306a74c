//! Self-subject reviews, as used by `kubectl auth can-i` and `kubectl auth whoami`.

use jiff::Timestamp;
use punctual_api::Time;
use serde_json::{Value, json};

use super::policy::{AccessAttributes, is_allowed};
use super::{ADMIN_GROUP, User, VIEW_GROUP};
use crate::resource::SelfReview;

/// Evaluates a review and returns it with its status.
pub(crate) fn evaluate_review(
    review: &SelfReview,
    object: &Value,
    user: &User,
    now: Timestamp,
) -> Value {
    let user_info = || json!({"userInfo": {"username": user.name, "groups": user.groups}});
    let (created, spec, status) = match review.kind {
        "SelfSubjectAccessReview" => {
            (Value::Null, object.get("spec").cloned(), evaluate_access(object, user))
        }
        "SelfSubjectRulesReview" => (Value::Null, Some(json!({})), list_rules(user)),
        // `SelfSubjectReview`, the only other kind in `REVIEWS`. It has no spec.
        _ => (Time::new(now).to_string().into(), None, user_info()),
    };
    let mut evaluated = json!({
        "kind": review.kind,
        "apiVersion": review.group_version.api_version,
        "metadata": {"creationTimestamp": created},
    });
    if let Value::Object(fields) = &mut evaluated {
        fields.extend(spec.map(|spec| ("spec".to_owned(), spec)));
        fields.insert("status".to_owned(), status);
    }
    evaluated
}

fn evaluate_access(object: &Value, user: &User) -> Value {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let attributes = if object.pointer("/spec/nonResourceAttributes").is_some() {
        AccessAttributes::Path {
            verb: text("/spec/nonResourceAttributes/verb"),
            path: text("/spec/nonResourceAttributes/path"),
        }
    } else {
        AccessAttributes::Resource {
            verb: text("/spec/resourceAttributes/verb"),
            group: text("/spec/resourceAttributes/group"),
            resource: text("/spec/resourceAttributes/resource"),
            subresource: text("/spec/resourceAttributes/subresource"),
            namespace: text("/spec/resourceAttributes/namespace"),
            name: text("/spec/resourceAttributes/name"),
        }
    };
    json!({"allowed": is_allowed(user, &attributes)})
}

fn list_rules(user: &User) -> Value {
    let reviews = json!({
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io", "authentication.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"],
    });
    let mut resources = vec![reviews];
    let mut paths = vec![json!({
        "verbs": ["get"],
        "nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez",
            "/openapi", "/openapi/*", "/readyz", "/version"],
    })];
    if user.is_member_of(ADMIN_GROUP) {
        resources.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        paths.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    } else if user.is_member_of(VIEW_GROUP) {
        let readable = crate::resource::RESOURCES.iter().map(|resource| resource.plural);
        let readable: Vec<&str> = readable.filter(|plural| *plural != "secrets").collect();
        let verbs = json!(["get", "list", "watch"]);
        resources.push(json!({"verbs": verbs, "apiGroups": ["*"], "resources": readable}));
        paths.push(json!({"verbs": ["get"], "nonResourceURLs": ["*"]}));
    }
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
}
