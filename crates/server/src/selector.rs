//! Which objects a list or a watch is about.

mod field;
mod label;

use punctual_api::Status;
use serde_json::Value;

pub(crate) use self::field::FieldSelector;
pub(crate) use self::label::LabelSelector;
use crate::resource::View;

/// Both selectors of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selector {
    /// Reads what a client asks for.
    pub(crate) fn parse(labels: &str, fields: &str, view: &View) -> Result<Selector, Status> {
        let labels = LabelSelector::parse(labels).map_err(Status::bad_request)?;
        let fields = FieldSelector::parse(fields, view).map_err(Status::bad_request)?;
        Ok(Selector { labels, fields })
    }

    /// Whether it selects everything, so that nothing needs to be looked at.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Whether a stored object is selected.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.fields.matches(object) && self.labels.matches(object.pointer("/metadata/labels"))
    }

    /// Whether an object can be selected by its key, without being read.
    pub(crate) fn may_match(&self, key: &str) -> bool {
        let name = self.fields.exact("metadata.name");
        name.is_none_or(|name| key.rsplit('/').next() == Some(name))
    }
}
