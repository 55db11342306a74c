//! Calls of the API as plain requests, each with an end.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use punctual_queue::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fence::Fence;
use crate::metrics::Metrics;

/// A call that takes longer is given up; nobody knows then what came of it.
const CALL_MAX: Duration = Duration::from_secs(30);

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// How an API server says that there is no such object.
const NOT_FOUND: &str = "NotFound";

/// Why a call did not succeed.
#[derive(Clone, Debug)]
pub(crate) enum Refused {
    /// The server said so.
    Said {
        code: u16,
        /// Its words.
        message: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// Nobody knows.
    Unknown(String),
    /// It was not sent: another may lead.
    NotLeading,
}

impl Refused {
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Refused::Said { code: 404, .. })
    }

    /// The object is not the one that was meant any more, or is there already.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Refused::Said { code: 409, .. })
    }

    /// What was seen is not so any more: it is gone, or has changed, or is another by now. It has to be
    /// looked at again.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_not_found() || self.is_conflict()
    }

    /// Whether it will be refused again, until somebody changes something.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Refused::Said { code: code @ 400..500, .. }
            if !matches!(code, 401 | 404 | 409 | 429))
    }

    /// Whether it may have happened all the same: the answer was lost, or the server speaks of
    /// trouble of its own, which may have come after the deed.
    pub(crate) fn is_doubtful(&self) -> bool {
        match self {
            Refused::Said { code, .. } => *code >= 500,
            Refused::Unknown(_) => true,
            Refused::NotLeading => false,
        }
    }

    /// What was refused because the namespace is going.
    pub(crate) fn is_namespace_terminating(&self) -> bool {
        matches!(self, Refused::Said { code: 403, message, .. }
            if message.contains("because it is being terminated"))
    }

    /// The words, for people.
    pub(crate) fn message(&self) -> &str {
        match self {
            Refused::Said { message, .. } | Refused::Unknown(message) => message,
            Refused::NotLeading => "another may lead",
        }
    }

    /// The failure of whoever has nothing better to do than to try again.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Refused::Said { retry_after, code, .. } => {
                // The next try may well succeed; what is forbidden stays so.
                let is_passing = *code >= 500 || matches!(code, 409 | 429);
                Failure { retry_after: *retry_after, is_passing, ..Failure::default() }
            }
            Refused::Unknown(_) => Failure { is_passing: true, ..Failure::default() },
            Refused::NotLeading => Failure::default(),
        }
    }
}

impl From<kube::Error> for Refused {
    fn from(error: kube::Error) -> Refused {
        let status = match error {
            kube::Error::Api(status) => status,
            other => return Refused::Unknown(other.to_string()),
        };
        // One without those words is of something in between, such as a gateway that does not know its way.
        if status.code == 404 && status.reason != NOT_FOUND {
            return Refused::Unknown(format!("404: {}", status.message));
        }
        let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        Refused::Said {
            code: status.code,
            message: status.message.clone(),
            retry_after: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        tracing::warn!(why = refused.message(), "a call failed");
        refused.failure()
    }
}

/// A patch that takes a finalizer from the object with this UID.
pub(crate) fn without_finalizer(uid: &str, finalizer: &str) -> Value {
    json!({"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": [finalizer]}})
}

/// What is read of an object to know which one it is.
#[derive(Deserialize)]
struct Identified {
    metadata: Identity,
}

#[derive(Deserialize)]
struct Identity {
    uid: String,
}

/// The API, as controllers call it: each call has an end, and the failed ones are counted.
#[derive(Clone)]
pub(crate) struct Calls {
    client: Client,
    metrics: Metrics,
    fence: Fence,
    call_max: Duration,
}

impl Calls {
    pub(crate) fn new(client: Client, metrics: Metrics) -> Calls {
        Calls { client, metrics, fence: Fence::open(), call_max: CALL_MAX }
    }

    /// Calls that change something only while a fence lets them.
    pub(crate) fn behind(self, fence: Fence) -> Calls {
        Calls { fence, ..self }
    }

