//! Lists of slot records. They are read from the archive in batches when the connection accepts more, on
//! threads that may block, so that memory use does not depend on the length of the list.

use std::io::Write as _;

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, StatusCode, header};
use punctual_api::Status;
use punctual_store::Archive;

use super::list::GZIP_THRESHOLD_BYTES;
use super::list::format::ListFormat;
use super::{ApiResult, ResponseOptions, from_bytes};
use crate::ledger::{RecordQuery, SlotRecordPage, run_blocking};
use crate::registry::ListMetadata;
use crate::resource::ServedResource;

/// Number of records that are read at a time.
const RECORDS_PER_READ: usize = 256;

/// How a list of records is rendered.
#[derive(Clone, Copy)]
pub(crate) struct RecordListOptions {
    pub(crate) served: ServedResource,
    pub(crate) options: ResponseOptions,
    pub(crate) accepts_gzip: bool,
}

impl RecordListOptions {
    fn format(self) -> ListFormat {
        ListFormat { served: self.served, options: self.options }
    }
}

/// Renders one page.
pub(crate) fn render_record_page(page: &SlotRecordPage, options: RecordListOptions) -> ApiResult {
    let format = options.format();
    let mut body = Vec::new();
    format.write_head(&page.metadata, &mut body);
    for (index, item) in page.items.iter().enumerate() {
        format.write_item(item, index == 0, &mut body)?;
    }
    format.write_tail(page.items.is_empty(), &mut body);
    let content_type = options.options.format.content_type();
    Ok(from_bytes(StatusCode::OK, content_type, body.into()))
}

/// Renders all records of a query.
pub(crate) async fn render_record_list(
    archive: Archive,
    query: RecordQuery,
    revision: u64,
    options: RecordListOptions,
) -> ApiResult {
    let content_type = options.options.format.content_type();
    let format = options.format();
    let mut head = Vec::new();
    let metadata = ListMetadata { revision, continue_token: String::new(), remaining: None };
    format.write_head(&metadata, &mut head);
    let mut list = RecordChunks { archive, query: Some(query), format, is_empty: true, gzip: None };
    // A short list is sent whole, with a length and without compression.
    while head.len() < GZIP_THRESHOLD_BYTES {
        match list.next_chunk().await? {
            Some(chunk) => head.extend_from_slice(&chunk),
            None => return Ok(from_bytes(StatusCode::OK, content_type, head.into())),
        }
    }
    let mut response = from_bytes(StatusCode::OK, content_type, Bytes::new());
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if options.accepts_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&head).map_err(|error| Status::internal(&error.to_string()))?;
        head = std::mem::take(encoder.get_mut());
        list.gzip = Some(encoder);
    }
    *response.body_mut() = stream_body(head, list);
    Ok(response)
}

fn stream_body(first: Vec<u8>, list: RecordChunks) -> Body {
    Body::from_stream(futures::stream::unfold((Some(first), list), async |(first, mut list)| {
        if let Some(first) = first {
            return Some((Ok(Bytes::from(first)), (None, list)));
        }
        let chunk = list.next_chunk().await.map_err(std::io::Error::other).transpose()?;
        Some((chunk.map(Bytes::from), (None, list)))
    }))
}

/// The chunks of a list after its head.
struct RecordChunks {
    archive: Archive,
    /// `None` after the last chunk.
    query: Option<RecordQuery>,
    format: ListFormat,
    is_empty: bool,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl RecordChunks {
    /// Reads, renders and compresses the next records.
    async fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, Status> {
        let Some(mut query) = self.query.take() else { return Ok(None) };
        let format = self.format;
        let mut is_empty = self.is_empty;
        let mut gzip = self.gzip.take();
        let read = run_blocking(&self.archive, move || {
            let mut chunk = Vec::new();
            for (_, item) in query.read(RECORDS_PER_READ)? {
                format.write_item(&item, is_empty, &mut chunk)?;
                is_empty = false;
            }
            if query.is_ended {
                format.write_tail(is_empty, &mut chunk);
            }
            let chunk = compress(&mut gzip, chunk, query.is_ended)
                .map_err(|error| Status::internal(&error.to_string()))?;
            Ok((query, is_empty, gzip, chunk))
        });
        let (query, is_empty, gzip, chunk) = read.await?;
        self.query = Some(query).filter(|query| !query.is_ended);
        self.is_empty = is_empty;
        self.gzip = gzip;
        Ok(Some(chunk))
    }
}

/// Compresses a chunk if there is an encoder, which ends with the last chunk.
fn compress(
    gzip: &mut Option<GzEncoder<Vec<u8>>>,
    chunk: Vec<u8>,
    is_last: bool,
) -> std::io::Result<Vec<u8>> {
    let Some(mut encoder) = gzip.take() else { return Ok(chunk) };
    encoder.write_all(&chunk)?;
    if is_last {
        return encoder.finish();
    }
    let compressed = std::mem::take(encoder.get_mut());
    *gzip = Some(encoder);
    Ok(compressed)
}
