//! Request bodies that no handler has read.
//!
//! An HTTP/1.1 connection can carry the next request only after the whole body of the last one. So
//! the rest of the body is read and discarded before the response is sent. If it is too long or too
//! slow, the response says that the connection is closed. On HTTP/2 it cannot say that: many clients
//! report a reset stream and lose the response. So more of the body is discarded there, up to what a
//! client may send by mistake. Discarding needs no memory beyond the window of the stream.

use std::time::Duration;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderValue, Response, Version, header};
use http_body::Body as _;
use http_body_util::BodyExt as _;

/// How much of an unread body is discarded, and how long that may take.
#[derive(Clone, Copy)]
struct DrainLimits {
    bytes_max: u64,
    timeout: Duration,
}

const HTTP1_LIMITS: DrainLimits =
    DrainLimits { bytes_max: 4 << 20, timeout: Duration::from_secs(1) };
const HTTP2_LIMITS: DrainLimits =
    DrainLimits { bytes_max: 128 << 20, timeout: Duration::from_secs(5) };

/// How the body of a request can be drained.
pub(super) struct BodyDrain {
    is_http1: bool,
    /// Whether the client may still be waiting for permission to send the body.
    expects_continue: bool,
}

impl BodyDrain {
    pub(super) fn new(parts: &Parts) -> BodyDrain {
        BodyDrain {
            is_http1: parts.version <= Version::HTTP_11,
            expects_continue: parts.headers.contains_key(header::EXPECT),
        }
    }

    /// Discards the rest of a body, or sets `Connection: close`.
    pub(super) async fn finish(self, mut body: Body, response: &mut Response<Body>) {
        if body.is_end_stream() {
            return;
        }
        let limits = if self.is_http1 { HTTP1_LIMITS } else { HTTP2_LIMITS };
        let is_long = body.size_hint().lower() > limits.bytes_max;
        let is_drained = !is_long && !self.expects_continue && {
            let discarding = discard(&mut body, limits.bytes_max);
            tokio::time::timeout(limits.timeout, discarding).await.unwrap_or(false)
        };
        if !is_drained && self.is_http1 {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
    }
}

/// Reads a body to its end. Returns whether it ended within the limit.
async fn discard(body: &mut Body, bytes_max: u64) -> bool {
    let mut total = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        total += frame.data_ref().map_or(0, bytes::Bytes::len) as u64;
        if total > bytes_max {
            return false;
        }
    }
    true
}
