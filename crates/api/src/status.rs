//! What a server answers when it does not answer with an object (`metav1.Status`).
//!
//! [`StatusReason`] is the one table of reasons and HTTP codes. Constructors carry Kubernetes' messages;
//! anything that needs a message of its own can be made with [`Status::failure`].

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::field::{FieldError, aggregate};

/// Why a request failed, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusReason {
    /// Not said; the server failed in a way that has no word.
    Unknown,
    /// Nobody is known to be asking.
    Unauthorized,
    /// Whoever asks may not.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// There is such a thing already.
    AlreadyExists,
    /// It changed meanwhile.
    Conflict,
    /// It is no longer there, and it was said so.
    Gone,
    /// What is asked about is too long ago.
    Expired,
    /// The object is wrong.
    Invalid,
    /// The request is wrong.
    BadRequest,
    /// The verb does not apply.
    MethodNotAllowed,
    /// No form of answer the client would take.
    NotAcceptable,
    /// A form of request the server does not take.
    UnsupportedMediaType,
    /// The request is too large.
    RequestEntityTooLarge,
    /// Too many requests.
    TooManyRequests,
    /// The server failed.
    InternalError,
    /// The server is not able now.
    ServiceUnavailable,
    /// The operation took too long, and may be tried again.
    ServerTimeout,
    /// The request took too long.
    Timeout,
}

impl StatusReason {
    /// All of them.
    pub const ALL: [StatusReason; 19] = [
        StatusReason::Unknown,
        StatusReason::Unauthorized,
        StatusReason::Forbidden,
        StatusReason::NotFound,
        StatusReason::AlreadyExists,
        StatusReason::Conflict,
        StatusReason::Gone,
        StatusReason::Expired,
        StatusReason::Invalid,
        StatusReason::BadRequest,
        StatusReason::MethodNotAllowed,
        StatusReason::NotAcceptable,
        StatusReason::UnsupportedMediaType,
        StatusReason::RequestEntityTooLarge,
        StatusReason::TooManyRequests,
        StatusReason::InternalError,
        StatusReason::ServiceUnavailable,
        StatusReason::ServerTimeout,
        StatusReason::Timeout,
    ];

    /// The reason as it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            StatusReason::Unknown => "",
            StatusReason::Unauthorized => "Unauthorized",
            StatusReason::Forbidden => "Forbidden",
            StatusReason::NotFound => "NotFound",
            StatusReason::AlreadyExists => "AlreadyExists",
            StatusReason::Conflict => "Conflict",
            StatusReason::Gone => "Gone",
            StatusReason::Expired => "Expired",
            StatusReason::Invalid => "Invalid",
            StatusReason::BadRequest => "BadRequest",
            StatusReason::MethodNotAllowed => "MethodNotAllowed",
            StatusReason::NotAcceptable => "NotAcceptable",
            StatusReason::UnsupportedMediaType => "UnsupportedMediaType",
            StatusReason::RequestEntityTooLarge => "RequestEntityTooLarge",
            StatusReason::TooManyRequests => "TooManyRequests",
            StatusReason::InternalError => "InternalError",
            StatusReason::ServiceUnavailable => "ServiceUnavailable",
            StatusReason::ServerTimeout => "ServerTimeout",
            StatusReason::Timeout => "Timeout",
        }
    }

    /// The HTTP status code.
    pub fn code(self) -> u16 {
        match self {
            StatusReason::Unknown => 500,
            StatusReason::Unauthorized => 401,
            StatusReason::Forbidden => 403,
            StatusReason::NotFound => 404,
            StatusReason::AlreadyExists => 409,
            StatusReason::Conflict => 409,
            StatusReason::Gone => 410,
            StatusReason::Expired => 410,
            StatusReason::Invalid => 422,
            StatusReason::BadRequest => 400,
            StatusReason::MethodNotAllowed => 405,
            StatusReason::NotAcceptable => 406,
            StatusReason::UnsupportedMediaType => 415,
            StatusReason::RequestEntityTooLarge => 413,
            StatusReason::TooManyRequests => 429,
            StatusReason::InternalError => 500,
            StatusReason::ServiceUnavailable => 503,
            StatusReason::ServerTimeout => 500,
            StatusReason::Timeout => 504,
        }
    }

    fn is_unknown(&self) -> bool {
        *self == StatusReason::Unknown
    }

    /// Parses the JSON form. Returns `Unknown` for a text that is not listed here.
    pub fn parse(text: &str) -> StatusReason {
        let found = StatusReason::ALL.into_iter().find(|reason| reason.as_str() == text);
        found.unwrap_or(StatusReason::Unknown)
    }
}

