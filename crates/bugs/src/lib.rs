//! Deliberate mistakes, each of them one condition at the place where somebody in a hurry would make
//! it. The simulator arms one at a time and has to find it: a checker that finds nothing wrong with a
//! world is worth as much as the wrongs it would have found.
//!
//! Without the feature `armed`, [`has`] is a constant `false` and nothing of this is in the program.

mod catalogue;

pub use self::catalogue::Bug;

#[cfg(feature = "armed")]
thread_local! {
    /// Worlds live in one thread each, so each has its own bug.
    static ARMED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Whether this mistake is to be made.
#[cfg(feature = "armed")]
#[inline(always)]
pub fn has(bug: Bug) -> bool {
    ARMED.get() == Some(bug)
}

/// Whether this mistake is to be made: never.
#[cfg(not(feature = "armed"))]
#[inline(always)]
pub const fn has(_: Bug) -> bool {
    false
}

/// Has this thread make one mistake from now on, or none.
#[cfg(feature = "armed")]
pub fn arm(bug: Option<Bug>) {
    ARMED.set(bug);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_a_name_and_a_sentence_of_its_own() {
        let mut names: Vec<&str> = Bug::ALL.iter().map(|bug| bug.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Bug::ALL.len());
        assert!(Bug::ALL.iter().all(|bug| bug.sentence().ends_with('.')));
    }

    #[test]
    fn nobody_makes_a_mistake_unasked() {
        assert!(Bug::ALL.iter().all(|bug| !has(*bug)));
    }
}
