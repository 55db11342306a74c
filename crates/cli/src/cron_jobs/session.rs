//! A connection to the cluster of a command: finds it, and reads objects and lists.

use http::Request;
use punctual_api::{CronJob, CronJobKind};
use punctual_client::resources::{RUN_REQUESTS, ResourceType, cron_jobs_of};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::args::ConnectionArgs;
use super::target::with_kind;
use crate::cluster_client::{ClusterClient, connect_or_local, describe_error};

/// The user agent, which the server uses as field manager.
const AGENT: &str = "punctual-cli";
/// How many objects a list reads at a time.
const PAGE_SIZE: usize = 500;
/// The group of our own kinds.
const OWN_GROUP_VERSION: &str = "punctual.dev/v1";

/// A connection to a cluster.
pub(super) struct Session {
    pub(super) cluster: ClusterClient,
    /// The namespace of objects that are named.
    pub(super) namespace: String,
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
#[serde(default)]
struct PageMeta {
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

/// The objects of a list.
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    /// Whether no objects were left out.
    pub(super) is_complete: bool,
}

impl Session {
    pub(super) async fn connect(args: &ConnectionArgs) -> anyhow::Result<Session> {
        let cluster = connect_or_local(&args.cluster, args.data_dir.as_deref(), AGENT).await?;
        let namespace = args.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| cluster.client.default_namespace().to_owned());
        let own_resources = served_resources(&cluster).await?;
        Ok(Session { cluster, namespace, own_resources })
    }

    /// Uses a client that is connected already.
    pub(super) async fn with_client(client: kube::Client, url: &str) -> anyhow::Result<Session> {
        let namespace = client.default_namespace().to_owned();
        let cluster = ClusterClient { client, url: url.to_owned() };
        let own_resources = served_resources(&cluster).await?;
        Ok(Session { cluster, namespace, own_resources })
    }

    pub(super) fn url(&self) -> &str {
        &self.cluster.url
    }

    pub(super) fn serves_scheduled_jobs(&self) -> bool {
        self.own_resources.iter().any(|name| name == CronJobKind::ScheduledJob.plural())
    }

    pub(super) fn serves_slot_records(&self) -> bool {
        self.own_resources.iter().any(|name| name == "slotrecords")
    }

    pub(super) fn serves_run_requests(&self) -> bool {
        self.own_resources.iter().any(|name| name == RUN_REQUESTS.plural)
    }

    /// Returns the kinds of CronJobs that the cluster serves.
    pub(super) fn kinds(&self) -> Vec<CronJobKind> {
        let mut kinds = vec![CronJobKind::BatchV1];
        if self.serves_scheduled_jobs() {
            kinds.push(CronJobKind::ScheduledJob);
        }
        kinds
    }

    /// Whether the cluster is `punctual up` or `punctual serve`.
    pub(super) async fn is_own_server(&self) -> anyhow::Result<bool> {
        let version = self.cluster.call(self.cluster.client.apiserver_version()).await?;
        Ok(version.git_version.contains("punctual"))
    }

    /// Reads an object; `None` if it does not exist.
    pub(super) async fn get_optional<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> anyhow::Result<Option<T>> {
        let request = Request::get(path).body(Vec::new())?;
        match self.cluster.wait(self.cluster.client.request(request)).await? {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(describe_error(error)),
        }
    }

    /// Sends a request with a body and returns the response.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        request: Request<Vec<u8>>,
    ) -> anyhow::Result<kube::Result<T>> {
        self.cluster.wait(self.cluster.client.request(request)).await
    }

    /// Creates an object and returns it as the server stores it.
    pub(super) async fn create<T: DeserializeOwned>(
        &self,
        resource: &ResourceType,
        namespace: &str,
        object: &Value,
    ) -> anyhow::Result<T> {
        let request = Request::post(resource.collection_path(namespace))
            .header("Content-Type", "application/json")
            .body(object.to_string().into_bytes())?;
        self.send(request).await?.map_err(describe_error)
    }

    /// Reads at most `limit` objects of a list, page by page. `query` is the part of the URL after the limit.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &str,
        limit: usize,
    ) -> anyhow::Result<Listed<T>> {
        let mut items: Vec<T> = Vec::new();
        let mut token = String::new();
        loop {
            let size = PAGE_SIZE.min(limit - items.len());
            let uri = format!("{path}?limit={size}{query}{token}");
            let request = Request::get(uri).body(Vec::new())?;
            let page: Page<T> = self.cluster.call(self.cluster.client.request(request)).await?;
            items.extend(page.items);
            let next = page.metadata.continue_token.filter(|token| !token.is_empty());
            let is_complete = next.is_none();
            if is_complete || items.len() >= limit {
                return Ok(Listed { items, is_complete });
            }
            token = format!("&continue={}", encode(&next.unwrap_or_default()));
        }
    }

    /// Reads the CronJobs of a kind. An empty namespace means all.
    pub(super) async fn list_cron_jobs(
        &self,
        kind: CronJobKind,
        namespace: &str,
        selector: Option<&str>,
    ) -> anyhow::Result<Listed<CronJob>> {
        let path = cron_jobs_of(kind).collection_path(namespace);
        let mut listed: Listed<CronJob> =
            self.list(&path, &selector_query(selector), usize::MAX).await?;
        listed.items = listed.items.into_iter().map(|it| with_kind(it, kind)).collect();
        Ok(listed)
    }

    /// Reads all objects of a resource type in a namespace.
    pub(super) async fn list_all<T: DeserializeOwned>(
        &self,
        resource: &ResourceType,
        namespace: &str,
        query: &str,
    ) -> anyhow::Result<Vec<T>> {
        let path = resource.collection_path(namespace);
        Ok(self.list(&path, query, usize::MAX).await?.items)
    }
}

/// Returns the query parameter of a label selector.
pub(super) fn selector_query(selector: Option<&str>) -> String {
    selector.map_or_else(String::new, |selector| format!("&labelSelector={}", encode(selector)))
}

/// Returns the resources of our own group; none if the cluster does not serve the group.
async fn served_resources(cluster: &ClusterClient) -> anyhow::Result<Vec<String>> {
    let request = cluster.client.list_api_group_resources(OWN_GROUP_VERSION);
    match cluster.wait(request).await? {
        Ok(list) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(describe_error(error)),
    }
}

/// Encodes a text as the value of a query parameter.
pub(super) fn encode(text: &str) -> String {
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
