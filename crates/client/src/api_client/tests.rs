//! Tests of the fence and the deadlines of calls.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use jiff::Timestamp;
use kube::client::Body;
use serde::de::IgnoredAny;
use tokio::time::Instant;
use tower::service_fn;

use super::*;
use crate::clock::Clock;

/// The monotonic clock of the runtime.
struct RuntimeClock(Instant);

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A client with a closed fence, the fence, and the number of requests that the server received. The
/// server never responds.
fn fenced_client() -> (ApiClient, Fence, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let service = service_fn(move |_: Request<Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<Response<Body>, Infallible>>()
    });
    let fence = Fence::closed(Arc::new(RuntimeClock(Instant::now())));
    let api = ApiClient::new(Client::new(service, "default"), Arc::new(()));
    (api.with_fence(fence.clone()), fence, count)
}

#[tokio::test(start_paused = true)]
async fn a_closed_fence_blocks_every_write() {
    let (api, _, count) = fenced_client();
    let error = api.create::<IgnoredAny>("/x", String::new()).await.unwrap_err();
    assert!(matches!(error, ApiError::NotLeading));
    assert!(!error.is_unconfirmed() && !error.is_stale(), "the request was not sent");
    let preconditions = json!({"uid": "u"});
    assert!(api.delete::<IgnoredAny>("/x", "Background", &preconditions).await.is_err());
    assert!(api.replace::<IgnoredAny>("/x", String::new()).await.is_err());
    assert!(api.patch::<IgnoredAny>("/x", &json!({})).await.is_err());
    assert!(api.merge_patch::<IgnoredAny>("/x", &json!({})).await.is_err());
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_write_times_out_before_another_process_can_lead() {
    let (api, fence, count) = fenced_client();
    let secs = Duration::from_secs;
    fence.set_term_end(Some(secs(3)), secs(5));
    let begun = Instant::now();
    let error = api.create::<IgnoredAny>("/x", String::new()).await.unwrap_err();
    assert!(error.is_unconfirmed());
    assert_eq!((begun.elapsed(), count.load(Ordering::Relaxed)), (secs(8), 1));
}

#[tokio::test(start_paused = true)]
async fn a_read_ignores_the_fence_and_times_out_after_the_call_timeout() {
    let (api, _, count) = fenced_client();
    let begun = Instant::now();
    assert!(api.get::<IgnoredAny>("/x").await.is_err());
    assert_eq!((begun.elapsed(), count.load(Ordering::Relaxed)), (CALL_TIMEOUT, 1));
    let api = api.with_call_timeout(Duration::from_secs(2));
    let begun = Instant::now();
    assert!(api.get::<IgnoredAny>("/x").await.is_err());
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
}
