//! A list of Pods, as it comes in object by object.

use std::collections::HashSet;
use std::sync::Arc;

use kube::api::DynamicObject;
use punctual_api::Pod;

use super::{created_at, read};

/// What has come of a list.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Also of Pods that cannot be read: they are not run, but they are not gone either.
    uids: HashSet<String>,
    pods: Vec<Arc<Pod>>,
}

impl Listed {
    pub(super) fn add(&mut self, object: DynamicObject) {
        self.uids.extend(object.metadata.uid.clone());
        self.pods.extend(read(object));
    }

    pub(super) fn has(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }

    /// The Pods that can be read, the oldest first.
    pub(super) fn into_pods(mut self) -> Vec<Arc<Pod>> {
        self.pods.sort_by_key(|pod| (created_at(pod), pod.metadata.name.clone()));
        self.pods
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(uid: &str, created: &str, spec: Value) -> DynamicObject {
        let metadata = json!({"name": uid, "uid": uid, "creationTimestamp": created});
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_pod_that_cannot_be_read_is_on_the_list_all_the_same() {
        let mut listed = Listed::default();
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        listed.add(object("young", late, json!({"containers": []})));
        listed.add(object("odd", early, json!({"containers": "none"})));
        listed.add(object("old", early, json!({"containers": []})));
        assert!(listed.has("young") && listed.has("odd") && listed.has("old"));
        assert!(!listed.has("gone"));
        let pods = listed.into_pods();
        let names: Vec<&str> = pods.iter().map(|pod| &*pod.metadata.name).collect();
        assert_eq!(names, ["old", "young"]);
    }
}
