//! Calls of the API as plain requests, each with an end.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use punctual_queue::Failure;
use serde_json::Value;

/// A call that takes longer is given up; nobody knows then what came of it.
const CALL_MAX: Duration = Duration::from_secs(30);

/// Why a call did not succeed.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The server said so: its code and words.
    Said { code: u16, message: String },
    /// Nobody knows.
    Unknown(String),
}

impl Refused {
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Refused::Said { code: 404, .. })
    }

    /// The object is not the one that was meant any more.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Refused::Said { code: 409, .. })
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        match refused {
            Refused::Said { code, message } => tracing::warn!(code, message, "a call was refused"),
            Refused::Unknown(why) => tracing::warn!(why, "a call failed"),
        }
        Failure::default()
    }
}

/// Sends a request and reads its answer.
pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content: Option<(&str, &Value)>,
) -> Result<Value, Refused> {
    let mut request = Request::builder().method(method).uri(path);
    let mut body = Vec::new();
    if let Some((content_type, value)) = content {
        request = request.header("Content-Type", content_type);
        body = value.to_string().into_bytes();
    }
    let request = request.body(body).map_err(|why| Refused::Unknown(why.to_string()))?;
    match tokio::time::timeout(CALL_MAX, client.request(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(Refused::Said { code: status.code, message: status.message.clone() })
        }
        Ok(Err(error)) => Err(Refused::Unknown(error.to_string())),
        Err(_) => Err(Refused::Unknown("no answer in time".to_owned())),
    }
}
