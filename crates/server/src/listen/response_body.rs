//! The body of a response on its way to a connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use super::activity::RequestInProgress;
use super::stream_executor::StreamProgress;

/// Maximum size of a piece. hyper takes the next piece when the client has accepted the last one, so
/// this bounds what a closed HTTP/2 window keeps in memory.
const PIECE_BYTES: usize = 16 << 10;

/// A body that is passed to hyper in small pieces. The request counts as in progress until the last
/// piece was taken.
pub(super) struct ResponseBody {
    body: Body,
    /// The rest of the last chunk of `body`.
    rest: Bytes,
    /// Whether pieces of the last chunk were taken already.
    is_rest_split: bool,
    /// The progress of an HTTP/2 stream. HTTP/1.1 needs no pieces, since its connection waits.
    progress: Option<Arc<StreamProgress>>,
    _request: RequestInProgress,
}

impl ResponseBody {
    pub(super) fn new(
        body: Body,
        progress: Option<Arc<StreamProgress>>,
        request: RequestInProgress,
    ) -> ResponseBody {
        ResponseBody { body, rest: Bytes::new(), is_rest_split: false, progress, _request: request }
    }

    /// Takes the next piece. The last piece is a copy, since hyper may keep it after this body was
    /// dropped, and it must not keep the whole chunk in memory.
    fn next_piece(&mut self) -> Bytes {
        if self.progress.is_some() && self.rest.len() > PIECE_BYTES {
            self.is_rest_split = true;
            return self.rest.split_to(PIECE_BYTES);
        }
        let last = std::mem::take(&mut self.rest);
        let is_split = std::mem::take(&mut self.is_rest_split);
        if is_split { Bytes::copy_from_slice(&last) } else { last }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(progress) = &self.progress {
            progress.set_sending(None);
        }
        while self.rest.is_empty() {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(chunk))) => self.rest = chunk,
                Some(Ok(Err(frame))) => return Poll::Ready(Some(Ok(frame))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        if let Some(progress) = &self.progress {
            progress.set_sending(Some(Instant::now()));
        }
        Poll::Ready(Some(Ok(Frame::data(self.next_piece()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
