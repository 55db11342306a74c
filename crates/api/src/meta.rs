//! What every kind shares: object metadata, references, label selectors, conditions.
//!
//! Fields that these types do not name are kept in `extra` and written back, so an object of a
//! newer server passes through unharmed. Checks of the values live in `validate`, not here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::time::Time;

/// Fields that a type does not name, kept as they came.
pub type Extra = Map<String, Value>;

/// Labels, annotations and the like.
pub type StringMap = BTreeMap<String, String>;

/// Metadata of every object (`metav1.ObjectMeta`).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Name, unique in the namespace and kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Prefix from which a server makes a name when there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// Namespace; empty for kinds that have none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Identity over time: a re-created object has another.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Opaque version for compare-and-swap.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Count of changes of the desired state.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// When the object was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// When the object was asked to go; it lives on until its finalizers are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// Grace that was granted with the deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// Labels, by which objects are selected.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: StringMap,
    /// Annotations, which nothing selects by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: StringMap,
    /// Objects without which this one goes too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// Names that must be removed before the object may go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// Who set which field; raw, because only server-side apply looks inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_fields: Option<Box<RawValue>>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ObjectMeta {
    /// The owner that manages this object, if one does.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller == Some(true))
    }

    /// Whether this object's controller is the object with that UID.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller().is_some_and(|owner| owner.uid == uid)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }
}

/// Metadata of a template, where identity has no place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateMeta {
    /// Labels for the object to be.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: StringMap,
    /// Annotations for the object to be.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: StringMap,
    /// Everything else, such as a name that is ignored or a `creationTimestamp: null`.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An owner of an object (`metav1.OwnerReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// UID of the owner; a namesake with another UID is not the owner.
    pub uid: String,
    /// Whether the owner manages this object; at most one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether a foreground deletion of the owner waits for this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

/// A pointer to an object (`v1.ObjectReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Kind of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// UID of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Group and version of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Version of the object that was meant.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Part of the object that was meant.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
}

/// A query over labels (`metav1.LabelSelector`): all parts must hold.
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
    /// The label's key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values for `In` and `NotIn`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether labels satisfy the selector. An empty selector takes everything; a requirement with
    /// an unknown operator takes nothing (validation refuses it before it matters).
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
    /// What the condition is about.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Generation of the object that the condition speaks of.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When `status` last changed.
    pub last_transition_time: Option<Time>,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// For `skip_serializing_if`: Go leaves zeros out.
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
    fn a_selector_takes_exactly_the_labels_that_satisfy_all_its_parts() {
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
    fn metadata_keeps_fields_it_does_not_know() {
        let text = r#"{"name":"a","managedFields":[{"x":1.50}],"newField":{"b":[1,null]}}"#;
        let meta: ObjectMeta = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&meta).unwrap(), text);
    }
}
