//! Each slot is run once, whoever leads.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::links::Fault;
use crate::world::{Candidate, World, secs};

/// The slot of the second minute.
const SLOT: Duration = Duration::from_secs(70);

/// Around a slot: a second before and after in steps, and the moments beside it.
fn moments() -> impl Iterator<Item = Duration> {
    let steps = (0..=20).map(|step| step * 100);
    let moments = steps.chain([997, 998, 999, 1_001, 1_002, 1_003]);
    moments.map(|millis| SLOT - secs(1) + Duration::from_millis(millis))
}

/// A world with CronJobs whose Jobs end and go at once, in which one leads and one does not.
async fn pair() -> (World, Candidate, Candidate) {
    let mut world = World::new().await;
    world.finish_jobs();
    let (a, b) = (world.candidate(), world.candidate());
    for name in ["c", "d", "e"] {
        world.cron_job(name).await;
    }
    (world, a, b)
}

/// The slots of the first three minutes were run once each.
async fn check(world: &World, what: &str) {
    world.at(SLOT + secs(80)).await;
    let created = world.created();
    let once: BTreeSet<&String> = created.iter().collect();
    assert_eq!((created.len(), once.len()), (9, 9), "{what}: {created:?}");
    for name in ["c", "d", "e"] {
        assert_eq!(world.status(name).await["successfulRuns"], 3, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_around_a_slot_hands_it_over() {
    for at in moments() {
        let (world, a, b) = pair().await;
        world.at(at).await;
        a.stop().await;
        check(&world, &format!("stopped at {at:?}")).await;
        assert!(b.leads());
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_killed_around_a_slot_leaves_it_to_the_next() {
    for at in moments() {
        let (world, a, b) = pair().await;
        world.at(at).await;
        a.kill().await;
        check(&world, &format!("killed at {at:?}")).await;
        assert!(b.leads());
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_around_a_slot_doubles_nothing_when_it_comes_back() {
    for fault in [Fault::Silent, Fault::Mute, Fault::Broken] {
        for at in moments() {
            let (world, a, _b) = pair().await;
            world.at(at).await;
            a.suffer(fault);
            world.at(at + secs(20)).await;
            a.suffer(Fault::None);
            check(&world, &format!("{fault:?} at {at:?}")).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_loses_its_lease_alone_begins_its_next_term_afresh() {
    for at in moments() {
        let (world, a, b) = pair().await;
        world.at(at - secs(9)).await;
        b.kill().await;
        // It loses its term around the slot, and leads again.
        a.suffer_at(Fault::Silent, "/leases");
        world.at(at + secs(3)).await;
        a.suffer_at(Fault::None, "");
        check(&world, &format!("lost at {at:?}")).await;
        assert!(a.leads());
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_takes_over_late_runs_nothing_of_what_was_run() {
    let (world, a, b) = pair().await;
    // Two slots were run, recorded, and their Jobs deleted: their names are free.
    world.at(SLOT + secs(5)).await;
    assert_eq!(
        (world.created().len(), world.store.snapshot().prefix("/jobs.batch/").count()),
        (6, 0)
    );
    a.kill().await;
    check(&world, "late").await;
    assert!(b.leads());
}
