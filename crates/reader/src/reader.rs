//! Reads objects and lists from a cluster.

use std::time::Duration;

use http::Request;
use kube::Client;
use punctual_api::{CronJob, CronJobKind};
use punctual_client::resources::{RUN_REQUESTS, ResourceType, cron_jobs_of};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::error::ReadError;

/// The deadline of each request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How many objects a list reads at a time.
const PAGE_SIZE: usize = 500;
/// The group of our own kinds.
const OWN_GROUP_VERSION: &str = "punctual.dev/v1";

/// Reads objects and lists from a cluster.
#[derive(Clone)]
pub struct Reader {
    client: Client,
    url: String,
    /// The resources of our own group that the cluster serves.
    own_resources: Vec<String>,
}

/// A part of a list.
#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PageMeta {
    #[serde(rename = "continue")]
    continue_token: Option<String>,
    resource_version: String,
}

/// The objects of a list.
#[derive(Debug)]
pub struct Listed<T> {
    /// The objects.
    pub items: Vec<T>,
    /// Whether no objects were left out.
    pub is_complete: bool,
    /// Continues the list after these objects.
    pub continue_token: Option<String>,
    /// The state of the cluster that the list shows.
    pub resource_version: String,
}

impl Reader {
    /// Asks the cluster which of our own resources it serves. `url` names the cluster in errors.
    pub async fn connect(client: Client, url: String) -> Result<Reader, ReadError> {
        let mut reader = Reader { client, url, own_resources: Vec::new() };
        let request = reader.client.list_api_group_resources(OWN_GROUP_VERSION);
        reader.own_resources = match reader.wait(request).await? {
            Ok(list) => list.resources.into_iter().map(|resource| resource.name).collect(),
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(reader)
    }

    /// Returns the same reader with another client, such as that of another user.
    pub fn with_client(&self, client: Client) -> Reader {
        Reader { client, ..self.clone() }
    }

    /// Returns the client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the address of the cluster.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether the cluster serves a resource of our own group.
    pub fn serves(&self, plural: &str) -> bool {
        self.own_resources.iter().any(|name| name == plural)
    }

    /// Whether the cluster serves ScheduledJobs.
    pub fn serves_scheduled_jobs(&self) -> bool {
        self.serves(CronJobKind::ScheduledJob.plural())
    }

    /// Whether the cluster serves slot records.
    pub fn serves_slot_records(&self) -> bool {
        self.serves("slotrecords")
    }

    /// Whether the cluster serves RunRequests.
    pub fn serves_run_requests(&self) -> bool {
        self.serves(RUN_REQUESTS.plural)
    }

    /// Returns the kinds of CronJobs that the cluster serves.
    pub fn kinds(&self) -> Vec<CronJobKind> {
        let mut kinds = vec![CronJobKind::BatchV1];
        if self.serves_scheduled_jobs() {
            kinds.push(CronJobKind::ScheduledJob);
        }
        kinds
    }

    /// Whether the cluster is `punctual up` or `punctual serve`.
    pub async fn is_own_server(&self) -> Result<bool, ReadError> {
        let version = self.call(self.client.apiserver_version()).await?;
        Ok(version.git_version.contains("punctual"))
    }

    /// Waits for a response until the deadline.
    pub async fn wait<T>(
        &self,
        response: impl Future<Output = kube::Result<T>>,
    ) -> Result<kube::Result<T>, ReadError> {
        let response = timeout(REQUEST_TIMEOUT, response).await;
        response.map_err(|source| ReadError::NoAnswer { url: self.url.clone(), source })
    }

    /// Waits for a successful response until the deadline.
    pub async fn call<T>(
        &self,
        response: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, ReadError> {
        Ok(self.wait(response).await??)
    }

    /// Reads an object; `None` if it does not exist.
    pub async fn get_optional<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Option<T>, ReadError> {
        let request = Request::get(path).body(Vec::new())?;
        match self.send(request).await? {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a request with a body and returns the response.
    pub async fn send<T: DeserializeOwned>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<kube::Result<T>, ReadError> {
        self.wait(self.client.request(request)).await
    }

    /// Creates an object and returns it as the server stores it.
    pub async fn create<T: DeserializeOwned>(
        &self,
        resource: &ResourceType,
        namespace: &str,
        object: &Value,
    ) -> Result<T, ReadError> {
        let request = Request::post(resource.collection_path(namespace))
            .header("Content-Type", "application/json")
            .body(object.to_string().into_bytes())?;
        Ok(self.send(request).await??)
    }

    /// Reads one page of a list. `query` is the part of the URL after the limit.
    pub async fn list_page<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &str,
        limit: usize,
    ) -> Result<Listed<T>, ReadError> {
        let request = Request::get(format!("{path}?limit={limit}{query}")).body(Vec::new())?;
        let page: Page<T> = self.call(self.client.request(request)).await?;
        let continue_token = page.metadata.continue_token.filter(|token| !token.is_empty());
        Ok(Listed {
            items: page.items,
            is_complete: continue_token.is_none(),
            continue_token,
            resource_version: page.metadata.resource_version,
        })
    }

    /// Reads at most `limit` objects of a list, page by page. `query` is the part of the URL after the limit.
    pub async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &str,
        limit: usize,
    ) -> Result<Listed<T>, ReadError> {
        let mut items: Vec<T> = Vec::new();
        let mut token = String::new();
        loop {
            let size = PAGE_SIZE.min(limit - items.len());
            let page: Listed<T> = self.list_page(path, &format!("{query}{token}"), size).await?;
            items.extend(page.items);
            if page.is_complete || items.len() >= limit {
                return Ok(Listed { items, ..page });
            }
            token = format!("&continue={}", encode(&page.continue_token.unwrap_or_default()));
        }
    }

    /// Reads the CronJobs of a kind. An empty namespace means all.
    pub async fn list_cron_jobs(
        &self,
        kind: CronJobKind,
        namespace: &str,
        selector: Option<&str>,
    ) -> Result<Listed<CronJob>, ReadError> {
        let path = cron_jobs_of(kind).collection_path(namespace);
        let mut listed: Listed<CronJob> =
            self.list(&path, &selector_query(selector), usize::MAX).await?;
        listed.items = listed.items.into_iter().map(|it| with_kind(it, kind)).collect();
        Ok(listed)
    }

    /// Reads all objects of a resource type in a namespace.
    pub async fn list_all<T: DeserializeOwned>(
        &self,
        resource: &ResourceType,
        namespace: &str,
        query: &str,
    ) -> Result<Vec<T>, ReadError> {
        let path = resource.collection_path(namespace);
        Ok(self.list(&path, query, usize::MAX).await?.items)
    }
}

/// Sets the kind, which the items of a list do not have.
pub fn with_kind(mut cron_job: CronJob, kind: CronJobKind) -> CronJob {
    kind.api_version().clone_into(&mut cron_job.api_version);
    kind.kind().clone_into(&mut cron_job.kind);
    cron_job
}

/// Returns the query parameter of a label selector.
pub fn selector_query(selector: Option<&str>) -> String {
    selector.map_or_else(String::new, |selector| format!("&labelSelector={}", encode(selector)))
}

/// Encodes a text as the value of a query parameter.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #[test]
    fn selectors_are_encoded() {
        assert_eq!(super::encode("a=b,c!=d e&f"), "a%3Db%2Cc%21%3Dd%20e%26f");
    }
}
