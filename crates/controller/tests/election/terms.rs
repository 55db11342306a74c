//! Tests of terms: which candidate leads, and when that changes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness;
use crate::test_env::{ElectionTestEnv, LEASE, secs};

/// Enough time for everything that needs no waiting.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test(start_paused = true)]
async fn one_of_several_candidates_leads_and_stays_leader() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    let c = env.start_candidate();
    for minute in 1..10 {
        env.advance_to(secs(60 * minute)).await;
        assert!(a.is_leader() && !b.is_leader() && !c.is_leader());
    }
    let lease = env.lease().await;
    assert_eq!(lease["spec"]["holderIdentity"], "candidate-0");
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
    assert_eq!(lease["spec"]["leaseTransitions"], 0);
    assert_eq!(lease["spec"]["acquireTime"], "2026-01-31T07:59:50.000000Z");
    let renewed: jiff::Timestamp = lease["spec"]["renewTime"].as_str().unwrap().parse().unwrap();
    let end: jiff::Timestamp = "2026-01-31T08:08:50Z".parse().unwrap();
    assert!(end.duration_since(renewed) <= jiff::SignedDuration::from_secs(3), "{renewed}");
    assert_eq!(env.lease_events(), ["candidate-0 became leader"]);
}

#[tokio::test(start_paused = true)]
async fn the_metrics_show_the_leader() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    env.advance_to(secs(5)).await;
    let shows = |candidate: &crate::test_env::Candidate, value: &str| {
        let mut page = String::new();
        candidate.metrics.encode(&mut page);
        page.contains(&format!("leader_election_master_status{{name=\"punctual\"}} {value}"))
    };
    assert!(shows(&a, "1") && shows(&b, "0"));
    let metrics = a.metrics.clone();
    a.stop().await;
    let mut page = String::new();
    metrics.encode(&mut page);
    assert!(page.contains("leader_election_master_status{name=\"punctual\"} 0"));
    assert!(page.contains("punctual_cron_jobs 0"));
    env.advance_to(secs(10)).await;
    assert!(shows(&b, "1"));
}

#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_replaced_when_its_lease_expires() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    env.advance_to(secs(30)).await;
    assert!(a.is_leader());
    a.kill().await;
    let lease = env.lease().await;
    b.fence.wait_open().await;
    let took = env.now() - secs(30);
    // The last renewal is at most one retry period old, and was observed at most one retry period later.
    assert!(took > secs(15) - Duration::from_millis(2_400), "{took:?}");
    assert!(took <= secs(15) + Duration::from_millis(2_450), "{took:?}");
    assert_eq!(lease["spec"]["holderIdentity"], "candidate-0");
    let lease = env.lease().await;
    assert_eq!(lease["spec"]["holderIdentity"], "candidate-1");
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_leader_is_replaced_at_the_next_retry() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    env.advance_to(secs(30)).await;
    assert!(a.stop().await < SHORT);
    let lease = env.lease().await;
    assert_eq!(lease["spec"].get("holderIdentity"), None);
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 1);
    b.fence.wait_open().await;
    assert!(env.now() - secs(30) <= Duration::from_millis(2_450), "{:?}", env.now());
    let expected = ["candidate-0 became leader", "candidate-1 became leader"];
    tokio::time::sleep(SHORT).await;
    assert_eq!(env.lease_events(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_stopping_standby_does_not_affect_the_leader() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    env.advance_to(secs(30)).await;
    assert!(b.stop().await < SHORT);
    assert!(a.is_leader());
    env.advance_to(secs(60)).await;
    assert!(a.is_leader());
    assert_eq!(env.lease().await["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_created_again_by_its_holder() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    env.advance_to(secs(30)).await;
    harness::send(&env.client, "DELETE", LEASE, &Value::Null).await.unwrap();
    env.advance_to(secs(33)).await;
    assert!(a.is_leader() && !b.is_leader());
    assert_eq!(env.lease().await["spec"]["holderIdentity"], "candidate-0");
    env.advance_to(secs(90)).await;
    assert!(a.is_leader() && !b.is_leader());
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_is_overwritten_stops_leading() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    env.advance_to(secs(30)).await;
    let mut lease = env.lease().await;
    lease["spec"]["holderIdentity"] = json!("another process");
    env.write_lease(&lease).await;
    a.fence.wait_closed().await;
    assert!(env.now() <= secs(33), "at the next renewal");
    a.fence.wait_open().await;
    let took = env.now() - secs(30);
    assert!(
        took >= secs(15) && took < secs(18),
        "a holder that does not renew loses the Lease: {took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn fields_that_other_programs_set_in_the_lease_are_kept() {
    let mut env = ElectionTestEnv::new().await;
    env.create_lease(json!({"preferredHolder": "x", "strategy": "OldestEmulationVersion"})).await;
    let a = env.start_candidate();
    env.advance_to(secs(30)).await;
    assert!(a.is_leader());
    let lease = env.lease().await;
    assert_eq!(lease["metadata"]["labels"]["kept"], "yes");
    assert_eq!(lease["spec"]["preferredHolder"], "x");
    a.stop().await;
    assert_eq!(env.lease().await["spec"]["strategy"], "OldestEmulationVersion");
}

#[tokio::test(start_paused = true)]
async fn invalid_durations_are_refused() {
    let env = ElectionTestEnv::new().await;
    let error = env.config_error().await;
    assert_eq!(error, "the lease duration must be longer than the renew deadline");
}
