//! Tests of the cache: stale watch events, late responses, and the keys that each change requeues.

use punctual_api::Pod;
use punctual_client::CachedFields as _;
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job_with(uid: &str, version: u64, selector: serde_json::Value) -> CachedJob {
    let metadata = json!({"name": uid, "namespace": "n", "uid": uid,
        "resourceVersion": version.to_string()});
    let job = json!({"metadata": metadata, "spec": {"selector": {"matchLabels": selector}}});
    CachedJob::from_json(&job.to_string()).unwrap()
}

fn job(uid: &str, version: u64) -> CachedJob {
    job_with(uid, version, json!({"batch.kubernetes.io/controller-uid": uid}))
}

fn pod_with(uid: &str, version: u64, more: serde_json::Value) -> CachedPod {
    let mut metadata = json!({"name": uid, "namespace": "n", "uid": uid,
        "resourceVersion": version.to_string()});
    metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    CachedPod::from(serde_json::from_value::<Pod>(json!({"metadata": metadata})).unwrap())
}

/// A Pod of the Job `j`.
fn pod(uid: &str, version: u64) -> CachedPod {
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "uid": "j", "controller": true}]);
    pod_with(uid, version, json!({"ownerReferences": owner}))
}

fn pod_without_controller(uid: &str, labels: serde_json::Value) -> CachedPod {
    pod_with(uid, 1, json!({"labels": labels}))
}

fn keys(uids: &[&str]) -> Vec<ReconcileKey> {
    uids.iter().map(|uid| ReconcileKey::Job((*uid).into())).collect()
}

fn versions(cache: &JobCache) -> Vec<(String, String)> {
    let job = Uid::from("j");
    cache.pods_of(&job).map(|pod| (pod.uid.to_string(), pod.resource_version.clone())).collect()
}

fn expected(pods: &[(&str, u64)]) -> Vec<(String, String)> {
    pods.iter().map(|(uid, version)| ((*uid).to_owned(), version.to_string())).collect()
}

#[test]
fn watch_events_that_are_older_than_a_response_are_ignored() {
    let mut cache = JobCache::default();
    assert_eq!(cache.apply_pod(pod("a", 9)), keys(&["j"]));
    assert_eq!(cache.apply_pod_response(pod("a", 12)), keys(&["j"]));
    assert_eq!(cache.apply_pod(pod("a", 10)), []);
    assert_eq!(
        cache.apply_pod(pod("a", 12)),
        [],
        "the event of our own write is not newer than its response"
    );
    assert_eq!(versions(&cache), expected(&[("a", 12)]));
    assert_eq!(cache.apply_pod(pod("a", 100)), keys(&["j"]));
    assert_eq!(cache.apply_job(job("j", 5)), keys(&["j"]));
    assert_eq!(cache.apply_job_response(job("j", 7)), keys(&["j"]));
    assert_eq!(cache.apply_job(job("j", 6)), []);
    assert_eq!(cache.apply_job(job("j", 8)), keys(&["j"]));
}

#[test]
fn a_response_does_not_restore_a_removed_object() {
    let mut cache = JobCache::default();
    cache.apply_pod(pod("a", 1));
    assert_eq!(cache.remove_pod(&"a".into()), keys(&["j"]));
    assert_eq!(cache.apply_pod_response(pod("a", 2)), []);
    assert_eq!(versions(&cache), []);
    cache.apply_job(job("j", 1));
    assert_eq!(cache.remove_job(&"j".into()), keys(&["j"]));
    assert_eq!(cache.apply_job_response(job("j", 2)), []);
    assert!(cache.job(&"j".into()).is_none());
}

