//! What is wrong with a field, as Kubernetes says it.
//!
//! A [`FieldError`] is a path, a kind of error, the value at fault and a detail. Its `Display` is
//! Kubernetes' text, byte for byte, because clients match on it. Paths are built on the stack and
//! only written out when there is something to say.

use std::fmt;

use serde::Serialize;

use crate::go_format;

/// A place in an object, such as `spec.containers[0].name`.
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
    /// A field of the object itself.
    pub const fn root(name: &'a str) -> FieldPath<'a> {
        FieldPath { parent: None, step: Step::Child(name) }
    }

    /// A field below this one.
    pub const fn child(&'a self, name: &'a str) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Child(name) }
    }

    /// An item of this list.
    pub const fn index(&'a self, index: usize) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Index(index) }
    }

    /// An entry of this map.
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

/// What kind of error it is; also the reason in a `Status`' causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldErrorKind {
    /// It refers to something that is not there.
    NotFound,
    /// It must be given.
    Required,
    /// It must be unique.
    Duplicate,
    /// It is malformed.
    Invalid,
    /// It is none of the words allowed.
    NotSupported,
    /// It may not be given here.
    Forbidden,
    /// It is too long.
    TooLong,
    /// There are too many.
    TooMany,
}

impl FieldErrorKind {
    /// The reason for a `Status`' causes.
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

    fn words(self) -> &'static str {
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

/// The value at fault, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue(Option<String>);

impl BadValue {
    /// Not shown.
    pub const OMITTED: BadValue = BadValue(None);

    /// Shown as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> BadValue {
        BadValue(serde_json::to_string(value).ok().map(|text| go_format::html_escaped(&text)))
    }

    /// Shown as it is.
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

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where.
    pub path: String,
    /// What kind of error.
    pub kind: FieldErrorKind,
    /// The value at fault.
    pub value: BadValue,
    /// Why, or what is allowed instead; may be empty.
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

    /// Something that must be given is not; `detail` may be empty.
    pub fn required(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Required, BadValue::OMITTED, detail)
    }

    /// A malformed value.
    pub fn invalid(
        path: &FieldPath<'_>,
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(path, FieldErrorKind::Invalid, value.into(), detail)
    }

    /// A word that is none of those allowed.
    pub fn not_supported(
        path: &FieldPath<'_>,
        value: impl Into<BadValue>,
        supported: &[&str],
    ) -> Self {
        let words: Vec<_> = supported.iter().map(|word| go_format::quoted(word)).collect();
        let detail = format!("supported values: {}", words.join(", "));
        Self::new(path, FieldErrorKind::NotSupported, value.into(), detail)
    }

    /// Something that may not be given here.
    pub fn forbidden(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Forbidden, BadValue::OMITTED, detail)
    }

    /// A value that must be unique and is not.
    pub fn duplicate(path: &FieldPath<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(path, FieldErrorKind::Duplicate, value.into(), "")
    }

    /// A reference to something that is not there.
    pub fn not_found(path: &FieldPath<'_>, value: impl Into<BadValue>) -> Self {
        Self::new(path, FieldErrorKind::NotFound, value.into(), "")
    }

    /// A text of too many bytes.
    pub fn too_long(path: &FieldPath<'_>, max: usize) -> Self {
        let detail = format!("may not be more than {max} bytes");
        Self::new(path, FieldErrorKind::TooLong, BadValue::OMITTED, detail)
    }

    /// A list of too many items.
    pub fn too_many(path: &FieldPath<'_>, actual: usize, max: usize) -> Self {
        let value = BadValue::verbatim(actual.to_string());
        Self::new(path, FieldErrorKind::TooMany, value, format!("must have at most {max} items"))
    }

    /// The text without the path, as in a `Status`' causes.
    pub fn body(&self) -> String {
        let mut text = self.kind.words().to_owned();
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

/// The errors as one text: alone, or as `[a, b]`, each text once.
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
    fn an_error_reads_as_kubernetes_writes_it() {
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
    fn several_errors_are_one_list_with_each_text_once() {
        let spec = FieldPath::root("spec");
        let (a, b) = (FieldError::required(&spec, ""), FieldError::forbidden(&spec, ""));
        assert_eq!(aggregate(std::slice::from_ref(&a)), "spec: Required value");
        assert_eq!(aggregate(&[a.clone(), a.clone()]), "spec: Required value");
        assert_eq!(aggregate(&[a.clone(), b, a]), "[spec: Required value, spec: Forbidden]");
    }
}
