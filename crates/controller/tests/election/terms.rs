//! Who leads, and since when.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{LEASE, World, secs};

/// A moment in which whatever can happen at once happens.
const MOMENT: Duration = Duration::from_millis(50);

#[tokio::test(start_paused = true)]
async fn one_of_several_leads_and_goes_on_leading() {
    let mut world = World::new().await;
    let (a, b, c) = (world.candidate(), world.candidate(), world.candidate());
    for minute in 1..10 {
        world.at(secs(60 * minute)).await;
        assert!(a.leads() && !b.leads() && !c.leads());
    }
    let lease = world.lease().await;
    assert_eq!(lease["spec"]["holderIdentity"], "candidate-0");
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
    assert_eq!(lease["spec"]["leaseTransitions"], 0);
    assert_eq!(lease["spec"]["acquireTime"], "2026-01-31T07:59:50.000000Z");
    let renewed: jiff::Timestamp = lease["spec"]["renewTime"].as_str().unwrap().parse().unwrap();
    let end: jiff::Timestamp = "2026-01-31T08:08:50Z".parse().unwrap();
    assert!(end.duration_since(renewed) <= jiff::SignedDuration::from_secs(3), "{renewed}");
    assert_eq!(world.told(), ["candidate-0 became leader"]);
}

#[tokio::test(start_paused = true)]
async fn the_counters_say_who_leads() {
    let mut world = World::new().await;
    let (a, b) = (world.candidate(), world.candidate());
    world.at(secs(5)).await;
    let says = |candidate: &crate::world::Candidate, what: &str| {
        let mut page = String::new();
        candidate.metrics.encode(&mut page);
        page.contains(&format!("leader_election_master_status{{name=\"punctual\"}} {what}"))
    };
    assert!(says(&a, "1") && says(&b, "0"));
    let metrics = a.metrics.clone();
    a.stop().await;
    let mut page = String::new();
    metrics.encode(&mut page);
    assert!(page.contains("leader_election_master_status{name=\"punctual\"} 0"));
    assert!(page.contains("punctual_cron_jobs 0"));
    world.at(secs(10)).await;
    assert!(says(&b, "1"));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_killed_is_followed_after_its_lease_and_not_before() {
    let mut world = World::new().await;
    let (a, b) = (world.candidate(), world.candidate());
    world.at(secs(30)).await;
    assert!(a.leads());
    a.kill().await;
    let lease = world.lease().await;
    b.fence.wait_open().await;
    let took = world.now() - secs(30);
    // The last renewal is up to a retry period old, and was seen as much later at most.
    assert!(took > secs(15) - Duration::from_millis(2_400), "{took:?}");
    assert!(took <= secs(15) + Duration::from_millis(2_450), "{took:?}");
    assert_eq!(lease["spec"]["holderIdentity"], "candidate-0");
    let lease = world.lease().await;
    assert_eq!(lease["spec"]["holderIdentity"], "candidate-1");
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_is_followed_at_the_next_look() {
    let mut world = World::new().await;
    let (a, b) = (world.candidate(), world.candidate());
    world.at(secs(30)).await;
    assert!(a.stop().await < MOMENT);
    let lease = world.lease().await;
    assert_eq!(lease["spec"].get("holderIdentity"), None);
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 1);
    b.fence.wait_open().await;
    assert!(world.now() - secs(30) <= Duration::from_millis(2_450), "{:?}", world.now());
    let told = ["candidate-0 became leader", "candidate-1 became leader"];
    tokio::time::sleep(MOMENT).await;
    assert_eq!(world.told(), told);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_stops_leaves_the_leader_alone() {
    let mut world = World::new().await;
    let (a, b) = (world.candidate(), world.candidate());
    world.at(secs(30)).await;
    assert!(b.stop().await < MOMENT);
    assert!(a.leads());
    world.at(secs(60)).await;
    assert!(a.leads());
    assert_eq!(world.lease().await["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_user_deletes_is_made_anew_by_its_holder() {
    let mut world = World::new().await;
    let (a, b) = (world.candidate(), world.candidate());
    world.at(secs(30)).await;
    world.send("DELETE", LEASE, &Value::Null).await.unwrap();
    world.at(secs(33)).await;
    assert!(a.leads() && !b.leads());
    assert_eq!(world.lease().await["spec"]["holderIdentity"], "candidate-0");
    world.at(secs(90)).await;
    assert!(a.leads() && !b.leads());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_takes_away_is_lost() {
    let mut world = World::new().await;
    let a = world.candidate();
    world.at(secs(30)).await;
    let mut lease = world.lease().await;
    lease["spec"]["holderIdentity"] = json!("a stranger");
    world.put_lease(&lease).await;
    a.fence.wait_closed().await;
    assert!(world.now() <= secs(33), "at the next renewal");
    a.fence.wait_open().await;
    let took = world.now() - secs(30);
    assert!(took >= secs(15) && took < secs(18), "who does not renew loses it: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_others_put_into_the_lease_stays() {
    let mut world = World::new().await;
    world.create_lease(json!({"preferredHolder": "x", "strategy": "OldestEmulationVersion"})).await;
    let a = world.candidate();
    world.at(secs(30)).await;
    assert!(a.leads());
    let lease = world.lease().await;
    assert_eq!(lease["metadata"]["labels"]["kept"], "yes");
    assert_eq!(lease["spec"]["preferredHolder"], "x");
    a.stop().await;
    assert_eq!(world.lease().await["spec"]["strategy"], "OldestEmulationVersion");
}

#[tokio::test(start_paused = true)]
async fn durations_that_elect_nobody_are_refused() {
    let world = World::new().await;
    let refused = world.misconfigured().await;
    assert_eq!(refused, "the lease duration must be longer than the renew deadline");
}
