use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use jiff::Timestamp;
use kube::client::Body;
use serde::de::IgnoredAny;
use tokio::time::Instant;
use tower::service_fn;

use super::*;
use crate::clock::Clock;

/// The clock of the runtime.
struct Ticks(Instant);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Calls of a server that never answers, behind a fence; and how many it got.
fn calls() -> (Calls, Fence, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let service = service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<Response<Body>, Infallible>>()
    });
    let fence = Fence::shut(Arc::new(Ticks(Instant::now())));
    let calls = Calls::new(Client::new(service, "default"), Metrics::default());
    (calls.behind(fence.clone()), fence, count)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_changed_by_who_does_not_lead() {
    let (calls, _, count) = calls();
    let refused = calls.create::<IgnoredAny>("/x", String::new()).await.unwrap_err();
    assert!(matches!(refused, Refused::NotLeading));
    assert!(!refused.is_doubtful() && !refused.is_outdated(), "nothing was sent");
    let only = json!({"uid": "u"});
    assert!(calls.delete::<IgnoredAny>("/x", "Background", &only).await.is_err());
    assert!(calls.replace::<IgnoredAny>("/x", String::new()).await.is_err());
    assert!(calls.patch::<IgnoredAny>("/x", &json!({})).await.is_err());
    assert!(calls.merge::<IgnoredAny>("/x", &json!({})).await.is_err());
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_given_up_before_another_may_lead() {
    let (calls, fence, count) = calls();
    let secs = Duration::from_secs;
    fence.set(Some(secs(3)), secs(5));
    let begun = Instant::now();
    let refused = calls.create::<IgnoredAny>("/x", String::new()).await.unwrap_err();
    assert!(refused.is_doubtful());
    assert_eq!((begun.elapsed(), count.load(Ordering::Relaxed)), (secs(8), 1));
}

#[tokio::test(start_paused = true)]
async fn everybody_may_read_for_as_long_as_a_call_may_take() {
    let (calls, _, count) = calls();
    let begun = Instant::now();
    assert!(calls.get::<IgnoredAny>("/x").await.is_err());
    assert_eq!((begun.elapsed(), count.load(Ordering::Relaxed)), (CALL_MAX, 1));
    let hasty = calls.within(Duration::from_secs(2));
    let begun = Instant::now();
    assert!(hasty.get::<IgnoredAny>("/x").await.is_err());
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
}
