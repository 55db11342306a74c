//! Connections and clocks that fail: who may not lead any more does nothing any more.

use std::time::Duration;

use http::Method;

use crate::links::Fault;
use crate::world::{World, secs};

/// The slot of the first minute, ten seconds after the start.
const SLOT: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_has_stopped_before_another_leads() {
    for fault in [Fault::Silent, Fault::Mute, Fault::Broken] {
        for millis in [0, 700, 1_400, 2_100] {
            let mut world = World::new().await;
            let (a, b) = (world.candidate(), world.candidate());
            let begun = secs(30) + Duration::from_millis(millis);
            world.at(begun).await;
            assert!(a.leads());
            a.suffer(fault);
            a.fence.wait_closed().await;
            let lost_after = world.now() - begun;
            b.fence.wait_open().await;
            let followed_after = world.now() - begun;
            assert!(!a.leads());
            // A renewal that got through without an answer is one for the others alone.
            assert!(lost_after > secs(7) && lost_after <= secs(10), "{fault:?}: {lost_after:?}");
            assert!(followed_after >= lost_after + secs(4), "{fault:?}: {followed_after:?}");
            a.suffer(Fault::None);
            world.at(secs(120)).await;
            assert!(b.leads() && !a.leads());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_renewals_are_late_goes_on_leading() {
    let mut world = World::new().await;
    let (a, b) = (world.candidate(), world.candidate());
    for round in 1..10 {
        world.at(secs(20 * round)).await;
        a.suffer(Fault::Silent);
        world.at(secs(20 * round + 4)).await;
        a.suffer(Fault::None);
    }
    assert!(a.leads() && !b.leads());
    assert_eq!(world.lease().await["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stood_still_is_refused_at_its_first_question() {
    let mut world = World::new().await;
    let a = world.candidate();
    world.at(secs(30)).await;
    // A process that stands still asks nothing, and its calls are not heard.
    a.suffer(Fault::Silent);
    a.clock.freeze();
    world.at(secs(60)).await;
    assert!(a.leads(), "as far as it can know");
    a.clock.thaw();
    assert!(!a.leads());
    assert_eq!(a.fence.call_budget(secs(30)), None);
    a.suffer(Fault::None);
    a.fence.wait_open().await;
    assert!(world.now() <= secs(68), "it stands for election again");
}

#[tokio::test(start_paused = true)]
async fn work_under_way_is_dropped_when_the_term_ends() {
    let mut world = World::new().await;
    world.finish_jobs();
    let (a, b) = (world.candidate(), world.candidate());
    world.cron_job("c").await;
    world.at(secs(5)).await;
    assert!(a.leads());
    // From now on, what it sends arrives, and it hears nothing.
    world.at(SLOT - Duration::from_millis(100)).await;
    a.suffer(Fault::Mute);
    a.fence.wait_closed().await;
    let lost_at = world.now();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let effects = world.book.effects();
    let creates: Vec<_> = effects.iter().filter(|effect| effect.path.ends_with("/jobs")).collect();
    assert_eq!(creates.len(), 1, "{effects:?}");
    assert_eq!(creates[0].method, Method::POST);
    let ended = creates[0].ended.expect("it was dropped");
    assert!(ended >= lost_at && ended < lost_at + Duration::from_millis(20), "{ended:?}");
    // The other finds what was done, and does not do it again.
    b.fence.wait_open().await;
    world.at(secs(40)).await;
    assert_eq!(world.created().len(), 1);
    assert_eq!(world.status("c").await["successfulRuns"], 1);
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_end_keeps_the_lease_from_being_given_back() {
    let mut world = World::new().await;
    let (a, b) = (world.candidate(), world.candidate());
    world.cron_job("c").await;
    world.at(secs(5)).await;
    a.suffer_at(Fault::Mute, "/jobs");
    world.at(SLOT + Duration::from_millis(100)).await;
    let took = a.stop().await;
    assert!(took >= secs(4) && took < secs(5), "{took:?}");
    assert_eq!(world.lease().await["spec"]["holderIdentity"], "candidate-0");
    let stopped_at = world.now();
    b.fence.wait_open().await;
    assert!(world.now() > stopped_at + secs(10), "the server may still be at it");
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_bounded_when_nobody_answers() {
    let mut world = World::new().await;
    let a = world.candidate();
    world.cron_job("c").await;
    world.at(SLOT - Duration::from_millis(100)).await;
    a.suffer(Fault::Silent);
    world.at(SLOT + Duration::from_millis(100)).await;
    assert!(a.stop().await <= secs(5));
    let mut world = World::new().await;
    let a = world.candidate();
    world.at(secs(5)).await;
    a.suffer(Fault::Silent);
    assert!(a.stop().await <= secs(5));
}
