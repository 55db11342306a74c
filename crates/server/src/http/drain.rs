//! Request bodies that no handler has read.
//!
//! An HTTP/1.1 connection can carry the next request only after the whole body of the last one. So
//! the rest of the body is read and discarded before the response is sent. If it is too long or too
//! slow, the response says that the connection is closed. On HTTP/2, the client gets a reset in
//! place of the response if the body is not read.

use std::time::Duration;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderValue, Response, Version, header};
use http_body::Body as _;
use http_body_util::BodyExt as _;

/// How much of an unread body is discarded.
const DRAIN_BYTES_MAX: usize = 4 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How the body of a request can be drained.
pub(super) struct Drain {
    is_http1: bool,
    /// Whether the client may still be waiting for permission to send the body.
    expects_continue: bool,
}

impl Drain {
    pub(super) fn new(parts: &Parts) -> Drain {
        Drain {
            is_http1: parts.version <= Version::HTTP_11,
            expects_continue: parts.headers.contains_key(header::EXPECT),
        }
    }

    /// Discards the rest of a body, or adds to the response that the connection is closed.
    pub(super) async fn finish(self, mut body: Body, response: &mut Response<Body>) {
        if body.is_end_stream() {
            return;
        }
        let is_long = body.size_hint().lower() > DRAIN_BYTES_MAX as u64;
        let is_drained = !is_long && !self.expects_continue && {
            let discarded = tokio::time::timeout(DRAIN_TIMEOUT, discard(&mut body));
            discarded.await.unwrap_or(false)
        };
        if !is_drained && self.is_http1 {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
    }
}

/// Reads a body to its end. Returns whether it ended within the limit.
async fn discard(body: &mut Body) -> bool {
    let mut total = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        total += frame.data_ref().map_or(0, bytes::Bytes::len);
        if total > DRAIN_BYTES_MAX {
            return false;
        }
    }
    true
}
