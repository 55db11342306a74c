//! Objects as bytes: how they lie in the store and how they go out, mostly without being read.
//!
//! A stored object is JSON that begins with `apiVersion`, `kind` and an empty `resourceVersion`, so
//! that an answer is the stored text with another beginning: the version under which it was asked
//! for and its revision. Lists and watches therefore copy bytes and parse nothing.

use bytes::Bytes;
use punctual_api::convert::{EventVersion, convert_event};
use punctual_api::{Status, defaults};
use punctual_store::Entry;
use serde_json::{Map, Value};

use crate::resource::{EVENT_LOG, Resource, View};
use crate::table::partial;

/// Writes an object in its stored form. `resourceVersion` is left out: the store knows it.
pub(crate) fn encode(object: &Value, resource: &Resource) -> Bytes {
    let mut text = Vec::new();
    head(resource).iter().for_each(|part| text.extend_from_slice(part.as_bytes()));
    text.push(b'"');
    if let Some(metadata) = object.get("metadata").and_then(Value::as_object) {
        write_rest(&mut text, metadata, &["resourceVersion"]);
    }
    text.push(b'}');
    if let Some(fields) = object.as_object() {
        write_rest(&mut text, fields, &["apiVersion", "kind", "metadata"]);
    }
    text.push(b'}');
    // Kept for as long as the object is, so no byte more than it has.
    Bytes::from(text.into_boxed_slice())
}

/// What a stored object begins with, up to where its revision will be.
fn head(resource: &Resource) -> [&'static str; 5] {
    let api_version = resource.stored().api_version;
    ["{\"apiVersion\":\"", api_version, "\",\"kind\":\"", resource.kind, HEAD_END]
}

const HEAD_END: &str = "\",\"metadata\":{\"resourceVersion\":\"";

fn write_rest(text: &mut Vec<u8>, fields: &Map<String, Value>, without: &[&str]) {
    for (name, value) in fields.iter().filter(|(name, _)| !without.contains(&name.as_str())) {
        text.push(b',');
        // Trees and texts are JSON already, and writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut *text, name);
        text.push(b':');
        let _ = serde_json::to_writer(&mut *text, value);
    }
}

/// What the metadata of an object alone begins with, up to its revision.
const PARTIAL_HEAD: &str = "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\
                            \"metadata\":{\"resourceVersion\":\"";

/// Whether an answer carries `apiVersion` and `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// As objects that stand alone.
    Yes,
    /// As items of a list, which says it once for all.
    No,
}

/// An object in the store.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) view: View,
    pub(crate) value: Bytes,
    /// Its revision; 0 for an object that only might have been stored.
    pub(crate) revision: u64,
}

impl Stored {
    /// An entry of the store, seen under one of its names.
    pub(crate) fn of(view: View, entry: &Entry) -> Stored {
        Stored { view, value: entry.value.clone(), revision: entry.modified }
    }

