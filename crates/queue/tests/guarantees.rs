//! Tests of the guarantees that the crate documentation states.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_queue::{
    Backoff, CONSECUTIVE_TIMED_MAX, Failure, FinishedRun, PoppedKey, Queue, RunCause,
};

const FAILED: Result<(), Failure> =
    Err(Failure { retry_after: None, no_later_than: None, is_transient: false });

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A queue that backs off 10, 20, 40 and then 60 seconds.
fn queue() -> Queue<&'static str> {
    Queue::new(Backoff::new(Duration::from_secs(10), Duration::from_secs(60)))
}

fn drain(queue: &mut Queue<&'static str>, now: Timestamp) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.pop(now)).map(|popped| popped.key).collect()
}

#[test]
fn the_backoff_doubles_up_to_its_cap() {
    let backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(1000));
    let cases = [(0, 0), (1, 5), (2, 10), (3, 20), (10, 2_560), (18, 655_360), (19, 1_000_000)];
    for (failures, millis) in cases {
        assert_eq!(backoff.delay(failures), Duration::from_millis(millis), "{failures} failures");
    }
    for failures in [32, 33, 34, u32::MAX] {
        assert_eq!(backoff.delay(failures), backoff.cap(), "{failures} failures");
    }
}

#[test]
fn a_backoff_is_at_least_a_millisecond() {
    let backoff = Backoff::new(Duration::ZERO, Duration::ZERO);
    assert_eq!(backoff.delay(1), Duration::from_millis(1));
    assert_eq!(backoff.delay(9), Duration::from_millis(1));
}

#[test]
fn a_key_that_changes_during_its_run_runs_once_more() {
    let mut queue = queue();
    queue.add(&"a", at(0));
    queue.add(&"a", at(1));
    assert_eq!(drain(&mut queue, at(2)), ["a"]);
    queue.add(&"a", at(3));
    queue.set_wake(&"a", Some(at(4)));
    assert_eq!(queue.next_due(at(5)), None, "a running key is not due");
    assert_eq!(drain(&mut queue, at(5)), [""; 0]);
    queue.done(&"a", Ok(()), at(6));
    let popped = queue.pop(at(7)).unwrap();
    assert_eq!((popped.key, popped.cause, popped.due_at), ("a", RunCause::Wake, at(3)));
    queue.done(&"a", Ok(()), at(8));
    assert_eq!(drain(&mut queue, at(9)), [""; 0]);
}

#[test]
fn due_keys_are_popped_in_due_order_then_first_in_first_out() {
    let mut queue = queue();
    for (key, second) in [("c", 30), ("b1", 20), ("a", 10), ("b2", 20), ("later", 99)] {
        queue.set_wake(&key, Some(at(second)));
    }
    assert_eq!(drain(&mut queue, at(50)), ["a", "b1", "b2", "c"]);
    assert_eq!(queue.next_due(at(50)), Some(at(99)));
}

#[test]
fn wake_ups_precede_changes_but_do_not_starve_them() {
    let mut queue: Queue<u32> = Queue::new(Backoff::default());
    queue.add(&1000, at(0));
    queue.add(&1001, at(0));
    for key in 0..40 {
        queue.set_wake(&key, Some(at(10)));
    }
    let popped: Vec<u32> = std::iter::from_fn(|| queue.pop(at(10))).map(|p| p.key).collect();
    let max = CONSECUTIVE_TIMED_MAX as usize;
    let changes: Vec<usize> = (0..popped.len()).filter(|i| popped[*i] >= 1000).collect();
    assert_eq!(changes, [max, 2 * max + 1]);
    assert_eq!(popped.len(), 42);
}

#[test]
fn has_due_reports_wake_ups_and_retries_but_not_changes() {
    let mut queue = queue();
    queue.add(&"changed", at(0));
    queue.set_wake(&"due", Some(at(10)));
    assert!(!queue.has_due(at(9)));
    assert!(queue.has_due(at(10)));
    assert_eq!(queue.pop(at(10)).unwrap().key, "due");
    assert!(!queue.has_due(at(10)));
    queue.done(&"due", Err(Failure::default()), at(10));
    assert!(queue.has_due(at(100)));
}

