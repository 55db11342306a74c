//! Tests of changes of leadership around a slot (a scheduled time): each slot runs exactly once.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::connection::ConnectionFault;
use crate::test_env::{Candidate, ElectionTestEnv, secs};

/// The slot of the second minute.
const SLOT: Duration = Duration::from_secs(70);

/// Instants around a slot: in steps of 100 ms, and every millisecond next to it.
fn moments() -> impl Iterator<Item = Duration> {
    let steps = (0..=20).map(|step| step * 100);
    let moments = steps.chain([997, 998, 999, 1_001, 1_002, 1_003]);
    moments.map(|millis| SLOT - secs(1) + Duration::from_millis(millis))
}

/// Starts two candidates, and creates CronJobs whose Jobs complete at once and are then deleted.
async fn start_pair() -> (ElectionTestEnv, Candidate, Candidate) {
    let mut env = ElectionTestEnv::new().await;
    env.complete_jobs();
    let a = env.start_candidate();
    let b = env.start_candidate();
    for name in ["c", "d", "e"] {
        env.create_cron_job(name).await;
    }
    (env, a, b)
}

/// Asserts that each slot of the first three minutes ran once.
async fn assert_each_slot_ran_once(env: &ElectionTestEnv, what: &str) {
    env.advance_to(SLOT + secs(80)).await;
    let created_jobs = env.created_jobs();
    let once: BTreeSet<&String> = created_jobs.iter().collect();
    assert_eq!((created_jobs.len(), once.len()), (9, 9), "{what}: {created_jobs:?}");
    for name in ["c", "d", "e"] {
        assert_eq!(env.status(name).await["successfulRuns"], 3, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_around_a_slot_neither_loses_nor_repeats_it() {
    for at in moments() {
        let (env, a, b) = start_pair().await;
        env.advance_to(at).await;
        a.stop().await;
        assert_each_slot_ran_once(&env, &format!("stopped at {at:?}")).await;
        assert!(b.is_leader());
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_killed_around_a_slot_neither_loses_nor_repeats_it() {
    for at in moments() {
        let (env, a, b) = start_pair().await;
        env.advance_to(at).await;
        a.kill().await;
        assert_each_slot_ran_once(&env, &format!("killed at {at:?}")).await;
        assert!(b.is_leader());
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_reconnects_after_a_slot_repeats_nothing() {
    for fault in
        [ConnectionFault::RequestsLost, ConnectionFault::ResponsesLost, ConnectionFault::Refused]
    {
        for at in moments() {
            let (env, a, _b) = start_pair().await;
            env.advance_to(at).await;
            a.set_fault(fault);
            env.advance_to(at + secs(20)).await;
            a.set_fault(ConnectionFault::None);
            assert_each_slot_ran_once(&env, &format!("{fault:?} at {at:?}")).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_loses_only_its_lease_starts_its_next_term_without_old_state() {
    for at in moments() {
        let (env, a, b) = start_pair().await;
        env.advance_to(at - secs(9)).await;
        b.kill().await;
        // It loses its term around the slot, and then leads again.
        a.set_fault_for(ConnectionFault::RequestsLost, "/leases");
        env.advance_to(at + secs(3)).await;
        a.set_fault_for(ConnectionFault::None, "");
        assert_each_slot_ran_once(&env, &format!("lost at {at:?}")).await;
        assert!(a.is_leader());
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_does_not_repeat_slots_whose_jobs_were_deleted() {
    let (env, a, b) = start_pair().await;
    // Two slots ran and were recorded, and their Jobs were deleted, so their names are free.
    env.advance_to(SLOT + secs(5)).await;
    assert_eq!(
        (env.created_jobs().len(), env.store.snapshot().prefix("/jobs.batch/").count()),
        (6, 0)
    );
    a.kill().await;
    assert_each_slot_ran_once(&env, "late").await;
    assert!(b.is_leader());
}
