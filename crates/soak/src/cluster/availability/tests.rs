//! Tests of the rules by which a slot (a scheduled time) must have started.

use jiff::Timestamp;

use super::*;

fn span(from: i64, to: i64) -> TimeSpan {
    let at = |second| Timestamp::from_second(second).unwrap();
    TimeSpan { from: at(from), to: at(to) }
}

fn fault(kind: FaultKind, controller: Option<usize>, from: i64, to: i64) -> RecordedFault {
    RecordedFault { kind, controller, was_leader: false, span: span(from, to) }
}

/// The first controller leads all the time.
fn availability(faults: &[RecordedFault], slow: Vec<TimeSpan>) -> Availability {
    let hold = LeaseHold { controller: Some(0), span: span(0, 1_000) };
    Availability::new(faults, vec![hold], slow)
}

fn must_start(faults: &[RecordedFault], from: i64, to: i64) -> bool {
    availability(faults, Vec::new()).must_have_started(span(from, to), &[])
}

#[test]
fn an_undisturbed_leader_starts_at_once() {
    assert!(must_start(&[], 100, 103));
    // The window is shorter than the reaction time.
    assert!(!must_start(&[], 100, 102));
    assert!(!must_start(&[fault(FaultKind::Disconnect, Some(0), 98, 99)], 100, 103));
    assert!(must_start(&[fault(FaultKind::Disconnect, Some(1), 98, 99)], 100, 103));
}

#[test]
fn the_standby_takes_over_within_the_time_of_an_election() {
    let disconnect = fault(FaultKind::Disconnect, Some(0), 98, 200);
    assert!(must_start(std::slice::from_ref(&disconnect), 100, 109));
    assert!(!must_start(std::slice::from_ref(&disconnect), 100, 108));
    let pause = fault(FaultKind::Pause, Some(1), 104, 105);
    assert!(!must_start(&[disconnect.clone(), pause.clone()], 100, 110));
    assert!(must_start(&[disconnect, pause], 100, 114));
}

#[test]
fn a_leader_with_a_slow_connection_blocks_the_standby() {
    assert!(!must_start(&[fault(FaultKind::Delay, Some(0), 90, 120)], 100, 115));
    // The standby does not hold the Lease.
    assert!(must_start(&[fault(FaultKind::Delay, Some(1), 90, 120)], 100, 115));
}

#[test]
fn a_killed_controller_is_available_some_time_after_its_restart() {
    let faults =
        [fault(FaultKind::Kill, Some(0), 90, 100), fault(FaultKind::Disconnect, Some(1), 90, 200)];
    assert!(!must_start(&faults, 100, 115));
    assert!(must_start(&faults, 100, 116));
}

#[test]
fn a_disturbed_start_takes_longer() {
    let faults = [
        fault(FaultKind::Kill, Some(0), 90, 95),
        fault(FaultKind::Delay, Some(0), 97, 100),
        fault(FaultKind::Disconnect, Some(1), 90, 200),
    ];
    assert!(!must_start(&faults, 100, 125));
    assert!(must_start(&faults, 100, 126));
}

#[test]
fn no_slot_must_start_without_a_server() {
    assert!(!must_start(&[fault(FaultKind::KillServer, None, 95, 101)], 100, 119));
    assert!(must_start(&[fault(FaultKind::KillServer, None, 95, 101)], 100, 120));
}

#[test]
fn a_slot_that_waits_for_another_run_need_not_start() {
    let availability = availability(&[], Vec::new());
    assert!(!availability.must_have_started(span(100, 108), &[span(99, 104)]));
    assert!(availability.must_have_started(span(100, 113), &[span(99, 104)]));
    assert!(availability.must_have_started(span(100, 105), &[span(90, 100)]));
}

#[test]
fn no_slot_must_start_while_the_server_is_slow() {
    let availability = availability(&[], vec![span(98, 101)]);
    assert!(!availability.must_have_started(span(100, 110), &[]));
    assert!(availability.must_have_started(span(100, 111), &[]));
    assert!(availability.must_have_started(span(106, 109), &[]));
}
