//! The CronJob or ScheduledJob of records. It is stored in the archive, because records outlive it.

use punctual_api::meta::StringMap;
use punctual_store::StoreEntry;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::identity::OwnerId;

/// The CronJob or ScheduledJob of records, as of its latest archived record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Owner {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// The revision that created it.
    pub(super) created: u64,
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub(super) labels: StringMap,
}

impl Owner {
    /// Reads the owner from a stored object.
    pub(super) fn new(object: &Value, entry: &StoreEntry) -> Owner {
        let text = |pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Owner {
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            uid: text("/metadata/uid"),
            created: entry.created,
            labels: read_labels(object),
        }
    }

    pub(super) fn id(&self) -> OwnerId {
        OwnerId::from_uid(&self.uid)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Owner> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Returns the labels of an object.
pub(super) fn read_labels(object: &Value) -> StringMap {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}
