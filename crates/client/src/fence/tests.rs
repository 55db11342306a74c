//! Tests of the fence: when it opens, when it closes, and what it allows in between.

use std::sync::Mutex;

use jiff::Timestamp;
use tokio::time::Instant;

use super::*;

const SLACK: Duration = Duration::from_secs(5);

/// The monotonic clock of the runtime, or a fixed time.
struct TestClock {
    start: Instant,
    fixed_at: Mutex<Option<Duration>>,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        self.fixed_at.lock().unwrap().unwrap_or_else(|| self.start.elapsed())
    }
}

fn fence() -> (Fence, Arc<TestClock>) {
    let clock = Arc::new(TestClock { start: Instant::now(), fixed_at: Mutex::default() });
    (Fence::closed(clock.clone()), clock)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[tokio::test(start_paused = true)]
async fn a_fence_without_election_never_closes() {
    let fence = Fence::always_open();
    fence.wait_open().await;
    assert!(fence.is_open() && fence.is_always_open());
    assert_eq!(fence.call_budget(secs(30)), Some(secs(30)));
    assert!(tokio::time::timeout(secs(100_000), fence.wait_closed()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_fence_closes_exactly_at_the_end_of_the_term() {
    let (fence, clock) = fence();
    assert!(!fence.is_open());
    assert_eq!(fence.call_budget(secs(30)), None);
    fence.wait_closed().await;
    let waiting = tokio::spawn({
        let fence = fence.clone();
        async move { fence.wait_open().await }
    });
    tokio::time::sleep(secs(1)).await;
    fence.set_term_end(Some(secs(10)), SLACK);
    waiting.await.unwrap();
    assert!(fence.is_open());
    assert_eq!(fence.call_budget(secs(30)), Some(secs(14)), "9 seconds left, plus the slack");
    assert_eq!(fence.call_budget(secs(3)), Some(secs(3)));
    fence.wait_closed().await;
    assert_eq!(clock.monotonic(), secs(10));
    assert!(!fence.is_open());
    fence.set_term_end(Some(secs(12)), SLACK);
    assert!(fence.is_open());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_close_follows_a_renewed_term() {
    let (fence, clock) = fence();
    fence.set_term_end(Some(secs(10)), SLACK);
    let waiting = tokio::spawn({
        let fence = fence.clone();
        let clock = clock.clone();
        async move {
            fence.wait_closed().await;
            clock.monotonic()
        }
    });
    tokio::time::sleep(secs(8)).await;
    fence.set_term_end(Some(secs(18)), SLACK);
    tokio::time::sleep(secs(8)).await;
    assert!(fence.is_open());
    fence.set_term_end(None, SLACK);
    assert_eq!(waiting.await.unwrap(), secs(16));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_past_the_end_closes_the_fence_at_once() {
    let (fence, clock) = fence();
    fence.set_term_end(Some(secs(10)), SLACK);
    *clock.fixed_at.lock().unwrap() = Some(secs(3));
    tokio::time::sleep(secs(1_000)).await;
    assert!(fence.is_open(), "the clock has not advanced");
    *clock.fixed_at.lock().unwrap() = Some(secs(1_003));
    assert!(!fence.is_open());
    assert_eq!(fence.call_budget(secs(1)), None);
    fence.wait_closed().await;
}

#[tokio::test(start_paused = true)]
async fn finished_work_stays_blocked_in_the_same_term() {
    let (fence, _) = fence();
    fence.set_term_end(Some(secs(10)), SLACK);
    let finished = CancellationToken::new();
    let work = fence.for_current_term(finished.clone());
    assert!(work.is_open());
    let waiting = tokio::spawn({
        let work = work.clone();
        async move { work.wait_closed().await }
    });
    tokio::task::yield_now().await;
    finished.cancel();
    waiting.await.unwrap();
    assert!(!work.is_open() && fence.is_open());
    fence.set_term_end(Some(secs(20)), SLACK);
    assert!(!work.is_open() && fence.is_open());
}

#[tokio::test(start_paused = true)]
async fn work_of_one_term_stays_blocked_in_the_next() {
    let (fence, _) = fence();
    fence.set_term_end(Some(secs(10)), SLACK);
    let work = fence.for_current_term(CancellationToken::new());
    fence.set_term_end(Some(secs(11)), SLACK);
    assert!(work.is_open(), "renewed");
    fence.set_term_end(None, SLACK);
    fence.set_term_end(Some(secs(12)), SLACK);
    assert!(!work.is_open() && fence.is_open(), "a new term");
    work.wait_closed().await;
}
