//! Many keys, and one that never rests.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use punctual_queue::{Backoff, Queue, Stats};

fn noon() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

#[test]
fn a_hundred_thousand_slots_at_once_are_each_served_once_and_in_order() {
    let mut queue = Queue::new(Backoff::default());
    (0..100_000_u32).for_each(|key| queue.set_wake(&key, Some(noon())));
    assert_eq!(queue.stats(noon()).depth, 100_000);
    let mut next = 0;
    while let Some(popped) = queue.pop(noon()) {
        assert_eq!(popped.key, next);
        queue.set_wake(&next, None);
        queue.done(&next, Ok(()), noon());
        next += 1;
    }
    assert_eq!(next, 100_000);
    assert_eq!(queue.stats(noon()), Stats { adds: 100_000, ..Stats::default() });
}

/// Each place where a key is kept holds a clone of it, so its references count the memory.
#[test]
fn a_million_moves_of_one_key_leave_nothing_behind() {
    let mut queue = Queue::new(Backoff::default());
    let restless: Rc<str> = "restless".into();
    (0..1000).for_each(|key| queue.set_wake(&Rc::from(key.to_string()), Some(noon())));
    let mut clones_max = 0;
    for step in 0..1_000_000_i64 {
        let at = noon() + SignedDuration::from_secs(1 + step * 7919 % 100_000);
        queue.set_wake(&restless, Some(at));
        if step % 10 == 0 {
            queue.add(&restless, noon());
        }
        clones_max = clones_max.max(Rc::strong_count(&restless));
    }
    println!("at most {clones_max} clones of a key after a million moves");
    assert!(clones_max <= 4, "{clones_max} clones");
    queue.remove(&restless);
    assert_eq!(Rc::strong_count(&restless), 1, "forgotten without a trace");
    let popped = std::iter::from_fn(|| queue.pop(noon())).count();
    assert_eq!(popped, 1000);
}
