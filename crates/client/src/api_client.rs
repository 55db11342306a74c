//! Sends requests to the Kubernetes API, each with a deadline, and writes only while the fence is
//! open.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api_error::ApiError;
use crate::fence::Fence;

/// The default deadline of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// Counts the failures of a client. `()` counts nothing.
pub trait ClientMetrics: Send + Sync {
    /// A call with this HTTP method failed with a status code, or without a response.
    fn call_failed(&self, method: &str, code: Option<u16>);

    /// A number of Events were dropped without being written.
    fn events_dropped(&self, count: u64);
}

impl ClientMetrics for () {
    fn call_failed(&self, _method: &str, _code: Option<u16>) {}

    fn events_dropped(&self, _count: u64) {}
}

/// A strategic merge patch that removes a finalizer from the object with this UID.
pub fn remove_finalizer_patch(uid: &str, finalizer: &str) -> Value {
    json!({"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": [finalizer]}})
}

/// The part of any object that holds its UID.
#[derive(Deserialize)]
struct ObjectWithUid {
    metadata: MetadataWithUid,
}

#[derive(Deserialize)]
struct MetadataWithUid {
    uid: String,
}

/// A client of the API. Each call has a deadline, failed calls are counted, and writes are sent only
/// while the fence is open.
#[derive(Clone)]
pub struct ApiClient {
    client: Client,
    metrics: Arc<dyn ClientMetrics>,
    fence: Fence,
    call_timeout: Duration,
}

impl ApiClient {
    /// A client without a fence, with the default deadline.
    pub fn new(client: Client, metrics: Arc<dyn ClientMetrics>) -> ApiClient {
        ApiClient { client, metrics, fence: Fence::always_open(), call_timeout: CALL_TIMEOUT }
    }

    /// The same client, which sends writes only while the fence is open.
    pub fn with_fence(self, fence: Fence) -> ApiClient {
        ApiClient { fence, ..self }
    }

    /// The same client with another deadline for each call.
    pub fn with_call_timeout(self, call_timeout: Duration) -> ApiClient {
        ApiClient { call_timeout, ..self }
    }

    pub(crate) fn metrics(&self) -> &Arc<dyn ClientMetrics> {
        &self.metrics
    }

    /// Reads the object at a path.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.send(Method::GET, path, None).await
    }

    /// Reads the object at a path; `None` if it does not exist.
    pub async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, ApiError> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the object at a path has this UID.
    pub async fn exists(&self, path: &str, uid: &str) -> Result<bool, ApiError> {
        let found = self.find::<ObjectWithUid>(path).await?;
        Ok(found.is_some_and(|found| found.metadata.uid == uid))
    }

    /// Turns the error of a delete or patch into `None` if the object with this UID no longer exists.
    ///
    /// A conflict alone is no proof of that, since any precondition can cause it: the object is read.
    pub async fn none_if_deleted<T>(
        &self,
        result: Result<T, ApiError>,
        path: &str,
        uid: &str,
    ) -> Result<Option<T>, ApiError> {
        match result {
            Ok(response) => Ok(Some(response)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) if error.is_conflict() => {
                if self.exists(path, uid).await? {
                    Err(error)
                } else {
                    Ok(None)
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Creates an object, given as JSON, in the collection at a path.
    pub async fn create<T: DeserializeOwned>(
        &self,
        path: &str,
        object: String,
    ) -> Result<T, ApiError> {
        self.send(Method::POST, path, Some((JSON, object))).await
    }

    /// Replaces the object or subresource at a path by this JSON.
    pub async fn replace<T: DeserializeOwned>(
        &self,
        path: &str,
        object: String,
    ) -> Result<T, ApiError> {
        self.send(Method::PUT, path, Some((JSON, object))).await
    }

    /// Changes an object by a strategic merge patch. A UID in the patch is a precondition.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        patch: &Value,
    ) -> Result<T, ApiError> {
        self.send(Method::PATCH, path, Some((STRATEGIC_MERGE_PATCH, patch.to_string()))).await
    }

    /// Changes an object by a JSON merge patch, which every kind supports. UID and resourceVersion in
    /// the patch are preconditions.
    pub async fn merge_patch<T: DeserializeOwned>(
        &self,
        path: &str,
        patch: &Value,
    ) -> Result<T, ApiError> {
        self.send(Method::PATCH, path, Some((MERGE_PATCH, patch.to_string()))).await
    }

    /// Deletes an object with preconditions, such as its UID.
    pub async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        propagation: &str,
        preconditions: &Value,
    ) -> Result<T, ApiError> {
        let options = json!({"propagationPolicy": propagation, "preconditions": preconditions});
        self.delete_with_options(path, options).await
    }

    /// Deletes an object with any fields of `DeleteOptions`.
    pub async fn delete_with_options<T: DeserializeOwned>(
        &self,
        path: &str,
        mut options: Value,
    ) -> Result<T, ApiError> {
        if let Some(fields) = options.as_object_mut() {
            fields.insert("kind".to_owned(), "DeleteOptions".into());
            fields.insert("apiVersion".to_owned(), "v1".into());
        }
        self.send(Method::DELETE, path, Some((JSON, options.to_string()))).await
    }

    /// Sends a request, perhaps with a content type and a body, and parses the response.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content: Option<(&str, String)>,
    ) -> Result<T, ApiError> {
        let verb = method.clone();
        let result = self.exchange(method, path, content).await;
        match &result {
            // A missing object is an ordinary result.
            Ok(_) | Err(ApiError::Status { code: 404, .. } | ApiError::NotLeading) => {}
            Err(ApiError::Status { code, .. }) => {
                self.metrics.call_failed(verb.as_str(), Some(*code));
            }
            Err(ApiError::UnknownOutcome(_)) => self.metrics.call_failed(verb.as_str(), None),
        }
        result
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content: Option<(&str, String)>,
    ) -> Result<T, ApiError> {
        let is_read = method == Method::GET;
        let mut request = Request::builder().method(method).uri(path);
        let mut body = Vec::new();
        if let Some((content_type, text)) = content {
            request = request.header("Content-Type", content_type);
            body = text.into_bytes();
        }
        let request =
            request.body(body).map_err(|error| ApiError::UnknownOutcome(error.to_string()))?;
        // The fence is checked last, immediately before the request is sent.
        let timeout = if is_read {
            self.call_timeout
        } else {
            self.fence.call_budget(self.call_timeout).ok_or(ApiError::NotLeading)?
        };
        match tokio::time::timeout(timeout, self.client.request(request)).await {
            Ok(response) => Ok(response?),
            Err(_) => Err(ApiError::UnknownOutcome("no answer in time".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
