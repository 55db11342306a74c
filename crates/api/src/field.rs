//! Field errors with the text of Kubernetes.
//!
//! A [`FieldError`] consists of a path, a kind, the bad value and a detail. Its `Display` equals
//! the text of Kubernetes byte for byte, because clients match on it. Paths live on the stack and
//! are formatted only when an error is reported.

use std::fmt;

use serde::Serialize;

use crate::go_format;

/// The path of a field, such as `spec.containers[0].name`.
#[derive(Clone, Copy, Debug)]
pub struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> FieldPath<'a> {
    /// A top-level field.
    pub const fn root(name: &'a str) -> FieldPath<'a> {
        FieldPath { parent: None, step: Step::Child(name) }
    }

    /// A field of the object at this path.
    pub const fn child(&'a self, name: &'a str) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Child(name) }
    }

    /// An item of the list at this path.
    pub const fn index(&'a self, index: usize) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Index(index) }
    }

    /// An entry of the map at this path.
    pub const fn key(&'a self, key: &'a str) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Child(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Child(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// The kind of a field error; also the reason of a status cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldErrorKind {
    /// The value refers to an object that does not exist.
    NotFound,
    /// The value is missing.
    Required,
    /// The value is not unique.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is not one of the supported values.
    NotSupported,
    /// The field may not be set.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
}

impl FieldErrorKind {
    /// Returns the reason for a status cause.
    pub fn reason(self) -> &'static str {
        match self {
            FieldErrorKind::NotFound => "FieldValueNotFound",
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::Duplicate => "FieldValueDuplicate",
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany => "FieldValueTooMany",
        }
    }

    fn text(self) -> &'static str {
        match self {
            FieldErrorKind::NotFound => "Not found",
            FieldErrorKind::Required => "Required value",
            FieldErrorKind::Duplicate => "Duplicate value",
            FieldErrorKind::Invalid => "Invalid value",
            FieldErrorKind::NotSupported => "Unsupported value",
            FieldErrorKind::Forbidden => "Forbidden",
            FieldErrorKind::TooLong => "Too long",
            FieldErrorKind::TooMany => "Too many",
        }
    }
}

/// The bad value as it appears in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue(Option<String>);

impl BadValue {
    /// Omits the value.
    pub const OMITTED: BadValue = BadValue(None);

    /// Formats a value as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> BadValue {
        BadValue(serde_json::to_string(value).ok().map(|text| go_format::html_escaped(&text)))
    }

    /// Uses a text without quotes.
    pub fn verbatim(text: impl Into<String>) -> BadValue {
        BadValue(Some(text.into()))
    }
}

impl From<&str> for BadValue {
    fn from(text: &str) -> Self {
        BadValue(Some(go_format::quoted(text)))
    }
}

impl From<&String> for BadValue {
    fn from(text: &String) -> Self {
        BadValue::from(text.as_str())
    }
}

impl From<i32> for BadValue {
    fn from(number: i32) -> Self {
        BadValue(Some(number.to_string()))
    }
}

impl From<i64> for BadValue {
    fn from(number: i64) -> Self {
        BadValue(Some(number.to_string()))
    }
}

impl From<bool> for BadValue {
    fn from(flag: bool) -> Self {
        BadValue(Some(flag.to_string()))
    }
}

/// An error in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field.
    pub path: String,
    /// The kind of the error.
    pub kind: FieldErrorKind,
    /// The bad value.
    pub value: BadValue,
    /// The reason, or the supported values; may be empty.
    pub detail: String,
}

impl FieldError {
    fn new(
        path: &FieldPath<'_>,
        kind: FieldErrorKind,
        value: BadValue,
        detail: impl Into<String>,
    ) -> Self {
        FieldError { path: path.to_string(), kind, value, detail: detail.into() }
    }

