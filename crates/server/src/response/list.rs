//! List responses. They are streamed in chunks from a snapshot, so that memory use does not depend
//! on the length of the list.

pub(super) mod format;

use std::io::Write as _;

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::Status;

use self::format::ListFormat;
use super::{ResponseOptions, from_bytes};
use crate::registry::ListPage;
use crate::resource::ServedResource;
use crate::stored::StoredObject;

/// Number of items that are read from the snapshot at a time.
const ITEMS_PER_READ: usize = 64;
/// Minimum size of a chunk, except the last.
const CHUNK_BYTES: usize = 64 << 10;
/// Responses from this size, before compression, are compressed, as in kube-apiserver.
pub(super) const GZIP_THRESHOLD_BYTES: usize = 128 << 10;

/// A list and how to render it.
pub(crate) struct ListResponse {
    pub(crate) served: ServedResource,
    pub(crate) page: ListPage,
    pub(crate) options: ResponseOptions,
    pub(crate) accepts_gzip: bool,
}

/// Renders a list.
pub(crate) fn render_list(list: ListResponse) -> Response<Body> {
    let content_type = list.options.format.content_type();
    let accepts_gzip = list.accepts_gzip;
    let mut chunks = ListChunks::new(list);
    let mut first = Vec::new();
    // A short list is sent whole, with a length and without compression.
    while first.len() < GZIP_THRESHOLD_BYTES {
        match chunks.next() {
            Some(Ok(chunk)) => first.extend_from_slice(&chunk),
            Some(Err(status)) => return super::render_status(&status),
            None => return from_bytes(StatusCode::OK, content_type, first.into()),
        }
    }
    let chunks = std::iter::once(Ok(Bytes::from(first))).chain(chunks);
    let chunks = chunks.map(|chunk| chunk.map_err(std::io::Error::other));
    let mut response = from_bytes(StatusCode::OK, content_type, Bytes::new());
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if accepts_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        *response.body_mut() = stream_body(GzipChunks::new(chunks));
    } else {
        *response.body_mut() = stream_body(chunks);
    }
    response
}

/// Returns a body that renders each chunk when the connection accepts it. Other tasks run between
/// two chunks.
fn stream_body<I>(chunks: I) -> Body
where
    I: Iterator<Item = std::io::Result<Bytes>> + Send + 'static,
{
    Body::from_stream(futures::stream::unfold(chunks, async |mut chunks| {
        tokio::task::yield_now().await;
        let chunk = chunks.next()?;
        Some((chunk, chunks))
    }))
}

/// The chunks of a list.
struct ListChunks {
    page: ListPage,
    format: ListFormat,
    /// Items that were read from the snapshot and not written yet.
    read: std::vec::IntoIter<(String, StoredObject)>,
    /// The key of the last written item, if any.
    last: Option<String>,
    phase: ListPhase,
}

enum ListPhase {
    Head,
    Items,
    Done,
}

impl ListChunks {
    fn new(list: ListResponse) -> ListChunks {
        let format = ListFormat { served: list.served, options: list.options };
        let read = Vec::new().into_iter();
        ListChunks { page: list.page, format, read, last: None, phase: ListPhase::Head }
    }

    fn next_chunk(&mut self) -> Result<Vec<u8>, Status> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + (CHUNK_BYTES >> 2));
        if let ListPhase::Head = self.phase {
            self.format.write_head(&self.page.metadata(), &mut chunk);
            self.phase = ListPhase::Items;
        }
        while chunk.len() < CHUNK_BYTES {
            match self.next_item()? {
                Some((key, stored)) => {
                    self.format.write_item(&stored, self.last.is_none(), &mut chunk)?;
                    self.last = Some(key);
                }
                None => {
                    self.format.write_tail(self.last.is_none(), &mut chunk);
                    self.phase = ListPhase::Done;
                    break;
                }
            }
        }
        Ok(chunk)
    }

    fn next_item(&mut self) -> Result<Option<(String, StoredObject)>, Status> {
        if self.read.as_slice().is_empty() {
            self.read = self.page.items(self.last.as_deref(), ITEMS_PER_READ)?.into_iter();
        }
        Ok(self.read.next())
    }
}

impl Iterator for ListChunks {
    type Item = Result<Bytes, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        if let ListPhase::Done = self.phase {
            return None;
        }
        let chunk = self.next_chunk();
        if chunk.is_err() {
            self.phase = ListPhase::Done;
        }
        Some(chunk.map(Bytes::from))
    }
}

/// Compresses chunks one by one.
struct GzipChunks<I> {
    chunks: I,
    /// `None` after the last chunk.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I: Iterator<Item = std::io::Result<Bytes>>> GzipChunks<I> {
    fn new(chunks: I) -> GzipChunks<I> {
        GzipChunks { chunks, encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())) }
    }
}

impl<I: Iterator<Item = std::io::Result<Bytes>>> Iterator for GzipChunks<I> {
    type Item = std::io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let encoder = self.encoder.as_mut()?;
            let Some(chunk) = self.chunks.next() else {
                return self.encoder.take().map(|encoder| encoder.finish().map(Bytes::from));
            };
            if let Err(error) = chunk.and_then(|chunk| encoder.write_all(&chunk)) {
                self.encoder = None;
                return Some(Err(error));
            }
            if !encoder.get_ref().is_empty() {
                return Some(Ok(std::mem::take(encoder.get_mut()).into()));
            }
        }
    }
}
