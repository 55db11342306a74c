//! The kinds that can own and be owned, and where they are found.

/// A kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) is_namespaced: bool,
}

const fn namespaced(group: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version: "v1", kind, plural, is_namespaced: true }
}

/// Namespaces.
pub(crate) static NAMESPACE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Namespace",
    plural: "namespaces",
    is_namespaced: false,
};

/// Everything that is watched. Events own nothing and are owned by nothing.
pub(crate) static WATCHED: [&Kind; 10] = [
    &namespaced("", "ConfigMap", "configmaps"),
    &namespaced("", "Pod", "pods"),
    &namespaced("", "Secret", "secrets"),
    &namespaced("", "ServiceAccount", "serviceaccounts"),
    &namespaced("batch", "CronJob", "cronjobs"),
    &namespaced("batch", "Job", "jobs"),
    &namespaced("coordination.k8s.io", "Lease", "leases"),
    &namespaced("punctual.dev", "ScheduledJob", "scheduledjobs"),
    &NAMESPACE,
    &Kind { group: "", version: "v1", kind: "Node", plural: "nodes", is_namespaced: false },
];

/// Events, which only have to go with their namespace.
pub(crate) static EVENT: Kind = namespaced("", "Event", "events");

impl Kind {
    /// The kind that an owner reference names, if it is one of ours. Versions do not matter.
    pub(crate) fn of(api_version: &str, kind: &str) -> Option<&'static Kind> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        WATCHED.into_iter().find(|known| known.group == group && known.kind == kind)
    }

    /// Group and version.
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The path of all objects, or of those in a namespace.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        let (api_version, plural) = (self.api_version(), self.plural);
        let root = match self.group {
            "" => format!("/api/{api_version}"),
            _ => format!("/apis/{api_version}"),
        };
        match namespace {
            "" => format!("{root}/{plural}"),
            namespace => format!("{root}/namespaces/{namespace}/{plural}"),
        }
    }

    /// The path of an object.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
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

    /// A kind that is served and not watched would be forgotten by everybody.
    #[tokio::test]
    async fn every_kind_that_is_stored_is_watched() {
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
                        let is_stored =
                            resource["verbs"].as_array().unwrap().contains(&"list".into());
                        let kind = resource["responseKind"]["kind"].as_str().unwrap().to_owned();
                        let is_namespaced = resource["scope"] == "Namespaced";
                        served.extend(is_stored.then_some((kind, is_namespaced)));
                    }
                }
            }
        }
        let watched = WATCHED.into_iter().chain([&EVENT]);
        let watched = watched.map(|kind| (kind.kind.to_owned(), kind.is_namespaced));
        assert_eq!(served, watched.collect());
    }
}
