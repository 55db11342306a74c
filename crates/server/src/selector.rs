//! Label and field selectors of lists, watches and collection deletes.

mod field;
mod label;

use jiff::Timestamp;
use punctual_api::Status;
use punctual_api::meta::StringMap;
use serde_json::{Value, json};

pub(crate) use self::field::FieldSelector;
pub(crate) use self::label::LabelSelector;
use crate::resource::ServedResource;

/// A selector that cannot be parsed. The text is that of kube-apiserver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SelectorError(String);

/// The label selector and the field selector of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selector {
    /// Parses both selectors of a request. An empty text selects everything.
    pub(crate) fn parse(
        labels: &str,
        fields: &str,
        served: &ServedResource,
    ) -> Result<Selector, Status> {
        let invalid = |error: SelectorError| Status::bad_request(error.to_string());
        let labels = LabelSelector::parse(labels).map_err(invalid)?;
        let fields = FieldSelector::parse(fields, served).map_err(invalid)?;
        Ok(Selector { labels, fields })
    }

    /// Returns the selector of one object.
    pub(crate) fn for_name(name: &str) -> Selector {
        Selector { fields: FieldSelector::for_name(name), ..Selector::default() }
    }

    /// Whether it selects everything, so that objects need not be decoded.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Whether it selects a stored object.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.fields.matches(object) && self.labels.matches(object.pointer("/metadata/labels"))
    }

    /// Returns the value that a field must equal, if the selector requires one.
    pub(crate) fn required_field(&self, field: &str) -> Option<&str> {
        self.fields.required_value(field)
    }

    /// Returns the values of a field that is compared as a time.
    pub(crate) fn times(&self, field: &str) -> impl Iterator<Item = Timestamp> {
        self.fields.times(field)
    }

    /// Whether it selects by labels.
    pub(crate) fn has_labels(&self) -> bool {
        !self.labels.is_everything()
    }

    /// Whether it selects these labels.
    pub(crate) fn matches_labels(&self, labels: &StringMap) -> bool {
        self.labels.is_everything() || self.labels.matches(Some(&json!(labels)))
    }

    /// Whether it can select an object with this key. This check does not decode the object.
    pub(crate) fn may_match(&self, key: &str) -> bool {
        let name = self.fields.required_value("metadata.name");
        name.is_none_or(|name| key.rsplit('/').next() == Some(name))
    }
}
