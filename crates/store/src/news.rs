//! Waking those who watch, in the order in which they came to wait. (tokio's own watch channel wakes them in
//! an order of chance, and a simulated world would not come out the same twice.)

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{Notify, futures::Notified};

use crate::committer::Published;

/// Where watches wait for news.
#[derive(Default)]
pub(crate) struct News {
    waiting: Notify,
    is_over: AtomicBool,
}

impl News {
    /// Waits for what is told from the first poll on, or from `enable`.
    pub(crate) fn told(&self) -> Notified<'_> {
        self.waiting.notified()
    }

    /// Whether nothing will be told any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Whoever tells the news. Nothing is told after it is dropped, and who waits hears of that.
pub(crate) struct Teller(pub(crate) Arc<Published>);

impl Teller {
    /// There is something new.
    pub(crate) fn tell(&self) {
        self.0.news.waiting.notify_waiters();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.news.is_over.store(true, Ordering::Release);
        self.0.news.waiting.notify_waiters();
    }
}
