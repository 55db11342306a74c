use std::sync::Mutex;

use jiff::Timestamp;
use tokio::time::Instant;

use super::*;

const SLACK: Duration = Duration::from_secs(5);

/// The clock of the runtime, or one that stands still.
struct Clocks {
    start: Instant,
    stands_at: Mutex<Option<Duration>>,
}

impl Clock for Clocks {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        self.stands_at.lock().unwrap().unwrap_or_else(|| self.start.elapsed())
    }
}

fn fence() -> (Fence, Arc<Clocks>) {
    let clock = Arc::new(Clocks { start: Instant::now(), stands_at: Mutex::default() });
    (Fence::shut(clock.clone()), clock)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[tokio::test(start_paused = true)]
async fn an_open_fence_is_never_closed() {
    let fence = Fence::open();
    fence.opened().await;
    assert!(fence.allows() && fence.is_always_open());
    assert_eq!(fence.patience(secs(30)), Some(secs(30)));
    assert!(tokio::time::timeout(secs(100_000), fence.closed()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_fence_is_open_until_the_end_of_the_term_and_not_a_moment_longer() {
    let (fence, clock) = fence();
    assert!(!fence.allows());
    assert_eq!(fence.patience(secs(30)), None);
    fence.closed().await;
    let waiting = tokio::spawn({
        let fence = fence.clone();
        async move { fence.opened().await }
    });
    tokio::time::sleep(secs(1)).await;
    fence.set(Some(secs(10)), SLACK);
    waiting.await.unwrap();
    assert!(fence.allows());
    assert_eq!(fence.patience(secs(30)), Some(secs(14)), "9 seconds, and the slack");
    assert_eq!(fence.patience(secs(3)), Some(secs(3)));
    fence.closed().await;
    assert_eq!(clock.monotonic(), secs(10));
    assert!(!fence.allows());
    fence.set(Some(secs(12)), SLACK);
    assert!(fence.allows());
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_the_end_notices_that_it_has_moved() {
    let (fence, clock) = fence();
    fence.set(Some(secs(10)), SLACK);
    let waiting = tokio::spawn({
        let (fence, clock) = (fence.clone(), clock.clone());
        async move {
            fence.closed().await;
            clock.monotonic()
        }
    });
    tokio::time::sleep(secs(8)).await;
    fence.set(Some(secs(18)), SLACK);
    tokio::time::sleep(secs(8)).await;
    assert!(fence.allows());
    fence.set(None, SLACK);
    assert_eq!(waiting.await.unwrap(), secs(16));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_closes_it_at_the_first_question() {
    let (fence, clock) = fence();
    fence.set(Some(secs(10)), SLACK);
    *clock.stands_at.lock().unwrap() = Some(secs(3));
    tokio::time::sleep(secs(1_000)).await;
    assert!(fence.allows(), "nothing has passed on this clock");
    *clock.stands_at.lock().unwrap() = Some(secs(1_003));
    assert!(!fence.allows());
    assert_eq!(fence.patience(secs(1)), None);
    fence.closed().await;
}

#[tokio::test(start_paused = true)]
async fn work_that_is_over_stays_outside_in_the_same_term() {
    let (fence, _) = fence();
    fence.set(Some(secs(10)), SLACK);
    let over = CancellationToken::new();
    let work = fence.for_work(over.clone());
    assert!(work.allows());
    let waiting = tokio::spawn({
        let work = work.clone();
        async move { work.closed().await }
    });
    tokio::task::yield_now().await;
    over.cancel();
    waiting.await.unwrap();
    assert!(!work.allows() && fence.allows());
    fence.set(Some(secs(20)), SLACK);
    assert!(!work.allows() && fence.allows());
}

#[tokio::test(start_paused = true)]
async fn work_of_a_term_stays_outside_the_next_one() {
    let (fence, _) = fence();
    fence.set(Some(secs(10)), SLACK);
    let work = fence.for_work(CancellationToken::new());
    fence.set(Some(secs(11)), SLACK);
    assert!(work.allows(), "renewed");
    fence.set(None, SLACK);
    fence.set(Some(secs(12)), SLACK);
    assert!(!work.allows() && fence.allows(), "whether or not anybody looked in between");
    work.closed().await;
}