#[test]
fn a_wake_up_can_be_moved_and_removed() {
    let mut queue = queue();
    for (moved_to, due) in [(Some(20), Some(20)), (Some(10), Some(10)), (Some(50), Some(50))] {
        queue.set_wake(&"a", moved_to.map(at));
        assert_eq!(queue.next_due(at(0)), due.map(at));
    }
    assert_eq!(queue.pop(at(49)), None);
    queue.set_wake(&"a", None);
    assert_eq!(queue.next_due(at(60)), None);
    assert_eq!(queue.pop(at(60)), None);
}

#[test]
fn a_change_does_not_remove_a_later_wake_up() {
    let mut queue = queue();
    queue.set_wake(&"a", Some(at(60)));
    queue.add(&"a", at(5));
    assert_eq!(queue.stats(at(5)).depth, 1);
    assert_eq!(queue.pop(at(6)).unwrap().cause, RunCause::Change);
    queue.done(&"a", Ok(()), at(7));
    assert_eq!(queue.next_due(at(7)), Some(at(60)));
    assert_eq!(queue.pop(at(61)).unwrap().cause, RunCause::Wake);
    queue.done(&"a", Ok(()), at(62));
    assert_eq!(queue.next_due(at(62)), None);
}

#[test]
fn changes_neither_shorten_nor_extend_a_backoff() {
    let mut queue = queue();
    queue.add(&"a", at(0));
    let mut now = 0;
    for (failures, delay) in [(1, 10), (2, 20), (3, 40), (4, 60), (5, 60)] {
        assert_eq!(drain(&mut queue, at(now)), ["a"]);
        queue.add(&"a", at(now));
        let retry_at = Some(at(now + delay));
        let done = queue.done(&"a", FAILED, at(now));
        assert_eq!(done, Some(FinishedRun { worked_for: Duration::ZERO, retry_at }));
        for second in now..now + delay {
            queue.add(&"a", at(second));
            queue.set_wake(&"a", Some(at(second)));
            assert_eq!(queue.pop(at(second)), None, "after {failures} failures");
        }
        now += delay;
    }
    let popped = queue.pop(at(now)).unwrap();
    assert_eq!((popped.cause, popped.failures, popped.due_at), (RunCause::Retry, 5, at(now)));
    queue.done(&"a", Ok(()), at(now));
    assert_eq!(drain(&mut queue, at(now)), [""; 0], "one retry covers all changes");
    queue.add(&"a", at(now));
    assert_eq!(queue.pop(at(now)).unwrap().failures, 0);
}

#[test]
fn a_retry_after_extends_the_backoff() {
    for (seconds, delay) in [(5, 10), (30, 30), (1_000_000, 3600)] {
        let mut queue = queue();
        queue.add(&"a", at(0));
        queue.pop(at(0));
        let retry_after = Some(Duration::from_secs(seconds));
        queue.done(&"a", Err(Failure { retry_after, ..Failure::default() }), at(0));
        assert_eq!(queue.next_due(at(0)), Some(at(delay)));
    }
}

#[test]
fn no_later_than_shortens_a_backoff_but_not_a_retry_after() {
    let mut queue = queue();
    queue.add(&"a", at(0));
    for _ in 0..20 {
        let now = queue.next_due(at(0)).unwrap();
        queue.pop(now).unwrap();
        queue.done(&"a", Err(Failure::default()), now);
    }
    let now = queue.next_due(at(0)).unwrap();
    queue.pop(now).unwrap();
    let due = now + Duration::from_secs(20);
    let failure = Failure { no_later_than: Some(due), ..Failure::default() };
    queue.done(&"a", Err(failure), now);
    assert_eq!(queue.next_due(now), Some(due));
    queue.pop(due).unwrap();
    let retry_after = Some(Duration::from_secs(30));
    let failure = Failure { retry_after, no_later_than: Some(due), is_transient: false };
    queue.done(&"a", Err(failure), due);
    assert_eq!(queue.next_due(due), Some(due + Duration::from_secs(30)));
}

#[test]
fn the_backoff_of_a_transient_failure_is_short() {
    let mut queue = queue();
    queue.add(&"a", at(0));
    let mut now = at(0);
    for _ in 0..20 {
        queue.pop(now).unwrap();
        queue.done(&"a", Err(Failure { is_transient: true, ..Failure::default() }), now);
        let due = queue.next_due(now).unwrap();
        assert!(due.duration_since(now) <= SignedDuration::from_secs(10));
        now = due;
    }
}

