//! Tests with many keys, and with one key that moves constantly.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use punctual_queue::{Backoff, Queue, QueueStats};

fn noon() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

#[test]
fn a_hundred_thousand_due_keys_are_popped_once_and_in_order() {
    let mut queue = Queue::new(Backoff::default());
    for key in 0..100_000_u32 {
        queue.set_wake(&key, Some(noon()));
    }
    assert_eq!(queue.stats(noon()).depth, 100_000);
    let mut next = 0;
    while let Some(popped) = queue.pop(noon()) {
        assert_eq!(popped.key, next);
        queue.set_wake(&next, None);
        queue.done(&next, Ok(()), noon());
        next += 1;
    }
    assert_eq!(next, 100_000);
    assert_eq!(queue.stats(noon()), QueueStats { adds: 100_000, ..QueueStats::default() });
}

/// Each list that contains a key holds a clone of it, so the reference count measures the memory.
#[test]
fn a_million_moves_of_one_key_use_no_memory() {
    let mut queue = Queue::new(Backoff::default());
    let moving: Rc<str> = "moving".into();
    for key in 0..1000 {
        queue.set_wake(&Rc::from(key.to_string()), Some(noon()));
    }
    let mut clones_max = 0;
    for step in 0..1_000_000_i64 {
        let at = noon() + SignedDuration::from_secs(1 + step * 7919 % 100_000);
        queue.set_wake(&moving, Some(at));
        if step % 10 == 0 {
            queue.add(&moving, noon());
        }
        clones_max = clones_max.max(Rc::strong_count(&moving));
    }
    println!("at most {clones_max} clones of a key after a million moves");
    assert!(clones_max <= 4, "{clones_max} clones");
    queue.remove(&moving);
    assert_eq!(Rc::strong_count(&moving), 1, "clones of a removed key");
    let popped = std::iter::from_fn(|| queue.pop(noon())).count();
    assert_eq!(popped, 1000);
}
