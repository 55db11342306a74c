//! Notifies watches of new changes, in the order in which they began to wait.
//!
//! tokio's watch channel wakes its receivers in random order, which would make simulations
//! non-deterministic.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{Notify, futures::Notified};

use crate::committer::Published;

/// The signal that watches wait for.
#[derive(Default)]
pub(crate) struct ChangeSignal {
    notify: Notify,
    is_closed: AtomicBool,
}

impl ChangeSignal {
    /// Waits for the next notification after the first poll or after `enable`.
    pub(crate) fn notified(&self) -> Notified<'_> {
        self.notify.notified()
    }

    /// Whether no further notification follows.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}

/// Notifies watches. Dropping it ends them.
pub(crate) struct Notifier(pub(crate) Arc<Published>);

impl Notifier {
    /// Wakes all waiting watches.
    pub(crate) fn notify(&self) {
        self.0.signal.notify.notify_waiters();
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.0.signal.is_closed.store(true, Ordering::Release);
        self.0.signal.notify.notify_waiters();
    }
}