    /// The object as the store has it, with its revision.
    pub(crate) fn tree(&self) -> Result<Value, Status> {
        let mut object: Value = serde_json::from_slice(&self.value)
            .map_err(|why| Status::internal(&format!("a stored object cannot be read: {why}")))?;
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            match self.revision {
                0 => metadata.remove("resourceVersion"),
                _ => {
                    metadata.insert("resourceVersion".to_owned(), self.revision.to_string().into())
                }
            };
        }
        Ok(object)
    }

    /// The object as it was asked for.
    pub(crate) fn served_tree(&self) -> Result<Value, Status> {
        let mut object = self.tree()?;
        to_served(&mut object, &self.view);
        Ok(object)
    }

    /// Appends the object as it was asked for.
    pub(crate) fn write(&self, typed: Typed, out: &mut Vec<u8>) -> Result<(), Status> {
        match self.behind_head() {
            Some(rest) if !is_converted(&self.view) => {
                self.write_head(typed, out);
                out.extend_from_slice(self.after_revision(rest));
                Ok(())
            }
            _ => self.write_tree(typed, out),
        }
    }

    /// Appends the metadata alone, as a `PartialObjectMetadata`. It is the first thing in a stored
    /// object, so all that is looked for is its end.
    pub(crate) fn write_metadata(&self, out: &mut Vec<u8>) -> Result<(), Status> {
        match self.behind_head().and_then(|rest| rest.get(..end_of_metadata(rest)?)) {
            Some(metadata) if self.revision != 0 => {
                out.extend_from_slice(PARTIAL_HEAD.as_bytes());
                out.extend_from_slice(self.revision.to_string().as_bytes());
                out.extend_from_slice(metadata);
                out.push(b'}');
                Ok(())
            }
            _ => serde_json::to_writer(out, &partial::object(&self.served_tree()?))
                .map_err(|why| Status::internal(&why.to_string())),
        }
    }

    /// What follows the place of the revision; none if the object is not in our form.
    fn behind_head(&self) -> Option<&[u8]> {
        let mut parts = head(self.view.resource).into_iter();
        parts.try_fold(&*self.value, |rest, part| rest.strip_prefix(part.as_bytes()))
    }

    fn write_head(&self, typed: Typed, out: &mut Vec<u8>) {
        let api_version = self.view.served.api_version;
        if typed == Typed::Yes {
            out.extend_from_slice(b"{\"apiVersion\":\"");
            out.extend_from_slice(api_version.as_bytes());
            out.extend_from_slice(b"\",\"kind\":\"");
            out.extend_from_slice(self.view.resource.kind.as_bytes());
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

    /// What follows the digits of the revision; without a revision not even a comma.
    fn after_revision<'a>(&self, rest: &'a [u8]) -> &'a [u8] {
        match self.revision {
            0 => rest.strip_prefix(b"\",").or_else(|| rest.strip_prefix(b"\"")).unwrap_or(rest),
            _ => rest,
        }
    }

    fn write_tree(&self, typed: Typed, out: &mut Vec<u8>) -> Result<(), Status> {
        let mut object = self.served_tree()?;
        if let (Typed::No, Value::Object(fields)) = (typed, &mut object) {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        serde_json::to_writer(out, &object).map_err(|why| Status::internal(&why.to_string()))
    }
}

/// How far the metadata goes in a text that begins with the quote behind its first value.
fn end_of_metadata(text: &[u8]) -> Option<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (1_usize, true, false);
    for (at, byte) in text.iter().enumerate() {
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
            return Some(at + 1);
        }
    }
    None
}

/// Whether objects look different under the name they are asked for.
fn is_converted(view: &View) -> bool {
    view.resource == &EVENT_LOG && !view.is_stored_form()
}

/// From the stored form to the one asked for.
pub(crate) fn to_served(object: &mut Value, view: &View) {
    if is_converted(view) {
        convert_event(object, EventVersion::EventsV1);
        defaults::canonical(object);
    }
    set_api_version(object, view.served.api_version);
}

/// From the form of a request to the stored one.
pub(crate) fn to_stored(object: &mut Value, view: &View) {
    if is_converted(view) {
        convert_event(object, EventVersion::CoreV1);
    }
    set_api_version(object, view.resource.stored().api_version);
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

    fn stored(version: usize, revision: u64) -> (Stored, Value) {
        let object = json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "a\"b", "annotations": {"x": "\"resourceVersion\":\"\""}, "resourceVersion": "7"},
            "spec": {"schedule": "@daily"}});
        let view = View { resource: &CRON_JOBS, served: CRON_JOBS.served[version] };
        (Stored { view, value: encode(&object, &CRON_JOBS), revision }, object)
    }

    fn written(stored: &Stored, typed: Typed) -> Value {
        let mut out = Vec::new();
        stored.write(typed, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn what_is_stored_comes_back_with_its_revision() {
        let (stored, object) = stored(0, 7);
        assert_eq!(stored.tree().unwrap(), object);
        assert_eq!(written(&stored, Typed::Yes), object);
    }

    #[test]
    fn a_version_changes_the_beginning_alone_and_items_have_none() {
        let (stored, mut object) = stored(1, 7);
        object["apiVersion"] = json!("batch/v1beta1");
        assert_eq!(written(&stored, Typed::Yes), object);
        assert_eq!(stored.served_tree().unwrap(), object);
        let fields = object.as_object_mut().unwrap();
        fields.remove("apiVersion");
        fields.remove("kind");
        assert_eq!(written(&stored, Typed::No), object);
    }

    #[test]
    fn the_metadata_can_be_had_alone() {
        for revision in [7, 0] {
            let (stored, mut object) = stored(1, revision);
            let mut out = Vec::new();
            stored.write_metadata(&mut out).unwrap();
            if revision == 0 {
                object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
            }
            let shown: Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(shown, partial::object(&object));
        }
    }

    #[test]
    fn an_object_that_only_might_be_stored_has_no_revision() {
        let (stored, mut object) = stored(0, 0);
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        assert_eq!(written(&stored, Typed::Yes), object);
        assert_eq!(stored.tree().unwrap(), object);
    }
}