#[test]
fn a_list_does_not_remove_unobserved_pods() {
    let mut cache = JobCache::default();
    cache.apply_pod(pod("a", 1));
    cache.apply_pod(pod("b", 2));
    cache.apply_created_pod(pod("c", 3), at(0));
    assert_eq!(cache.retain_pods(&HashSet::from(["a".to_owned()])), keys(&["j"]));
    assert_eq!(versions(&cache), expected(&[("a", 1), ("c", 3)]));
    cache.apply_pod(pod("c", 3));
    cache.retain_pods(&HashSet::from(["a".to_owned()]));
    assert_eq!(
        versions(&cache),
        expected(&[("a", 1)]),
        "an observed Pod that is not listed was deleted"
    );
}

#[test]
fn a_created_pod_that_no_watch_shows_becomes_overdue() {
    let mut cache = JobCache::default();
    let cached = job("j", 1);
    let job = cached.parse().unwrap();
    cache.apply_job(cached);
    cache.apply_created_pod(pod("a", 1), at(0));
    let gathered = cache.gather_pods(&job, at(29));
    assert_eq!((gathered.overdue.len(), gathered.next_overdue_at), (0, Some(at(30))));
    assert_eq!(cache.gather_pods(&job, at(30)).overdue.len(), 1);
    cache.apply_pod(pod("a", 1));
    let gathered = cache.gather_pods(&job, at(30));
    assert_eq!((gathered.overdue.len(), gathered.next_overdue_at), (0, None));
}

#[test]
fn a_pod_without_controller_affects_only_jobs_that_may_adopt_it() {
    let mut cache = JobCache::default();
    cache.apply_job(job("j", 1));
    cache.apply_job(job("k", 1));
    cache.apply_job(job_with("custom", 1, json!({"app": "a"})));
    let labels_of_j = json!({"batch.kubernetes.io/controller-uid": "j"});
    assert_eq!(cache.apply_pod(pod_without_controller("a", labels_of_j)), keys(&["custom", "j"]));
    assert_eq!(
        cache.apply_pod(pod_without_controller("b", json!({"app": "a"}))),
        keys(&["custom"])
    );
    let adoptable = |cache: &JobCache, uid: &str| {
        let job = cache.job(&uid.into()).unwrap().0.parse().unwrap();
        let found = cache.gather_pods(&job, at(0)).to_adopt;
        found.iter().map(|pod| pod.uid.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(adoptable(&cache, "j"), ["a"]);
    assert_eq!(adoptable(&cache, "k"), Vec::<String>::new());
    assert_eq!(adoptable(&cache, "custom"), ["b"]);
    cache.remove_job(&"custom".into());
    assert_eq!(cache.apply_pod(pod_without_controller("c", json!({"app": "a"}))), []);
}

#[test]
fn removed_objects_leave_no_index_entries() {
    let mut cache = JobCache::default();
    cache.apply_job(job_with("custom", 1, json!({"app": "a"})));
    cache.apply_job(job("j", 1));
    cache.apply_pod(pod("a", 1));
    cache
        .apply_pod(pod_without_controller("b", json!({"batch.kubernetes.io/controller-uid": "j"})));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true}]);
    cache.apply_pod(pod_with("c", 1, json!({"ownerReferences": owner})));
    assert_eq!(cache.pods.len(), 2);
    cache.retain_pods(&HashSet::new());
    cache.retain_jobs(&HashSet::new());
    assert!(cache.jobs.is_empty() && cache.pods.is_empty());
    assert!(cache.groups.is_empty() && cache.custom_selector_jobs.is_empty());
}

#[test]
fn a_finished_job_is_cached_without_its_template() {
    let text = json!({
        "metadata": {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "7"},
        "spec": {"ttlSecondsAfterFinished": 5, "template": {"spec": {"containers": []}}},
        "status": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True",
            "lastTransitionTime": "2024-01-08T05:16:14Z", "lastProbeTime": null}]},
    });
    let cached = CachedJob::from_json(&text.to_string()).unwrap();
    assert!(!cached.text.contains("template"));
    let job = cached.parse().unwrap();
    assert!(job.status.is_finished());
    assert_eq!(job.metadata.resource_version, "7");
    assert_eq!(job.spec.ttl_seconds_after_finished, Some(5));
}
