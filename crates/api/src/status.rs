//! `metav1.Status`: the response of a server to a request that failed, or that returns no object.
//!
//! [`StatusReason`] lists the reasons and their HTTP codes. The constructors use Kubernetes'
//! messages; [`Status::failure`] takes any message.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::field::{FieldError, aggregate};

/// The machine-readable reason of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusReason {
    /// No reason is given.
    Unknown,
    /// The caller is not authenticated.
    Unauthorized,
    /// The caller is not authorized.
    Forbidden,
    /// The object does not exist.
    NotFound,
    /// The object already exists.
    AlreadyExists,
    /// The object was modified concurrently.
    Conflict,
    /// The object is no longer available at this location.
    Gone,
    /// The requested resource version is too old.
    Expired,
    /// The object is invalid.
    Invalid,
    /// The request is malformed.
    BadRequest,
    /// The resource does not support the verb.
    MethodNotAllowed,
    /// The server cannot produce a media type that the client accepts.
    NotAcceptable,
    /// The server does not support the media type of the request.
    UnsupportedMediaType,
    /// The request is too large.
    RequestEntityTooLarge,
    /// Too many requests.
    TooManyRequests,
    /// The server failed internally.
    InternalError,
    /// The server is temporarily unavailable.
    ServiceUnavailable,
    /// The operation timed out; the client may retry.
    ServerTimeout,
    /// The request timed out.
    Timeout,
}

impl StatusReason {
    /// All variants.
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

    /// Returns the JSON form.
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

    /// Returns the HTTP status code.
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
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The plural name.
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
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The kind.
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

/// A response that is not an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    kind: &'static str,
    api_version: &'static str,
    /// List metadata: empty, or the continue token of an expired list.
    pub metadata: Map<String, Value>,
    status: &'static str,
    /// Human-readable message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Machine-readable reason.
    #[serde(skip_serializing_if = "StatusReason::is_unknown")]
    pub reason: StatusReason,
    /// Details about the object and the causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<StatusDetails>>,
    /// The HTTP status code; omitted for a success.
    #[serde(skip_serializing_if = "crate::meta::is_zero")]
    pub code: u16,
}

impl Serialize for StatusReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Details of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind, or in most messages the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The individual causes of the failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// After how many seconds the client may retry.
    #[serde(skip_serializing_if = "crate::meta::is_zero")]
    pub retry_after_seconds: i32,
}

/// One cause of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// Machine-readable reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Human-readable message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Status {
    /// Creates a failure without details.
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

    /// Creates a success with details, such as the response to a deletion.
    pub fn success(details: StatusDetails) -> Status {
        Status {
            status: "Success",
            details: Some(Box::new(details)),
            code: 0,
            ..Status::failure(StatusReason::Unknown, "")
        }
    }

    /// Replaces the details.
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

    /// The object does not exist.
    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Status {
        let message = format!("{resource} {} not found", crate::go_format::quoted(name));
        Status::failure(StatusReason::NotFound, message).with_resource(resource, name)
    }

    /// The object already exists.
    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Status {
        let message = format!("{resource} {} already exists", crate::go_format::quoted(name));
        Status::failure(StatusReason::AlreadyExists, message).with_resource(resource, name)
    }

    /// The operation conflicts with the state of the object.
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

    /// The caller is not authorized.
    pub fn forbidden(resource: GroupResource<'_>, name: &str, why: &str) -> Status {
        let message = match (resource.name, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{resource} is forbidden: {why}"),
            _ => format!("{resource} {} is forbidden: {why}", crate::go_format::quoted(name)),
        };
        Status::failure(StatusReason::Forbidden, message).with_resource(resource, name)
    }

    /// The object is invalid; lists the field errors.
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

    /// The request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Status {
        Status::failure(StatusReason::BadRequest, message)
    }

    /// The resource does not support the verb.
    pub fn method_not_supported(resource: GroupResource<'_>, verb: &str) -> Status {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Status::failure(StatusReason::MethodNotAllowed, message).with_resource(resource, "")
    }

    /// The server failed internally.
    pub fn internal(why: &str) -> Status {
        let message = format!("Internal error occurred: {why}");
        let cause = StatusCause { message: why.to_owned(), ..StatusCause::default() };
        let details = StatusDetails { causes: vec![cause], ..StatusDetails::default() };
        let status = Status::failure(StatusReason::InternalError, message);
        Status { details: Some(Box::new(details)), ..status }
    }

    /// The caller is not authenticated.
    pub fn unauthorized() -> Status {
        Status::failure(StatusReason::Unauthorized, "Unauthorized")
    }

    /// The requested resource version is too old.
    pub fn expired(message: impl Into<String>) -> Status {
        Status::failure(StatusReason::Expired, message)
    }

    /// The client sends too many requests and may retry later.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: i32) -> Status {
        let details = StatusDetails { retry_after_seconds, ..StatusDetails::default() };
        let status = Status::failure(StatusReason::TooManyRequests, message);
        Status { details: Some(Box::new(details)), ..status }
    }
}

/// Converts field errors to causes and drops duplicates.
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
    fn every_reason_parses_from_its_text() {
        for reason in StatusReason::ALL {
            assert_eq!(StatusReason::parse(reason.as_str()), reason);
        }
        assert_eq!(StatusReason::parse("Novel"), StatusReason::Unknown);
    }

    #[test]
    fn messages_equal_those_of_kubernetes() {
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
