//! Types that all kinds share: object metadata, references, label selectors, conditions.
//!
//! Undeclared fields are kept in `extra` and written back, so that objects of a newer server
//! are not changed by a round trip. The module `validate` checks the values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::time::Time;

/// The undeclared fields of an object, as received.
pub type Extra = Map<String, Value>;

/// A map of strings, such as labels or annotations.
pub type StringMap = BTreeMap<String, String>;

/// The metadata of an object (`metav1.ObjectMeta`).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// The name, unique within the namespace and kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The prefix from which the server generates a missing name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// The namespace; empty for cluster-scoped kinds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The unique ID. An object that is deleted and recreated gets another one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The opaque version, for optimistic concurrency.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// How often the desired state was changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// When the object was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// When deletion was requested. The object exists until its finalizers are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// The grace period of the deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// The labels, which selectors match.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: StringMap,
    /// The annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: StringMap,
    /// The owners. The garbage collector deletes the object after its owners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// The finalizers, which block deletion until they are removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// The field managers, raw because only server-side apply reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_fields: Option<Box<RawValue>>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ObjectMeta {
    /// Returns the owner reference that is marked as controller.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller == Some(true))
    }

    /// Returns whether the object with this UID controls this object.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller().is_some_and(|owner| owner.uid == uid)
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }
}

/// The metadata of a template, which has no identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateMeta {
    /// The labels of the created object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: StringMap,
    /// The annotations of the created object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: StringMap,
    /// All other fields, such as an ignored name or `creationTimestamp: null`.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An owner of an object (`metav1.OwnerReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The API group and version of the owner.
    pub api_version: String,
    /// The kind of the owner.
    pub kind: String,
    /// The name of the owner.
    pub name: String,
    /// The UID of the owner. An object with the same name and another UID is not the owner.
    pub uid: String,
    /// Whether the owner is the managing controller; at most one owner is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether a foreground deletion of the owner waits for this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

/// A reference to an object (`v1.ObjectReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The API group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The resource version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The path of the referenced field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
}

/// A label selector (`metav1.LabelSelector`): all requirements must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must have exactly these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: StringMap,
    /// Further requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelRequirement>,
}

/// One requirement of a [`LabelSelector`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelRequirement {
    /// The label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values for `In` and `NotIn`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Returns whether the labels match. An empty selector matches everything. A requirement with
    /// an unknown operator matches nothing; validation rejects it.
    pub fn matches(&self, labels: &StringMap) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.holds(labels))
    }
}

impl LabelRequirement {
    fn holds(&self, labels: &StringMap) -> bool {
        let value = labels.get(&self.key);
        match self.operator.as_str() {
            "In" => value.is_some_and(|value| self.values.contains(value)),
            "NotIn" => value.is_none_or(|value| !self.values.contains(value)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}

/// A condition of an object (`metav1.Condition`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// The condition type.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The generation of the object that the condition describes.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When `status` last changed.
    pub last_transition_time: Option<Time>,
    /// Machine-readable reason in CamelCase.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// For `skip_serializing_if`: Go omits zeros.
pub(crate) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(text: &str) -> LabelSelector {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_selector_matches_labels_that_satisfy_all_requirements() {
        let labels = StringMap::from([("app".into(), "web".into()), ("tier".into(), "1".into())]);
        for (text, taken) in [
            (r#"{}"#, true),
            (r#"{"matchLabels":{"app":"web"}}"#, true),
            (r#"{"matchLabels":{"app":"db"}}"#, false),
            (r#"{"matchExpressions":[{"key":"app","operator":"In","values":["db","web"]}]}"#, true),
            (r#"{"matchExpressions":[{"key":"app","operator":"NotIn","values":["web"]}]}"#, false),
            (r#"{"matchExpressions":[{"key":"none","operator":"NotIn","values":["x"]}]}"#, true),
            (r#"{"matchExpressions":[{"key":"tier","operator":"Exists"}]}"#, true),
            (r#"{"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]}"#, false),
            (r#"{"matchExpressions":[{"key":"tier","operator":"Like"}]}"#, false),
        ] {
            assert_eq!(selector(text).matches(&labels), taken, "{text}");
        }
    }

    #[test]
    fn metadata_preserves_undeclared_fields() {
        let text = r#"{"name":"a","managedFields":[{"x":1.50}],"newField":{"b":[1,null]}}"#;
        let meta: ObjectMeta = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&meta).unwrap(), text);
    }
}