    /// A required field is missing; `detail` may be empty.
    pub fn required(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Required, BadValue::OMITTED, detail)
    }

    /// A value is malformed.
    pub fn invalid(
        path: &FieldPath<'_>,
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(path, FieldErrorKind::Invalid, value.into(), detail)
    }

    /// A value is not one of the supported values.
    pub fn not_supported(
        path: &FieldPath<'_>,
        value: impl Into<BadValue>,
        supported: &[&str],
    ) -> Self {
        let values: Vec<_> = supported.iter().map(|value| go_format::quoted(value)).collect();
        let detail = format!("supported values: {}", values.join(", "));
        Self::new(path, FieldErrorKind::NotSupported, value.into(), detail)
    }

    /// A field may not be set.
    pub fn forbidden(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Forbidden, BadValue::OMITTED, detail)
    }

    /// A value is not unique.
    pub fn duplicate(path: &FieldPath<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(path, FieldErrorKind::Duplicate, value.into(), "")
    }

    /// A value refers to an object that does not exist.
    pub fn not_found(path: &FieldPath<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(path, FieldErrorKind::NotFound, value.into(), "")
    }

    /// A text has too many bytes.
    pub fn too_long(path: &FieldPath<'_>, max: usize) -> Self {
        let detail = format!("may not be more than {max} bytes");
        Self::new(path, FieldErrorKind::TooLong, BadValue::OMITTED, detail)
    }

    /// A list has too many items.
    pub fn too_many(path: &FieldPath<'_>, actual: usize, max: usize) -> Self {
        let value = BadValue::verbatim(actual.to_string());
        Self::new(path, FieldErrorKind::TooMany, value, format!("must have at most {max} items"))
    }

    /// Formats the error without its path, as in a status cause.
    pub fn body(&self) -> String {
        let mut text = self.kind.text().to_owned();
        for part in self.value.0.iter().chain(Some(&self.detail).filter(|d| !d.is_empty())) {
            text.push_str(": ");
            text.push_str(part);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl std::error::Error for FieldError {}

/// Formats errors as one text: a single error as is, several as `[a, b]` without duplicates.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in errors.iter().map(FieldError::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [text] => text.clone(),
        _ => format!("[{}]", texts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_texts_of_kubernetes() {
        let spec = FieldPath::root("spec");
        let list = spec.child("env");
        let item = list.index(2);
        let labels = spec.child("labels");
        for (error, want) in [
            (FieldError::required(&spec, ""), "spec: Required value"),
            (
                FieldError::invalid(&item.child("name"), "a\"b", "no"),
                r#"spec.env[2].name: Invalid value: "a\"b": no"#,
            ),
            (FieldError::invalid(&spec, -1, "no"), "spec: Invalid value: -1: no"),
            (
                FieldError::not_supported(&spec, "x", &["A", "B"]),
                r#"spec: Unsupported value: "x": supported values: "A", "B""#,
            ),
            (FieldError::forbidden(&labels.key("a/b"), "why"), "spec.labels[a/b]: Forbidden: why"),
            (FieldError::duplicate(&item, "x"), r#"spec.env[2]: Duplicate value: "x""#),
            (FieldError::not_found(&item, "x"), r#"spec.env[2]: Not found: "x""#),
            (FieldError::too_long(&spec, 63), "spec: Too long: may not be more than 63 bytes"),
            (FieldError::too_many(&spec, 9, 3), "spec: Too many: 9: must have at most 3 items"),
        ] {
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn several_errors_are_joined_without_duplicates() {
        let spec = FieldPath::root("spec");
        let a = FieldError::required(&spec, "");
        let b = FieldError::forbidden(&spec, "");
        assert_eq!(aggregate(std::slice::from_ref(&a)), "spec: Required value");
        assert_eq!(aggregate(&[a.clone(), a.clone()]), "spec: Required value");
        assert_eq!(aggregate(&[a.clone(), b, a]), "[spec: Required value, spec: Forbidden]");
    }
}
