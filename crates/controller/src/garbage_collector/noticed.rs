//! What is read of any object: its metadata, and of that what the graph needs.

use punctual_api::Time;
use punctual_api::meta::OwnerReference;
use punctual_client::{CachedFields, ResourceType};
use serde::Deserialize;

use super::graph::{FOREGROUND, Node, ORPHAN, Owner, Uid};

/// An object in a watch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Noticed {
    metadata: Meta,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    name: String,
    namespace: String,
    uid: String,
    deletion_timestamp: Option<Time>,
    finalizers: Vec<String>,
    owner_references: Vec<OwnerReference>,
}

impl CachedFields for Noticed {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl Noticed {
    /// The object as a node of the graph.
    pub(super) fn node(self, kind: &'static ResourceType) -> (Uid, Node) {
        let Meta { name, namespace, uid, deletion_timestamp, finalizers, owner_references } =
            self.metadata;
        let has = |finalizer: &str| finalizers.iter().any(|name| name == finalizer);
        let node = Node {
            kind,
            namespace,
            name,
            is_deleting: deletion_timestamp.is_some(),
            orphans: has(ORPHAN),
            waits_for_dependents: has(FOREGROUND),
            owners: owner_references.into_iter().map(owner).collect(),
        };
        (uid.into(), node)
    }
}

fn owner(reference: OwnerReference) -> Owner {
    Owner {
        uid: reference.uid.into(),
        api_version: reference.api_version,
        kind: reference.kind,
        name: reference.name,
        blocks: reference.block_owner_deletion == Some(true),
    }
}