/// A resource as messages name it: `cronjobs.batch`, or `pods` in the core group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupResource<'a> {
    /// Group; empty for the core group.
    pub group: &'a str,
    /// Plural name.
    pub name: &'a str,
}

impl fmt::Display for GroupResource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, self.name, self.group)
    }
}

/// A kind as messages name it: `CronJob.batch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupKind<'a> {
    /// Group; empty for the core group.
    pub group: &'a str,
    /// Kind.
    pub kind: &'a str,
}

impl fmt::Display for GroupKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, self.kind, self.group)
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => f.write_str(name),
        _ => write!(f, "{name}.{group}"),
    }
}

/// An answer that is not an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    kind: &'static str,
    api_version: &'static str,
    /// Empty, or the continue token of an expired list.
    pub metadata: Map<String, Value>,
    status: &'static str,
    /// A sentence for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why, in one word.
    #[serde(skip_serializing_if = "StatusReason::is_unknown")]
    pub reason: StatusReason,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<StatusDetails>>,
    /// HTTP code; not written for a success.
    #[serde(skip_serializing_if = "crate::meta::is_zero")]
    pub code: u16,
}

impl Serialize for StatusReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its kind, or in most messages its resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// What exactly is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// When to try again.
    #[serde(skip_serializing_if = "crate::meta::is_zero")]
    pub retry_after_seconds: i32,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// One word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field at fault.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Status {
    /// A failure without details.
    pub fn failure(reason: StatusReason, message: impl Into<String>) -> Status {
        Status {
            kind: "Status",
            api_version: "v1",
            metadata: Map::new(),
            status: "Failure",
            message: message.into(),
            reason,
            details: None,
            code: reason.code(),
        }
    }

    /// A success, with details of what was done: the answer to a deletion, for one.
    pub fn success(details: StatusDetails) -> Status {
        Status {
            status: "Success",
            details: Some(Box::new(details)),
            code: 0,
            ..Status::failure(StatusReason::Unknown, "")
        }
    }

    /// The same with details.
    pub fn with_details(self, details: StatusDetails) -> Status {
        Status { details: Some(Box::new(details)), ..self }
    }

    fn with_resource(self, resource: GroupResource<'_>, name: &str) -> Status {
        let details = StatusDetails {
            name: name.to_owned(),
            group: resource.group.to_owned(),
            kind: resource.name.to_owned(),
            ..StatusDetails::default()
        };
        Status { details: Some(Box::new(details)), ..self }
    }

    /// There is no such object.
    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Status {
        let message = format!("{resource} {} not found", crate::go_format::quoted(name));
        Status::failure(StatusReason::NotFound, message).with_resource(resource, name)
    }

    /// There is such an object already.
    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Status {
        let message = format!("{resource} {} already exists", crate::go_format::quoted(name));
        Status::failure(StatusReason::AlreadyExists, message).with_resource(resource, name)
    }

    /// The object cannot be changed this way now.
    pub fn conflict(resource: GroupResource<'_>, name: &str, why: &str) -> Status {
        let name_quoted = crate::go_format::quoted(name);
        let message = format!("Operation cannot be fulfilled on {resource} {name_quoted}: {why}");
        Status::failure(StatusReason::Conflict, message).with_resource(resource, name)
    }

    /// The object changed since it was read.
    pub fn object_modified(resource: GroupResource<'_>, name: &str) -> Status {
        const WHY: &str = "the object has been modified; please apply your changes to the latest \
                           version and try again";
        Status::conflict(resource, name, WHY)
    }

    /// The object has another UID than the request expects: it was deleted and recreated.
    pub fn uid_mismatch(
        resource: GroupResource<'_>,
        namespace: &str,
        name: &str,
        wanted: &str,
        found: &str,
    ) -> Status {
        let plural = resource.name;
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{plural}/{namespace}/{name}, \
             ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: \
             {wanted}, UID in object meta: {found}"
        );
        Status::conflict(resource, name, &why)
    }

    /// Whoever asks may not.
    pub fn forbidden(resource: GroupResource<'_>, name: &str, why: &str) -> Status {
        let message = match (resource.name, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{resource} is forbidden: {why}"),
            _ => format!("{resource} {} is forbidden: {why}", crate::go_format::quoted(name)),
        };
        Status::failure(StatusReason::Forbidden, message).with_resource(resource, name)
    }

    /// The object is wrong; says where and why.
    pub fn invalid(kind: GroupKind<'_>, name: &str, errors: &[FieldError]) -> Status {
        let details = StatusDetails {
            name: name.to_owned(),
            group: kind.group.to_owned(),
            kind: kind.kind.to_owned(),
            causes: causes(errors),
            ..StatusDetails::default()
        };
        let mut message = format!("{kind} {} is invalid", crate::go_format::quoted(name));
        if !errors.is_empty() {
            message = format!("{message}: {}", aggregate(errors));
        }
        Status {
            details: Some(Box::new(details)),
            ..Status::failure(StatusReason::Invalid, message)
        }
    }

    /// The request is wrong.
    pub fn bad_request(message: impl Into<String>) -> Status {
        Status::failure(StatusReason::BadRequest, message)
    }

    /// The verb does not apply to the resource.
    pub fn method_not_supported(resource: GroupResource<'_>, verb: &str) -> Status {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Status::failure(StatusReason::MethodNotAllowed, message).with_resource(resource, "")
    }

    /// The server failed.
    pub fn internal(why: &str) -> Status {
        let message = format!("Internal error occurred: {why}");
        let cause = StatusCause { message: why.to_owned(), ..StatusCause::default() };
        let details = StatusDetails { causes: vec![cause], ..StatusDetails::default() };
        let status = Status::failure(StatusReason::InternalError, message);
        Status { details: Some(Box::new(details)), ..status }
    }

    /// Nobody is known to be asking.
    pub fn unauthorized() -> Status {
        Status::failure(StatusReason::Unauthorized, "Unauthorized")
    }

    /// The version asked for is too long ago.
    pub fn expired(message: impl Into<String>) -> Status {
        Status::failure(StatusReason::Expired, message)
    }

    /// Too many requests; try again later.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: i32) -> Status {
        let details = StatusDetails { retry_after_seconds, ..StatusDetails::default() };
        let status = Status::failure(StatusReason::TooManyRequests, message);
        Status { details: Some(Box::new(details)), ..status }
    }
}

