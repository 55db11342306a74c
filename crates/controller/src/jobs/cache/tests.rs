use punctual_api::Pod;
use punctual_client::CachedFields as _;
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job_with(uid: &str, version: u64, selector: serde_json::Value) -> KnownJob {
    let metadata = json!({"name": uid, "namespace": "n", "uid": uid,
        "resourceVersion": version.to_string()});
    let job = json!({"metadata": metadata, "spec": {"selector": {"matchLabels": selector}}});
    KnownJob::from_json(&job.to_string()).unwrap()
}

fn job(uid: &str, version: u64) -> KnownJob {
    job_with(uid, version, json!({"batch.kubernetes.io/controller-uid": uid}))
}

fn pod_with(uid: &str, version: u64, more: serde_json::Value) -> KnownPod {
    let mut metadata = json!({"name": uid, "namespace": "n", "uid": uid,
        "resourceVersion": version.to_string()});
    metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    KnownPod::from(serde_json::from_value::<Pod>(json!({"metadata": metadata})).unwrap())
}

/// A Pod of the Job `j`.
fn pod(uid: &str, version: u64) -> KnownPod {
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "uid": "j", "controller": true}]);
    pod_with(uid, version, json!({"ownerReferences": owner}))
}

fn orphan(uid: &str, labels: serde_json::Value) -> KnownPod {
    pod_with(uid, 1, json!({"labels": labels}))
}

fn keys(uids: &[&str]) -> Vec<Key> {
    uids.iter().map(|uid| Key::Job((*uid).into())).collect()
}

fn versions(cache: &Cache) -> Vec<(String, String)> {
    let job = Uid::from("j");
    cache.pods_of(&job).map(|pod| (pod.uid.to_string(), pod.version.clone())).collect()
}

fn held(pods: &[(&str, u64)]) -> Vec<(String, String)> {
    pods.iter().map(|(uid, version)| ((*uid).to_owned(), version.to_string())).collect()
}

#[test]
fn a_watch_that_is_behind_an_answer_changes_nothing_until_it_has_caught_up() {
    let mut cache = Cache::default();
    assert_eq!(cache.put_pod(pod("a", 9)), keys(&["j"]));
    assert_eq!(cache.answer_pod(pod("a", 12)), keys(&["j"]));
    assert_eq!(cache.put_pod(pod("a", 10)), []);
    assert_eq!(cache.put_pod(pod("a", 12)), [], "the echo of our own write is no news");
    assert_eq!(versions(&cache), held(&[("a", 12)]));
    assert_eq!(cache.put_pod(pod("a", 100)), keys(&["j"]));
    assert_eq!(cache.put_job(job("j", 5)), keys(&["j"]));
    assert_eq!(cache.answer_job(job("j", 7)), keys(&["j"]));
    assert_eq!(cache.put_job(job("j", 6)), []);
    assert_eq!(cache.put_job(job("j", 8)), keys(&["j"]));
}

#[test]
fn an_answer_does_not_bring_back_what_is_gone() {
    let mut cache = Cache::default();
    cache.put_pod(pod("a", 1));
    assert_eq!(cache.remove_pod(&"a".into()), keys(&["j"]));
    assert_eq!(cache.answer_pod(pod("a", 2)), []);
    assert_eq!(versions(&cache), []);
    cache.put_job(job("j", 1));
    assert_eq!(cache.remove_job(&"j".into()), keys(&["j"]));
    assert_eq!(cache.answer_job(job("j", 2)), []);
    assert!(cache.job(&"j".into()).is_none());
}

#[test]
fn a_list_removes_what_is_not_in_it_but_no_pod_that_may_be_newer() {
    let mut cache = Cache::default();
    cache.put_pod(pod("a", 1));
    cache.put_pod(pod("b", 2));
    cache.answer_new_pod(pod("c", 3), at(0));
    assert_eq!(cache.keep_pods(&HashSet::from(["a".to_owned()])), keys(&["j"]));
    assert_eq!(versions(&cache), held(&[("a", 1), ("c", 3)]));
    cache.put_pod(pod("c", 3));
    cache.keep_pods(&HashSet::from(["a".to_owned()]));
    assert_eq!(versions(&cache), held(&[("a", 1)]), "it was shown, so that a list would have it");
}

#[test]
fn a_new_pod_that_no_watch_shows_is_asked_for_after_a_while() {
    let mut cache = Cache::default();
    let known = job("j", 1);
    let job = known.read_text().unwrap();
    cache.put_job(known);
    cache.answer_new_pod(pod("a", 1), at(0));
    let gathered = cache.gather(&job, at(29));
    assert_eq!((gathered.overdue.len(), gathered.overdue_at), (0, Some(at(30))));
    assert_eq!(cache.gather(&job, at(30)).overdue.len(), 1);
    cache.put_pod(pod("a", 1));
    let gathered = cache.gather(&job, at(30));
    assert_eq!((gathered.overdue.len(), gathered.overdue_at), (0, None));
}

#[test]
fn an_orphan_concerns_the_jobs_that_may_want_it_and_no_others() {
    let mut cache = Cache::default();
    cache.put_job(job("j", 1));
    cache.put_job(job("k", 1));
    cache.put_job(job_with("hand", 1, json!({"app": "a"})));
    let own = json!({"batch.kubernetes.io/controller-uid": "j"});
    assert_eq!(cache.put_pod(orphan("a", own)), keys(&["hand", "j"]));
    assert_eq!(cache.put_pod(orphan("b", json!({"app": "a"}))), keys(&["hand"]));
    let orphans = |cache: &Cache, uid: &str| {
        let job = cache.job(&uid.into()).unwrap().0.read_text().unwrap();
        let found = cache.gather(&job, at(0)).orphans;
        found.iter().map(|pod| pod.uid.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(orphans(&cache, "j"), ["a"]);
    assert_eq!(orphans(&cache, "k"), Vec::<String>::new());
    assert_eq!(orphans(&cache, "hand"), ["b"]);
    cache.remove_job(&"hand".into());
    assert_eq!(cache.put_pod(orphan("c", json!({"app": "a"}))), []);
}

#[test]
fn nothing_is_left_of_what_is_gone_and_nothing_is_kept_of_others() {
    let mut cache = Cache::default();
    cache.put_job(job_with("hand", 1, json!({"app": "a"})));
    cache.put_job(job("j", 1));
    cache.put_pod(pod("a", 1));
    cache.put_pod(orphan("b", json!({"batch.kubernetes.io/controller-uid": "j"})));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true}]);
    cache.put_pod(pod_with("c", 1, json!({"ownerReferences": owner})));
    assert_eq!(cache.pods.len(), 2);
    cache.keep_pods(&HashSet::new());
    cache.keep_jobs(&HashSet::new());
    assert!(cache.jobs.is_empty() && cache.pods.is_empty());
    assert!(cache.groups.is_empty() && cache.by_hand.is_empty());
}

#[test]
fn of_a_job_that_has_ended_only_what_decides_its_time_is_kept() {
    let text = json!({
        "metadata": {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "7"},
        "spec": {"ttlSecondsAfterFinished": 5, "template": {"spec": {"containers": []}}},
        "status": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True",
            "lastTransitionTime": "2024-01-08T05:16:14Z", "lastProbeTime": null}]},
    });
    let known = KnownJob::from_json(&text.to_string()).unwrap();
    assert!(!known.text.contains("template"));
    let job = known.read_text().unwrap();
    assert!(job.status.is_finished());
    assert_eq!(job.metadata.resource_version, "7");
    assert_eq!(job.spec.ttl_seconds_after_finished, Some(5));
}
