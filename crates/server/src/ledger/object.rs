//! Renders a record as an object of the API.

use punctual_api::slot_record::SlotRecord;
use serde_json::{Map, Value, json};

use super::identity::RecordPosition;
use super::owner::Owner;
use super::served;
use crate::resource::SLOT_RECORDS;
use crate::stored::{StoredObject, encode};

/// A record with its CronJob and the version of its object.
#[derive(Clone, Copy)]
pub(super) struct RecordParts<'a> {
    pub(super) owner: &'a Owner,
    pub(super) position: &'a RecordPosition,
    pub(super) record: &'a SlotRecord,
    pub(super) revision: u64,
}

impl RecordParts<'_> {
    /// Returns the object as JSON.
    pub(super) fn to_json(self) -> Value {
        let RecordParts { owner, position, record, revision } = self;
        let mut metadata = json!({
            "name": position.name(owner),
            "namespace": owner.namespace,
            "uid": position.uid(owner),
            "resourceVersion": revision.to_string(),
        });
        if !owner.labels.is_empty()
            && let Value::Object(fields) = &mut metadata
        {
            fields.insert("labels".to_owned(), json!(owner.labels));
        }
        let mut object = Map::new();
        let served = served();
        object.insert("apiVersion".to_owned(), served.group_version.api_version.into());
        object.insert("kind".to_owned(), served.resource.kind.into());
        object.insert("metadata".to_owned(), metadata);
        object.insert("cronJob".to_owned(), owner.name.as_str().into());
        object.insert("cronJobKind".to_owned(), owner.kind.as_str().into());
        object.insert("cronJobUID".to_owned(), owner.uid.as_str().into());
        if let Ok(Value::Object(fields)) = serde_json::to_value(record) {
            object.extend(fields);
        }
        Value::Object(object)
    }
}

/// Returns an object in the form in which objects are stored, which responses are made of.
pub(super) fn to_stored(object: &Value, revision: u64) -> StoredObject {
    StoredObject { served: served(), value: encode(object, &SLOT_RECORDS), revision }
}