#[test]
fn forget_clears_failures_and_retries_at_once() {
    let mut queue = queue();
    queue.add(&"a", at(0));
    queue.pop(at(0));
    queue.done(&"a", FAILED, at(0));
    queue.forget(&"a", at(1));
    queue.forget(&"unknown", at(1));
    let popped = queue.pop(at(1)).unwrap();
    assert_eq!((popped.key, popped.failures), ("a", 0));
    queue.done(&"a", FAILED, at(1));
    assert_eq!(queue.next_due(at(1)), Some(at(11)), "the backoff starts at its base");
}

#[test]
fn a_removed_key_does_not_run_again() {
    let mut queue = queue();
    queue.set_wake(&"a", Some(at(5)));
    queue.add(&"a", at(0));
    queue.remove(&"a");
    assert_eq!(queue.next_due(at(9)), None);

    queue.add(&"a", at(10));
    queue.pop(at(10));
    queue.remove(&"a");
    queue.set_wake(&"a", Some(at(20)));
    assert!(queue.done(&"a", FAILED, at(11)).is_some());
    assert_eq!(queue.next_due(at(99)), None);
    assert_eq!(queue.stats(at(99)).in_flight, 0);
}

#[test]
fn a_key_added_again_waits_for_the_run_of_the_removed_key() {
    let mut queue = queue();
    queue.add(&"a", at(0));
    queue.pop(at(0));
    queue.remove(&"a");
    queue.add(&"a", at(1));
    assert_eq!(queue.pop(at(2)), None);
    queue.done(&"a", FAILED, at(3));
    let popped = queue.pop(at(3)).unwrap();
    assert_eq!((popped.cause, popped.failures), (RunCause::Change, 0));
}

#[test]
fn a_clock_step_back_does_not_delay_changes_or_retries() {
    let now = at(1_800_000_000);
    let past = at(1_768_000_000);
    let mut queue = queue();
    queue.add(&"fails", now);
    queue.pop(now);
    queue.done(&"fails", FAILED, now);
    queue.add(&"ready", now);
    queue.set_wake(&"slot", Some(now));

    let PoppedKey { key, queued_for, .. } = queue.pop(past).unwrap();
    assert_eq!((key, queued_for), ("ready", Duration::ZERO));
    assert_eq!(queue.next_due(past), Some(past + Duration::from_secs(10)));
    assert_eq!(drain(&mut queue, past + Duration::from_secs(10)), ["fails"]);
    assert_eq!(drain(&mut queue, now), ["slot"], "a wake-up is due when the clock reaches it");
}

#[test]
fn a_clock_step_back_does_not_extend_a_delay() {
    let now = at(1_800_000_000);
    let past = at(1_768_000_000);
    let delay = Duration::from_secs(1);
    let mut queue = queue();
    queue.delay(&"a", delay, now);
    queue.add(&"a", now);
    assert_eq!(queue.pop(now), None, "a change does not end the delay");
    assert_eq!(queue.pop(past), None);
    assert_eq!(queue.next_due(past), Some(past + delay));
    assert_eq!(drain(&mut queue, past + delay), ["a"]);
    assert_eq!(queue.next_due(past + delay), None);
}

#[test]
fn the_stats_count_like_the_metrics_of_kubernetes() {
    let mut queue = queue();
    queue.add(&"a", at(0));
    queue.add(&"a", at(1));
    queue.set_wake(&"b", Some(at(4)));
    let popped = queue.pop(at(3)).unwrap();
    assert_eq!((popped.key, popped.queued_for), ("a", Duration::from_secs(3)));
    assert_eq!(queue.pop(at(6)).unwrap().queued_for, Duration::from_secs(2));
    queue.add(&"c", at(6));
    let stats = queue.stats(at(10));
    assert_eq!((stats.depth, stats.adds, stats.retries, stats.in_flight), (1, 3, 0, 2));
    assert_eq!(stats.unfinished, Duration::from_secs(7 + 4));
    assert_eq!(stats.longest_running, Duration::from_secs(7));
    let done = queue.done(&"a", FAILED, at(10)).unwrap();
    assert_eq!((done.worked_for, done.retry_at), (Duration::from_secs(7), Some(at(20))));
    assert_eq!(queue.done(&"a", Ok(()), at(11)), None, "the key does not run");
    let stats = queue.stats(at(20));
    assert_eq!((stats.depth, stats.retries, stats.in_flight, stats.backing_off), (2, 1, 1, 1));
}
