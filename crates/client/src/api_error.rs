//! The error of an API call: the response of the server, or why there was none.

use std::time::Duration;

use punctual_queue::Failure;

use crate::error_chain::error_chain;

/// The `reason` of an API server's response to a request for an object that does not exist.
const NOT_FOUND: &str = "NotFound";

const NOT_LEADING: &str = "not sent: this process is not the leader";

/// Why a call did not succeed.
///
/// The text is the server's message where there is one, so that it can be shown in an Event or a
/// condition as Kubernetes shows it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// The server answered with an error.
    #[error("{message}")]
    Status {
        /// The HTTP status code.
        code: u16,
        /// The server's message.
        message: String,
        /// The delay that the server asks for before the next try.
        retry_after: Option<Duration>,
    },
    /// There was no usable response: the call may have taken effect or not.
    #[error("{0}")]
    UnknownOutcome(String),
    /// The call was not sent, because this process is not the leader.
    #[error("{NOT_LEADING}")]
    NotLeading,
}

impl ApiError {
    /// Whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, ApiError::Status { code: 404, .. })
    }

    /// Whether a precondition does not hold, or the object exists already.
    pub fn is_conflict(&self) -> bool {
        matches!(self, ApiError::Status { code: 409, .. })
    }

    /// Whether the caller acted on a stale object: it was deleted, changed or replaced. The caller
    /// must read it again.
    pub fn is_stale(&self) -> bool {
        self.is_not_found() || self.is_conflict()
    }

    /// Whether the same call fails again until a user changes the object or the permissions.
    pub fn is_permanent(&self) -> bool {
        matches!(self, ApiError::Status { code: code @ 400..500, .. }
            if !matches!(code, 401 | 404 | 409 | 429))
    }

    /// Whether the call may have taken effect: the response was lost, or the server failed, perhaps
    /// after it stored the change.
    pub fn is_unconfirmed(&self) -> bool {
        match self {
            ApiError::Status { code, .. } => *code >= 500,
            ApiError::UnknownOutcome(_) => true,
            ApiError::NotLeading => false,
        }
    }

    /// Whether the server refused the call because the namespace is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        matches!(self, ApiError::Status { code: 403, message, .. }
            if message.contains("because it is being terminated"))
    }

    /// The text of the error.
    pub fn message(&self) -> &str {
        match self {
            ApiError::Status { message, .. } | ApiError::UnknownOutcome(message) => message,
            ApiError::NotLeading => NOT_LEADING,
        }
    }

    /// The delay that the server asks for before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ApiError::Status { retry_after, .. } => *retry_after,
            ApiError::UnknownOutcome(_) | ApiError::NotLeading => None,
        }
    }

    /// The failure to report to a work queue when the only remedy is to try again.
    pub fn to_failure(&self) -> Failure {
        let is_transient = match self {
            ApiError::Status { code, .. } => *code >= 500 || matches!(code, 409 | 429),
            ApiError::UnknownOutcome(_) => true,
            ApiError::NotLeading => false,
        };
        Failure { retry_after: self.retry_after(), is_transient, ..Failure::default() }
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> ApiError {
        let status = match error {
            kube::Error::Api(status) => status,
            // The text of this one begins with a word that means nothing to users.
            kube::Error::Service(cause) => {
                return ApiError::UnknownOutcome(error_chain(&*cause));
            }
            other => return ApiError::UnknownOutcome(error_chain(&other)),
        };
        // A 404 without this reason comes from a proxy or gateway and says nothing about the object.
        if status.code == 404 && status.reason != NOT_FOUND {
            return ApiError::UnknownOutcome(format!("404: {}", status.message));
        }
        let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        ApiError::Status {
            code: status.code,
            message: status.message.clone(),
            retry_after: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
        }
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> ApiError {
        ApiError::UnknownOutcome(error.to_string())
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        // A conflict is normal: another controller changed the object first.
        if error.is_conflict() {
            tracing::debug!(%error, "API call failed; retrying");
        } else {
            tracing::warn!(%error, "API call failed; retrying");
        }
        error.to_failure()
    }
}
