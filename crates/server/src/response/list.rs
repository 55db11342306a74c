//! List responses. They are streamed in chunks from a snapshot, so that memory use does not depend
//! on the length of the list.

use std::io::Write as _;

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::Status;
use serde_json::{Value, json};

use super::{ApiResult, RenderOptions, from_bytes, render_value};
use crate::registry::ListPage;
use crate::request::{ResponseFormat, ResponseShape};
use crate::resource::ServedResource;
use crate::stored::TypeMeta;
use crate::table::{self, partial};

/// Number of items that are read from the snapshot at a time.
const ITEMS_PER_READ: usize = 64;
/// Minimum size of a chunk, except the last.
const CHUNK_BYTES: usize = 64 << 10;
/// Minimum size of a compressed response, as in kube-apiserver.
const COMPRESSED_BYTES_MIN: usize = 128 << 10;

/// A list and how to render it.
pub(crate) struct ListResponse {
    pub(crate) served: ServedResource,
    pub(crate) page: ListPage,
    pub(crate) options: RenderOptions,
    pub(crate) accepts_gzip: bool,
}

/// Renders a list.
pub(crate) fn render_list(list: ListResponse) -> ApiResult {
    match list.options.format {
        ResponseFormat::JSON => Ok(stream_json(list)),
        format => render_decoded(&list, format),
    }
}

fn metadata(page: &ListPage) -> Value {
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    if let Value::Object(fields) = &mut metadata {
        if !page.continue_token.is_empty() {
            fields.insert("continue".to_owned(), page.continue_token.clone().into());
        }
        fields.extend(page.remaining.map(|count| ("remainingItemCount".to_owned(), count.into())));
    }
    metadata
}

/// Renders a list in a format that needs decoded objects.
fn render_decoded(list: &ListResponse, format: ResponseFormat) -> ApiResult {
    let served = list.served;
    let page = &list.page;
    let trees: Vec<Value> =
        page.all()?.iter().map(|stored| stored.to_served_json()).collect::<Result<_, Status>>()?;
    let rendered = match format.shape {
        ResponseShape::Table => {
            table::render(served, &trees, metadata(page), list.options.table_options())
        }
        ResponseShape::Metadata => partial::list(&trees, metadata(page)),
        ResponseShape::Full => json!({
            "kind": format!("{}List", served.resource.kind),
            "apiVersion": served.group_version.api_version,
            "metadata": metadata(page),
            "items": trees,
        }),
    };
    Ok(render_value(StatusCode::OK, &rendered, format))
}

fn stream_json(list: ListResponse) -> Response<Body> {
    let mut chunks = ListChunks::new(&list);
    let mut first = Vec::new();
    // A short list is sent whole, with a length and without compression.
    while first.len() < COMPRESSED_BYTES_MIN {
        match chunks.next() {
            Some(Ok(chunk)) => first.extend_from_slice(&chunk),
            Some(Err(status)) => return super::render_status(&status),
            None => return from_bytes(StatusCode::OK, "application/json", first.into()),
        }
    }
    let chunks = std::iter::once(Ok(Bytes::from(first))).chain(chunks);
    let chunks = chunks.map(|chunk| chunk.map_err(std::io::Error::other));
    let mut response = from_bytes(StatusCode::OK, "application/json", Bytes::new());
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if list.accepts_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        *response.body_mut() = Body::from_stream(futures::stream::iter(GzipChunks::new(chunks)));
    } else {
        *response.body_mut() = Body::from_stream(futures::stream::iter(chunks));
    }
    response
}

/// The chunks of a list in JSON.
struct ListChunks {
    page: ListPage,
    /// The key of the last written item, if any.
    last: Option<String>,
    phase: ListPhase,
    head: String,
}

enum ListPhase {
    Head,
    Items,
    Done,
}

impl ListChunks {
    fn new(list: &ListResponse) -> ListChunks {
        let served = list.served;
        let head = format!(
            "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
            served.resource.kind,
            served.group_version.api_version,
            metadata(&list.page)
        );
        ListChunks { page: list.page.clone(), last: None, phase: ListPhase::Head, head }
    }

    fn next_chunk(&mut self) -> Result<Vec<u8>, Status> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + (CHUNK_BYTES >> 2));
        if let ListPhase::Head = self.phase {
            chunk.extend_from_slice(self.head.as_bytes());
            self.phase = ListPhase::Items;
        }
        while chunk.len() < CHUNK_BYTES {
            let items = self.page.items(self.last.as_deref(), ITEMS_PER_READ)?;
            let is_last = items.len() < ITEMS_PER_READ;
            for (key, stored) in items {
                if self.last.is_some() {
                    chunk.push(b',');
                }
                stored.write(TypeMeta::Omit, &mut chunk)?;
                self.last = Some(key);
            }
            if is_last {
                chunk.extend_from_slice(b"]}\n");
                self.phase = ListPhase::Done;
                break;
            }
        }
        Ok(chunk)
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
