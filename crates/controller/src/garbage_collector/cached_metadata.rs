//! The metadata of an object that the garbage collector parses.

use punctual_api::Time;
use punctual_api::meta::OwnerReference;
use punctual_client::{CachedFields, ResourceType};
use serde::Deserialize;

use super::graph::{FOREGROUND_FINALIZER, GraphNode, ORPHAN_FINALIZER, OwnerRef, Uid};

/// An object of any kind. Only its metadata is parsed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CachedMetadata {
    metadata: OwnershipFields,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OwnershipFields {
    name: String,
    namespace: String,
    uid: String,
    deletion_timestamp: Option<Time>,
    finalizers: Vec<String>,
    owner_references: Vec<OwnerReference>,
}

impl CachedFields for CachedMetadata {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl CachedMetadata {
    pub(super) fn into_node(self, kind: &'static ResourceType) -> (Uid, GraphNode) {
        let metadata = self.metadata;
        let has_finalizer =
            |finalizer: &str| metadata.finalizers.iter().any(|name| name == finalizer);
        let node = GraphNode {
            kind,
            is_deleting: metadata.deletion_timestamp.is_some(),
            has_orphan_finalizer: has_finalizer(ORPHAN_FINALIZER),
            has_foreground_finalizer: has_finalizer(FOREGROUND_FINALIZER),
            namespace: metadata.namespace,
            name: metadata.name,
            owners: metadata.owner_references.into_iter().map(owner_ref).collect(),
        };
        (metadata.uid.into(), node)
    }
}

fn owner_ref(reference: OwnerReference) -> OwnerRef {
    OwnerRef {
        uid: reference.uid.into(),
        api_version: reference.api_version,
        kind: reference.kind,
        name: reference.name,
        blocks_owner_deletion: reference.block_owner_deletion == Some(true),
    }
}