    /// Calls that take no longer than this.
    pub(crate) fn within(self, call_max: Duration) -> Calls {
        Calls { call_max, ..self }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Refused> {
        self.send(Method::GET, path, None).await
    }

    /// The object at a path, if there is one.
    pub(crate) async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Refused> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(refused) if refused.is_not_found() => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    /// Whether the object with this UID is at a path.
    pub(crate) async fn is_there(&self, path: &str, uid: &str) -> Result<bool, Refused> {
        let found = self.find::<Identified>(path).await?;
        Ok(found.is_some_and(|found| found.metadata.uid == uid))
    }

    /// What an answer means to whoever wanted the object with this UID gone, or changed: none, if there is
    /// no such object any more. A conflict is not taken for that, since it can be about anything.
    pub(crate) async fn unless_gone<T>(
        &self,
        answer: Result<T, Refused>,
        path: &str,
        uid: &str,
    ) -> Result<Option<T>, Refused> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(refused) if refused.is_not_found() => Ok(None),
            Err(refused) if refused.is_conflict() => {
                if self.is_there(path, uid).await? {
                    Err(refused)
                } else {
                    Ok(None)
                }
            }
            Err(refused) => Err(refused),
        }
    }

    /// Creates an object of this text in a collection.
    pub(crate) async fn create<T: DeserializeOwned>(
        &self,
        path: &str,
        object: String,
    ) -> Result<T, Refused> {
        self.send(Method::POST, path, Some((JSON, object))).await
    }

    /// Replaces an object, or its status, by this text.
    pub(crate) async fn replace<T: DeserializeOwned>(
        &self,
        path: &str,
        object: String,
    ) -> Result<T, Refused> {
        self.send(Method::PUT, path, Some((JSON, object))).await
    }

    /// Changes an object by a strategic merge patch. A UID in it is a condition.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        patch: &Value,
    ) -> Result<T, Refused> {
        self.send(Method::PATCH, path, Some((STRATEGIC, patch.to_string()))).await
    }

    /// Changes an object of any kind by a merge patch. UID and version in it are conditions.
    pub(crate) async fn merge<T: DeserializeOwned>(
        &self,
        path: &str,
        patch: &Value,
    ) -> Result<T, Refused> {
        self.send(Method::PATCH, path, Some((MERGE, patch.to_string()))).await
    }

    /// Deletes an object under conditions: its UID, perhaps its version.
    pub(crate) async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        propagation: &str,
        preconditions: &Value,
    ) -> Result<T, Refused> {
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation,
            "preconditions": preconditions,
        });
        self.send(Method::DELETE, path, Some((JSON, options.to_string()))).await
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content: Option<(&str, String)>,
    ) -> Result<T, Refused> {
        let verb = method.clone();
        let answer = self.exchange(method, path, content).await;
        if let Err(refused) = &answer {
            match refused {
                // That something is gone is an answer like any other.
                Refused::Said { code: 404, .. } | Refused::NotLeading => {}
                Refused::Said { code, .. } => self.metrics.call_failed(verb.as_str(), *code),
                Refused::Unknown(_) => self.metrics.call_failed(verb.as_str(), 0),
            }
        }
        answer
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content: Option<(&str, String)>,
    ) -> Result<T, Refused> {
        let is_harmless = method == Method::GET;
        let mut request = Request::builder().method(method).uri(path);
        let mut body = Vec::new();
        if let Some((content_type, text)) = content {
            request = request.header("Content-Type", content_type);
            body = text.into_bytes();
        }
        let request = request.body(body).map_err(|why| Refused::Unknown(why.to_string()))?;
        // The last look before it is on its way.
        let call_max = match is_harmless {
            true => self.call_max,
            false => self.fence.patience(self.call_max).ok_or(Refused::NotLeading)?,
        };
        match tokio::time::timeout(call_max, self.client.request(request)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Refused::Unknown("no answer in time".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
