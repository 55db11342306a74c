//! Tests with faults of connections and clocks: a candidate that has lost its term writes nothing.

use std::time::Duration;

use http::Method;

use crate::connection::ConnectionFault;
use crate::test_env::{ElectionTestEnv, secs};

/// The slot of the first minute, ten seconds after the start.
const SLOT: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_disconnected_leader_stops_before_another_leads() {
    for fault in
        [ConnectionFault::RequestsLost, ConnectionFault::ResponsesLost, ConnectionFault::Refused]
    {
        for millis in [0, 700, 1_400, 2_100] {
            let mut env = ElectionTestEnv::new().await;
            let a = env.start_candidate();
            let b = env.start_candidate();
            let started = secs(30) + Duration::from_millis(millis);
            env.advance_to(started).await;
            assert!(a.is_leader());
            a.set_fault(fault);
            a.fence.wait_closed().await;
            let lost_after = env.now() - started;
            b.fence.wait_open().await;
            let followed_after = env.now() - started;
            assert!(!a.is_leader());
            // A renewal whose response was lost extends the Lease only for the other candidates.
            assert!(lost_after > secs(7) && lost_after <= secs(10), "{fault:?}: {lost_after:?}");
            assert!(followed_after >= lost_after + secs(4), "{fault:?}: {followed_after:?}");
            a.set_fault(ConnectionFault::None);
            env.advance_to(secs(120)).await;
            assert!(b.is_leader() && !a.is_leader());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_with_late_renewals_stays_leader() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    for round in 1..10 {
        env.advance_to(secs(20 * round)).await;
        a.set_fault(ConnectionFault::RequestsLost);
        env.advance_to(secs(20 * round + 4)).await;
        a.set_fault(ConnectionFault::None);
    }
    assert!(a.is_leader() && !b.is_leader());
    assert_eq!(env.lease().await["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_paused_past_its_term_may_not_write() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    env.advance_to(secs(30)).await;
    // A paused process sends no requests.
    a.set_fault(ConnectionFault::RequestsLost);
    a.clock.freeze();
    env.advance_to(secs(60)).await;
    assert!(a.is_leader(), "its own clock did not advance");
    a.clock.thaw();
    assert!(!a.is_leader());
    assert_eq!(a.fence.call_budget(secs(30)), None);
    a.set_fault(ConnectionFault::None);
    a.fence.wait_open().await;
    assert!(env.now() <= secs(68), "it campaigns again");
}

#[tokio::test(start_paused = true)]
async fn running_work_is_dropped_when_the_term_ends() {
    let mut env = ElectionTestEnv::new().await;
    env.complete_jobs();
    let a = env.start_candidate();
    let b = env.start_candidate();
    env.create_cron_job("c").await;
    env.advance_to(secs(5)).await;
    assert!(a.is_leader());
    // From now on its requests arrive and the responses are lost.
    env.advance_to(SLOT - Duration::from_millis(100)).await;
    a.set_fault(ConnectionFault::ResponsesLost);
    a.fence.wait_closed().await;
    let lost_at = env.now();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let effects = env.effect_log.effects();
    let creates: Vec<_> = effects.iter().filter(|effect| effect.path.ends_with("/jobs")).collect();
    assert_eq!(creates.len(), 1, "{effects:?}");
    assert_eq!(creates[0].method, Method::POST);
    let ended = creates[0].ended.expect("the call was dropped");
    assert!(ended >= lost_at && ended < lost_at + Duration::from_millis(20), "{ended:?}");
    // The other candidate finds the Job and does not create it again.
    b.fence.wait_open().await;
    env.advance_to(secs(40)).await;
    assert_eq!(env.created_jobs().len(), 1);
    assert_eq!(env.status("c").await["successfulRuns"], 1);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_not_released_while_work_is_unfinished() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    let b = env.start_candidate();
    env.create_cron_job("c").await;
    env.advance_to(secs(5)).await;
    a.set_fault_for(ConnectionFault::ResponsesLost, "/jobs");
    env.advance_to(SLOT + Duration::from_millis(100)).await;
    let took = a.stop().await;
    assert!(took >= secs(4) && took < secs(5), "{took:?}");
    assert_eq!(env.lease().await["spec"]["holderIdentity"], "candidate-0");
    let stopped_at = env.now();
    b.fence.wait_open().await;
    assert!(
        env.now() > stopped_at + secs(10),
        "the server may still process a call of the first leader"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_takes_bounded_time_without_responses() {
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    env.create_cron_job("c").await;
    env.advance_to(SLOT - Duration::from_millis(100)).await;
    a.set_fault(ConnectionFault::RequestsLost);
    env.advance_to(SLOT + Duration::from_millis(100)).await;
    assert!(a.stop().await <= secs(5));
    let mut env = ElectionTestEnv::new().await;
    let a = env.start_candidate();
    env.advance_to(secs(5)).await;
    a.set_fault(ConnectionFault::RequestsLost);
    assert!(a.stop().await <= secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_cannot_use_its_lease_is_not_accessible_until_it_can() {
    for fault in [ConnectionFault::RequestsLost, ConnectionFault::Refused] {
        let mut env = ElectionTestEnv::new().await;
        let leader = env.start_candidate();
        env.advance_to(secs(5)).await;
        let standby = env.start_candidate();
        env.advance_to(secs(30)).await;
        assert!(leader.is_leader());
        for candidate in [&leader, &standby] {
            assert_eq!(candidate.check_access(), Ok(()));
            candidate.set_fault_for(fault, "/leases");
        }
        env.advance_to(secs(40)).await;
        assert_eq!(standby.check_access(), Ok(()), "a short failure is tolerated");
        env.advance_to(secs(60)).await;
        for candidate in [&leader, &standby] {
            let error = candidate.check_access().unwrap_err().to_string();
            assert!(error.contains(" the Lease: "), "{error}");
            candidate.set_fault(ConnectionFault::None);
        }
        env.advance_to(secs(70)).await;
        assert_eq!((leader.check_access(), standby.check_access()), (Ok(()), Ok(())));
    }
}
