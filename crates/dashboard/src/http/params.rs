//! The parameters of a query string or a form.

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use jiff::Timestamp;
use jiff::civil::DateTime;
use punctual_schedule::Zone;

use super::render::PageError;
use crate::data::ActionError;
use crate::ui::YAML_LEN_MAX;

/// The largest body: a YAML in its encoded form.
const BODY_LEN_MAX: usize = 3 * YAML_LEN_MAX + 64 * 1024;
/// How long a body may take to arrive.
const BODY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
/// The most parameters.
const PARAMS_MAX: usize = 2_000;

/// What a user has entered cannot be used. The text says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct InputError(pub(super) String);

impl InputError {
    pub(super) fn new(text: &str) -> InputError {
        InputError(text.to_owned())
    }
}

impl From<InputError> for ActionError {
    fn from(error: InputError) -> ActionError {
        ActionError::Input(error.0)
    }
}

impl From<InputError> for PageError {
    fn from(error: InputError) -> PageError {
        PageError::invalid(error.0)
    }
}

/// The parameters of a query string or a form.
#[derive(Clone, Debug, Default)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    fn parse(text: &[u8]) -> Params {
        Params(form_urlencoded::parse(text).into_owned().take(PARAMS_MAX).collect())
    }

    /// Returns a parameter; empty if it is absent.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.trim())
    }

    /// Returns a parameter as it was entered.
    pub(super) fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Returns all values of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns an instant: RFC 3339, or a local time of a zone. `None` if it is absent.
    pub(super) fn instant(&self, name: &str, zone: &Zone) -> Result<Option<Timestamp>, InputError> {
        parse_instant(self.get(name), zone)
    }
}

/// Parses an instant: RFC 3339, or a local time of a zone. An empty text is none.
pub(super) fn parse_instant(text: &str, zone: &Zone) -> Result<Option<Timestamp>, InputError> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(Some(instant));
    }
    let civil: DateTime = text
        .parse()
        .map_err(|_| InputError(format!("{text:?} is not a time; write 2026-01-31T08:00")))?;
    let zoned = civil.to_zoned(zone.time_zone().clone());
    zoned
        .map(|zoned| Some(zoned.timestamp()))
        .map_err(|_| InputError(format!("{text:?} is out of range")))
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Params, Self::Rejection> {
        Ok(Params::parse(parts.uri.query().unwrap_or_default().as_bytes()))
    }
}

/// Reads the body of a form, which is limited in size and time.
pub(super) async fn read_form(request: Request<Body>) -> Result<Params, Box<Response>> {
    let body = Limited::new(request.into_body(), BODY_LEN_MAX).collect();
    match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(Params::parse(&body.to_bytes())),
        Ok(Err(_)) => Err(Box::new(
            (StatusCode::PAYLOAD_TOO_LARGE, "The form is too large.\n").into_response(),
        )),
        Err(_) => Err(Box::new(
            (StatusCode::REQUEST_TIMEOUT, "The form did not arrive in time.\n").into_response(),
        )),
    }
}
