//! The stored form of objects, and how responses are made of it without decoding.
//!
//! A stored object is JSON that starts with `apiVersion`, `kind` and an empty `resourceVersion`. A
//! response is the stored text with another head, which contains the requested API version and the
//! revision. Lists and watches therefore copy bytes and decode nothing.

use bytes::Bytes;
use punctual_api::convert::{EventVersion, convert_event};
use punctual_api::{Status, defaults};
use punctual_store::StoreEntry;
use serde_json::{Map, Value};

use crate::resource::{EVENT_RESOURCE, Resource, ServedResource};
use crate::table::partial_metadata;

/// Encodes an object in its stored form. `resourceVersion` is left empty, since the store knows it.
pub(crate) fn encode(object: &Value, resource: &Resource) -> Bytes {
    let mut text = Vec::new();
    for part in head(resource) {
        text.extend_from_slice(part.as_bytes());
    }
    text.push(b'"');
    if let Some(metadata) = object.get("metadata").and_then(Value::as_object) {
        write_fields_except(&mut text, metadata, &["resourceVersion"]);
    }
    text.push(b'}');
    if let Some(fields) = object.as_object() {
        write_fields_except(&mut text, fields, &["apiVersion", "kind", "metadata"]);
    }
    text.push(b'}');
    // The store keeps these bytes in memory, so they must not have spare capacity.
    Bytes::from(text.into_boxed_slice())
}

/// Returns the head of a stored object, up to the value of its `resourceVersion`.
fn head(resource: &Resource) -> [&'static str; 5] {
    let api_version = resource.storage_version().api_version;
    ["{\"apiVersion\":\"", api_version, "\",\"kind\":\"", resource.kind, HEAD_END]
}

const HEAD_END: &str = "\",\"metadata\":{\"resourceVersion\":\"";

fn write_fields_except(text: &mut Vec<u8>, fields: &Map<String, Value>, except: &[&str]) {
    for (name, value) in fields.iter().filter(|(name, _)| !except.contains(&name.as_str())) {
        text.push(b',');
        // Encoding JSON values to memory cannot fail.
        let _ = serde_json::to_writer(&mut *text, name);
        text.push(b':');
        let _ = serde_json::to_writer(&mut *text, value);
    }
}

/// The head of a `PartialObjectMetadata`, up to the value of its `resourceVersion`.
const PARTIAL_HEAD: &str = "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\
                            \"metadata\":{\"resourceVersion\":\"";

/// Whether an encoded object has the fields `apiVersion` and `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeMeta {
    /// It has, as single objects do.
    Include,
    /// It has not: items of a list leave them out, since the list has them.
    Omit,
}

/// An object as the store holds it, in the API version of a request.
#[derive(Clone, Debug)]
pub(crate) struct StoredObject {
    pub(crate) served: ServedResource,
    pub(crate) value: Bytes,
    /// The revision; 0 in a dry run, where the object is not stored.
    pub(crate) revision: u64,
}

impl StoredObject {
    /// Creates one from an entry of the store.
    pub(crate) fn from_entry(served: ServedResource, entry: &StoreEntry) -> StoredObject {
        StoredObject { served, value: entry.value.clone(), revision: entry.modified }
    }

    /// Decodes the object in its stored version, with its revision.
    pub(crate) fn to_json(&self) -> Result<Value, Status> {
        let mut object: Value = serde_json::from_slice(&self.value)
            .map_err(|why| Status::internal(&format!("cannot decode a stored object: {why}")))?;
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            if self.revision == 0 {
                metadata.remove("resourceVersion");
            } else {
                metadata.insert("resourceVersion".to_owned(), self.revision.to_string().into());
            }
        }
        Ok(object)
    }

    /// Decodes the object in the requested version.
    pub(crate) fn to_served_json(&self) -> Result<Value, Status> {
        let mut object = self.to_json()?;
        convert_to_served(&mut object, &self.served);
        Ok(object)
    }

    /// Appends the encoded object in the requested version.
    pub(crate) fn write(&self, typed: TypeMeta, out: &mut Vec<u8>) -> Result<(), Status> {
        match self.after_head() {
            Some(rest) if !needs_conversion(&self.served) => {
                self.write_head(typed, out);
                out.extend_from_slice(self.after_revision(rest));
                Ok(())
            }
            _ => self.write_converted(typed, out),
        }
    }

    /// Appends the metadata as a `PartialObjectMetadata`. It comes first in a stored object, so
    /// only its end must be found.
    pub(crate) fn write_metadata(&self, out: &mut Vec<u8>) -> Result<(), Status> {
        match self.after_head().and_then(|rest| rest.get(..end_of_metadata(rest)?)) {
            Some(metadata) if self.revision != 0 => {
                out.extend_from_slice(PARTIAL_HEAD.as_bytes());
                out.extend_from_slice(self.revision.to_string().as_bytes());
                out.extend_from_slice(metadata);
                out.push(b'}');
                Ok(())
            }
            _ => serde_json::to_writer(out, &partial_metadata::object(&self.to_served_json()?))
                .map_err(|why| Status::internal(&why.to_string())),
        }
    }

    /// Returns the bytes after the empty `resourceVersion`. Returns `None` if the stored text does
    /// not start with the usual head.
    fn after_head(&self) -> Option<&[u8]> {
        let mut parts = head(self.served.resource).into_iter();
        parts.try_fold(&*self.value, |rest, part| rest.strip_prefix(part.as_bytes()))
    }

    fn write_head(&self, typed: TypeMeta, out: &mut Vec<u8>) {
        let api_version = self.served.group_version.api_version;
        if typed == TypeMeta::Include {
            out.extend_from_slice(b"{\"apiVersion\":\"");
            out.extend_from_slice(api_version.as_bytes());
            out.extend_from_slice(b"\",\"kind\":\"");
            out.extend_from_slice(self.served.resource.kind.as_bytes());
            out.extend_from_slice(b"\",");
        } else {
            out.push(b'{');
        }
        out.extend_from_slice(b"\"metadata\":{");
        if self.revision != 0 {
            out.extend_from_slice(b"\"resourceVersion\":\"");
            out.extend_from_slice(self.revision.to_string().as_bytes());
        }
    }

    /// Returns the bytes after the revision. Without a revision it skips the quote and the comma,
    /// too.
    fn after_revision<'a>(&self, rest: &'a [u8]) -> &'a [u8] {
        if self.revision != 0 {
            return rest;
        }
        rest.strip_prefix(b"\",").or_else(|| rest.strip_prefix(b"\"")).unwrap_or(rest)
    }

    fn write_converted(&self, typed: TypeMeta, out: &mut Vec<u8>) -> Result<(), Status> {
        let mut object = self.to_served_json()?;
        if typed == TypeMeta::Omit
            && let Value::Object(fields) = &mut object
        {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        serde_json::to_writer(out, &object).map_err(|why| Status::internal(&why.to_string()))
    }
}