/// A cause for each error; what is found twice is said once.
fn causes(errors: &[FieldError]) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    for error in errors {
        let cause = StatusCause {
            reason: error.kind.reason().to_owned(),
            message: error.body(),
            field: error.path.clone(),
        };
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldPath;

    const CRON_JOBS: GroupResource<'_> = GroupResource { group: "batch", name: "cronjobs" };

    #[test]
    fn every_reason_is_found_by_its_word() {
        for reason in StatusReason::ALL {
            assert_eq!(StatusReason::parse(reason.as_str()), reason);
        }
        assert_eq!(StatusReason::parse("Novel"), StatusReason::Unknown);
    }

    #[test]
    fn messages_are_kubernetes_own() {
        let pods = GroupResource { group: "", name: "pods" };
        for (status, code, message) in [
            (Status::not_found(CRON_JOBS, "a"), 404, r#"cronjobs.batch "a" not found"#),
            (Status::not_found(pods, "a"), 404, r#"pods "a" not found"#),
            (Status::already_exists(CRON_JOBS, "a"), 409, r#"cronjobs.batch "a" already exists"#),
            (Status::internal("x"), 500, "Internal error occurred: x"),
            (
                Status::method_not_supported(CRON_JOBS, "create"),
                405,
                r#"create is not supported on resources of kind "cronjobs.batch""#,
            ),
        ] {
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }

    #[test]
    fn an_invalid_object_has_a_cause_for_each_error() {
        let path = FieldPath::root("spec");
        let errors = [FieldError::required(&path, ""), FieldError::invalid(&path, 1, "no")];
        let status = Status::invalid(GroupKind { group: "batch", kind: "Job" }, "x", &errors);
        let details = status.details.unwrap();
        assert_eq!(
            status.message,
            r#"Job.batch "x" is invalid: [spec: Required value, spec: Invalid value: 1: no]"#
        );
        assert_eq!(details.causes[1].reason, "FieldValueInvalid");
        assert_eq!(details.causes[1].message, "Invalid value: 1: no");
    }
}
