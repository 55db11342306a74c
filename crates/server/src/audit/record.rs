//! One record of the audit log.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::AuditLevel;

/// Limits of the length of the fields in bytes.
const USER_LEN_MAX: usize = 256;
const URI_LEN_MAX: usize = 1024;
const USER_AGENT_LEN_MAX: usize = 256;

/// One line of the audit log.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditRecord {
    /// When the request arrived.
    #[serde(serialize_with = "serialize_text")]
    pub(crate) time: Timestamp,
    /// The authenticated user.
    pub(crate) user: String,
    /// Where the request comes from: the address of the client, or `in-process`.
    pub(crate) source: String,
    /// The Kubernetes verb.
    pub(crate) verb: &'static str,
    /// The path and the query.
    pub(crate) uri: String,
    /// The `User-Agent` that the client claims.
    pub(crate) user_agent: String,
    /// The result of authentication and authorization.
    pub(crate) decision: Decision,
    /// The status code of the response.
    pub(crate) code: u16,
    /// Microseconds from the request to the response.
    pub(crate) micros: u64,
    /// Whether the request is a health check, our own, or of a client. It decides about the level.
    #[serde(skip)]
    pub(crate) origin: RequestOrigin,
    /// Whether the request had valid credentials.
    #[serde(skip)]
    pub(crate) is_authenticated: bool,
    /// Whether the request is a self-subject review, which is posted and changes nothing.
    #[serde(skip)]
    pub(crate) is_review: bool,
}

/// The result of authentication and authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Decision {
    /// The user may make the request.
    Allow,
    /// The user may not make the request.
    Forbid,
    /// The credentials are invalid.
    Unauthenticated,
}

/// What made a request, as far as the level of the log depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    Client,
    HealthCheck,
    InProcess,
}

fn serialize_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

impl AuditRecord {
    /// Whether a log of this level includes the record.
    pub(super) fn is_included(&self, level: AuditLevel) -> bool {
        match level {
            AuditLevel::All => true,
            AuditLevel::Requests => self.origin == RequestOrigin::Client,
            AuditLevel::Writes => {
                let is_read = ["get", "list", "watch"].contains(&self.verb);
                self.origin == RequestOrigin::Client
                    && !(is_read && self.decision == Decision::Allow)
            }
        }
    }

    /// Whether the request may have changed something.
    pub(super) fn is_change(&self) -> bool {
        let is_read = ["get", "list", "watch"].contains(&self.verb);
        !is_read && !self.is_review && (200..300).contains(&self.code)
    }

    /// Returns the record with fields of bounded length.
    pub(super) fn bounded(mut self) -> AuditRecord {
        truncate(&mut self.user, USER_LEN_MAX);
        truncate(&mut self.uri, URI_LEN_MAX);
        truncate(&mut self.user_agent, USER_AGENT_LEN_MAX);
        self
    }
}

/// Shortens a text that is too long, and marks that.
fn truncate(text: &mut String, len_max: usize) {
    const MARK: &str = "...";
    if text.len() > len_max {
        let mut end = len_max - MARK.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(MARK);
        text.shrink_to_fit();
    }
}
