//! RunRequests as the watch shows them, indexed by the CronJob that they are for.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use punctual_api::{RunRequest, Time};
use punctual_client::resource_version::is_newer;

use super::key::CronJobName;

/// The position of a request among those for its target: the oldest comes first.
type RequestOrder = (Option<Time>, String);

/// The cached RunRequests.
#[derive(Default)]
pub(super) struct RequestIndex {
    by_target: HashMap<Arc<CronJobName>, BTreeMap<RequestOrder, Arc<RunRequest>>>,
    /// The targets and positions of requests by UID.
    positions: HashMap<String, (Arc<CronJobName>, RequestOrder)>,
}

impl RequestIndex {
    /// The requests for a CronJob, oldest first.
    pub(super) fn of_target(&self, target: &CronJobName) -> Vec<Arc<RunRequest>> {
        let requests = self.by_target.get(target);
        requests.map(|requests| requests.values().cloned().collect()).unwrap_or_default()
    }

    /// Whether there is a request for a CronJob.
    pub(super) fn has_target(&self, target: &CronJobName) -> bool {
        self.by_target.contains_key(target)
    }

    /// Applies a request. Returns its target, or `None` if the cached request is as new.
    pub(super) fn apply(&mut self, request: RunRequest) -> Option<Arc<CronJobName>> {
        let target = CronJobName::of_target(&request)?;
        let metadata = &request.metadata;
        let order = (metadata.creation_timestamp, metadata.name.clone());
        let requests = self.by_target.entry(target.clone()).or_default();
        let version = &metadata.resource_version;
        let is_stale = requests.get(&order).is_some_and(|cached| {
            cached.metadata.uid == metadata.uid
                && !is_newer(version, &cached.metadata.resource_version)
        });
        if is_stale {
            return None;
        }
        self.positions.insert(metadata.uid.clone(), (target.clone(), order.clone()));
        requests.insert(order, Arc::new(request));
        Some(target)
    }

    /// Applies a request from a response to one of our calls. It is ignored if the request is not cached: the watch
    /// may have shown already that it was deleted.
    pub(super) fn apply_response(&mut self, request: RunRequest) {
        if self.positions.contains_key(&request.metadata.uid) {
            self.apply(request);
        }
    }

    /// Removes a request. Returns its target.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Arc<CronJobName>> {
        let (target, order) = self.positions.remove(uid)?;
        if let Some(requests) = self.by_target.get_mut(&target) {
            // Another request of the same name may have taken the position.
            if requests.get(&order).is_some_and(|cached| cached.metadata.uid == uid) {
                requests.remove(&order);
            }
            if requests.is_empty() {
                self.by_target.remove(&target);
            }
        }
        Some(target)
    }

    /// Removes the requests of namespaces that are covered and not listed. Returns their targets, sorted.
    pub(super) fn retain(
        &mut self,
        listed: &HashSet<String>,
        covers: impl Fn(&str) -> bool,
    ) -> Vec<Arc<CronJobName>> {
        let is_gone = |(uid, (target, _)): &(&String, &(Arc<CronJobName>, RequestOrder))| {
            covers(&target.namespace) && !listed.contains(*uid)
        };
        let gone: Vec<String> =
            self.positions.iter().filter(is_gone).map(|(uid, _)| uid.clone()).collect();
        let mut targets: Vec<_> = gone.iter().filter_map(|uid| self.remove(uid)).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(name: &str, uid: &str, version: &str, created: &str) -> RunRequest {
        let value = json!({
            "metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": version,
                "creationTimestamp": created},
            "spec": {"target": {"name": "a"}, "now": true},
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn requests_are_kept_by_target_oldest_first() {
        let mut index = RequestIndex::default();
        let target = index.apply(request("b", "1", "5", "2026-01-01T00:00:01Z")).unwrap();
        index.apply(request("c", "2", "6", "2026-01-01T00:00:00Z"));
        let names = |index: &RequestIndex| -> Vec<String> {
            index.of_target(&target).iter().map(|it| it.metadata.name.clone()).collect()
        };
        assert_eq!(names(&index), ["c", "b"]);
        assert!(index.apply(request("b", "1", "4", "2026-01-01T00:00:01Z")).is_none(), "older");
        index.apply_response(request("d", "3", "9", "2026-01-01T00:00:00Z"));
        assert_eq!(names(&index), ["c", "b"], "a response about an unknown request is ignored");
        assert_eq!(
            index.retain(&HashSet::from(["2".to_owned()]), |_| true),
            std::slice::from_ref(&target)
        );
        assert_eq!(names(&index), ["c"]);
        assert_eq!(index.remove("2"), Some(target.clone()));
        assert!(!index.has_target(&target));
    }
}
