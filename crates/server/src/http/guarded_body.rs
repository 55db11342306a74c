//! A response body that holds the permits of its request until it was sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

/// A body that drops its guards when it was sent or its connection has ended.
pub(super) struct GuardedBody<G> {
    body: Body,
    /// The time after which the rest is not sent.
    deadline: Option<Instant>,
    _guards: G,
}

impl<G> GuardedBody<G> {
    pub(super) fn new(body: Body, guards: G, time_limit: Option<Duration>) -> GuardedBody<G> {
        let deadline = time_limit.map(|limit| Instant::now() + limit);
        GuardedBody { body, deadline, _guards: guards }
    }
}

impl<G: Unpin> http_body::Body for GuardedBody<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the client reads too slowly");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
