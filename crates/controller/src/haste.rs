//! Making way: while slots wait to be started, everything else may wait a moment.
//!
//! A thousand slots are due at once, and each Job that is created is news for every watch and work for
//! the Job controller. Done as it comes, that work would take most of the machine from the slots that
//! still wait. So whoever is not first stands back, but never for long: a machine that cannot keep up
//! must not forget the rest of its work.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// Nobody stands back for longer at a time.
const HASTE_MAX: Duration = Duration::from_secs(3);

/// Whether slots wait. Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct Haste {
    since: watch::Sender<Option<Instant>>,
}

impl Default for Haste {
    fn default() -> Haste {
        Haste { since: watch::Sender::new(None) }
    }
}

impl Haste {
    /// Waits until the slots that wait have been started, or for as long as may be asked.
    pub async fn give_way(&self) {
        let mut since = self.since.subscribe();
        let Some(begun) = *since.borrow() else { return };
        // It cannot be closed: we hold a sender. And no slots, or no more patience, is the same.
        let _ = timeout_at(begun + HASTE_MAX, since.wait_for(Option::is_none)).await;
    }

    /// Whether to stand back.
    pub(crate) fn is_on(&self) -> bool {
        self.since.borrow().is_some_and(|begun| begun.elapsed() < HASTE_MAX)
    }

    /// Says whether slots wait.
    pub(crate) fn set(&self, is_pressed: bool) {
        self.since.send_if_modified(|since| {
            let is_change = since.is_some() != is_pressed;
            if is_change {
                *since = is_pressed.then(Instant::now);
            }
            is_change
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn others_stand_back_until_the_slots_are_started_and_not_for_ever() {
        let haste = Haste::default();
        haste.give_way().await;
        assert!(!haste.is_on());
        haste.set(true);
        assert!(haste.is_on());
        let begun = Instant::now();
        let waiting = tokio::spawn({
            let haste = haste.clone();
            async move { haste.give_way().await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        haste.set(false);
        waiting.await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
        haste.set(true);
        haste.give_way().await;
        assert_eq!(begun.elapsed(), Duration::from_secs(1) + HASTE_MAX);
        assert!(!haste.is_on(), "once was enough");
        haste.give_way().await;
        assert_eq!(begun.elapsed(), Duration::from_secs(1) + HASTE_MAX);
    }
}
