//! The kinds of objects that the garbage collector watches and deletes.

use punctual_client::ResourceType;
use punctual_client::resources::{
    CONFIG_MAPS, CRON_JOBS, EVENTS, JOBS, LEASES, NAMESPACES, NODES, PODS, RESOURCE_QUOTAS,
    RUN_REQUESTS, SCHEDULED_JOBS, SECRETS, SERVICE_ACCOUNTS,
};

/// The watched kinds. Events own nothing and are owned by nothing.
pub(crate) static WATCHED: [&ResourceType; 12] = [
    &CONFIG_MAPS,
    &PODS,
    &RESOURCE_QUOTAS,
    &SECRETS,
    &SERVICE_ACCOUNTS,
    &CRON_JOBS,
    &JOBS,
    &LEASES,
    &RUN_REQUESTS,
    &SCHEDULED_JOBS,
    &NAMESPACES,
    &NODES,
];

/// The namespaced kinds, including Events, which are only deleted with their namespace.
pub(crate) fn namespaced_kinds() -> impl Iterator<Item = &'static ResourceType> {
    WATCHED.into_iter().chain([&EVENTS]).filter(|kind| kind.is_namespaced)
}

/// The watched kind that an owner reference names. The version does not matter.
pub(crate) fn find_kind(api_version: &str, kind: &str) -> Option<&'static ResourceType> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    WATCHED.into_iter().find(|watched| watched.group == group && watched.kind == kind)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Request;
    use kube::Client;
    use punctual_server::{ADMIN_GROUP, Config, Server, User};
    use punctual_store::{Options, Store};
    use serde_json::Value;

    use super::*;

    /// A kind that is served but not watched would never be garbage-collected.
    #[tokio::test]
    async fn every_served_kind_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(Config::new(store)).await.unwrap();
        let client = Client::new(server.local_router(User::new("test", ADMIN_GROUP)), "default");
        let mut served = BTreeSet::new();
        for path in ["/api", "/apis"] {
            let request = Request::get(path).header(
                "Accept",
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            );
            let groups: Value = client.request(request.body(Vec::new()).unwrap()).await.unwrap();
            for group in groups["items"].as_array().unwrap() {
                for version in group["versions"].as_array().unwrap() {
                    for resource in version["resources"].as_array().unwrap() {
                        let is_collected =
                            resource["verbs"].as_array().unwrap().contains(&"delete".into());
                        let kind = resource["responseKind"]["kind"].as_str().unwrap().to_owned();
                        let is_namespaced = resource["scope"] == "Namespaced";
                        served.extend(is_collected.then_some((kind, is_namespaced)));
                    }
                }
            }
        }
        let watched = WATCHED.into_iter().chain([&EVENTS]);
        let watched = watched.map(|kind| (kind.kind.to_owned(), kind.is_namespaced));
        assert_eq!(served, watched.collect());
    }
}