/// Returns the length of the metadata in a text that starts with the closing quote of its first
/// value.
fn end_of_metadata(text: &[u8]) -> Option<usize> {
    let mut depth = 1_usize;
    let mut is_string = true;
    let mut is_escaped = false;
    for (index, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// Whether the requested version differs from the stored version in more than `apiVersion`.
fn needs_conversion(served: &ServedResource) -> bool {
    served.resource == &EVENT_RESOURCE && !served.is_storage_version()
}

/// Converts an object from the stored version to the requested one.
pub(crate) fn convert_to_served(object: &mut Value, served: &ServedResource) {
    if needs_conversion(served) {
        convert_event(object, EventVersion::EventsV1);
        defaults::canonical(object);
    }
    set_api_version(object, served.group_version.api_version);
}

/// Converts an object from the version of a request to the stored one.
pub(crate) fn convert_to_stored(object: &mut Value, served: &ServedResource) {
    if needs_conversion(served) {
        convert_event(object, EventVersion::CoreV1);
    }
    set_api_version(object, served.resource.storage_version().api_version);
}

fn set_api_version(object: &mut Value, api_version: &str) {
    if let Value::Object(fields) = object {
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::CRON_JOBS;

    fn stored(version: usize, revision: u64) -> (StoredObject, Value) {
        let object = json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "a\"b", "annotations": {"x": "\"resourceVersion\":\"\""}, "resourceVersion": "7"},
            "spec": {"schedule": "@daily"}});
        let served = ServedResource {
            resource: &CRON_JOBS,
            group_version: CRON_JOBS.group_versions[version],
        };
        (StoredObject { served, value: encode(&object, &CRON_JOBS), revision }, object)
    }

    fn write(stored: &StoredObject, type_meta: TypeMeta) -> Value {
        let mut out = Vec::new();
        stored.write(type_meta, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn encoded_objects_are_returned_with_their_revision() {
        let (stored, object) = stored(0, 7);
        assert_eq!(stored.to_json().unwrap(), object);
        assert_eq!(write(&stored, TypeMeta::Include), object);
    }

    #[test]
    fn another_version_replaces_the_head_and_items_omit_type_meta() {
        let (stored, mut object) = stored(1, 7);
        object["apiVersion"] = json!("batch/v1beta1");
        assert_eq!(write(&stored, TypeMeta::Include), object);
        assert_eq!(stored.to_served_json().unwrap(), object);
        let fields = object.as_object_mut().unwrap();
        fields.remove("apiVersion");
        fields.remove("kind");
        assert_eq!(write(&stored, TypeMeta::Omit), object);
    }

    #[test]
    fn metadata_can_be_written_alone() {
        for revision in [7, 0] {
            let (stored, mut object) = stored(1, revision);
            let mut out = Vec::new();
            stored.write_metadata(&mut out).unwrap();
            if revision == 0 {
                object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
            }
            let written: Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(written, partial_metadata::object(&object));
        }
    }

    #[test]
    fn objects_of_a_dry_run_have_no_revision() {
        let (stored, mut object) = stored(0, 0);
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        assert_eq!(write(&stored, TypeMeta::Include), object);
        assert_eq!(stored.to_json().unwrap(), object);
    }
}
