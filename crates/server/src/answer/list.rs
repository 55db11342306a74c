//! Lists, written piece by piece out of a snapshot: a large one takes no more memory than a small
//! one, and holds up nobody.

use std::io::Write as _;

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::Status;
use serde_json::{Value, json};

use super::{Answer, Showing, bytes, tree_as};
use crate::registry::Page;
use crate::request::{Form, Shape};
use crate::resource::View;
use crate::stored::Typed;
use crate::table::{self, partial};

/// Items that are read at a time.
const ITEMS_AT_A_TIME: usize = 64;
/// A piece is sent when it has so many bytes.
const PIECE_BYTES: usize = 64 << 10;
/// Answers below this are not worth compressing, as in kube-apiserver.
const COMPRESSED_BYTES_MIN: usize = 128 << 10;

/// A list to be shown.
pub(crate) struct ListAnswer {
    pub(crate) view: View,
    pub(crate) page: Page,
    pub(crate) showing: Showing,
    pub(crate) takes_gzip: bool,
}

/// Shows a list.
pub(crate) fn list(answer: ListAnswer) -> Answer {
    match answer.showing.form {
        Form::JSON => Ok(streamed(answer)),
        form => rendered(&answer, form),
    }
}

fn metadata(page: &Page) -> Value {
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    if let Value::Object(fields) = &mut metadata {
        if !page.continue_token.is_empty() {
            fields.insert("continue".to_owned(), page.continue_token.clone().into());
        }
        fields.extend(page.remaining.map(|count| ("remainingItemCount".to_owned(), count.into())));
    }
    metadata
}

/// Forms that need the objects to be read.
fn rendered(answer: &ListAnswer, form: Form) -> Answer {
    let (view, page) = (answer.view, &answer.page);
    let trees: Vec<Value> =
        page.all()?.iter().map(|stored| stored.served_tree()).collect::<Result<_, Status>>()?;
    let shown = match form.shape {
        Shape::Table => table::render(view, &trees, metadata(page), answer.showing.rendering()),
        Shape::Metadata => partial::list(&trees, metadata(page)),
        Shape::Whole => json!({
            "kind": format!("{}List", view.resource.kind),
            "apiVersion": view.served.api_version,
            "metadata": metadata(page),
            "items": trees,
        }),
    };
    Ok(tree_as(StatusCode::OK, &shown, form))
}

fn streamed(answer: ListAnswer) -> Response<Body> {
    let mut pieces = Pieces::new(&answer);
    let mut first = Vec::new();
    // A list that ends before it is worth compressing has a length, and no encoding.
    while first.len() < COMPRESSED_BYTES_MIN {
        match pieces.next() {
            Some(Ok(piece)) => first.extend_from_slice(&piece),
            Some(Err(status)) => return super::status(&status),
            None => return bytes(StatusCode::OK, "application/json", first.into()),
        }
    }
    let rest = std::iter::once(Ok(Bytes::from(first))).chain(pieces);
    let rest = rest.map(|piece| piece.map_err(std::io::Error::other));
    let mut response = bytes(StatusCode::OK, "application/json", Bytes::new());
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if answer.takes_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        *response.body_mut() = Body::from_stream(futures::stream::iter(Gzip::new(rest)));
    } else {
        *response.body_mut() = Body::from_stream(futures::stream::iter(rest));
    }
    response
}

/// The text of a list, piece by piece.
struct Pieces {
    page: Page,
    /// The key of the last item written; none before the first.
    last: Option<String>,
    stage: Stage,
    head: String,
}

enum Stage {
    Head,
    Items,
    Done,
}

impl Pieces {
    fn new(answer: &ListAnswer) -> Pieces {
        let view = answer.view;
        let head = format!(
            "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
            view.resource.kind,
            view.served.api_version,
            metadata(&answer.page)
        );
        Pieces { page: answer.page.clone(), last: None, stage: Stage::Head, head }
    }

    fn piece(&mut self) -> Result<Vec<u8>, Status> {
        let mut piece = Vec::with_capacity(PIECE_BYTES + (PIECE_BYTES >> 2));
        if let Stage::Head = self.stage {
            piece.extend_from_slice(self.head.as_bytes());
            self.stage = Stage::Items;
        }
        while piece.len() < PIECE_BYTES {
            let items = self.page.items(self.last.as_deref(), ITEMS_AT_A_TIME)?;
            let is_last = items.len() < ITEMS_AT_A_TIME;
            for (key, stored) in items {
                if self.last.is_some() {
                    piece.push(b',');
                }
                stored.write(Typed::No, &mut piece)?;
                self.last = Some(key);
            }
            if is_last {
                piece.extend_from_slice(b"]}\n");
                self.stage = Stage::Done;
                break;
            }
        }
        Ok(piece)
    }
}

impl Iterator for Pieces {
    type Item = Result<Bytes, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.stage {
            Stage::Done => None,
            _ => {
                let piece = self.piece();
                if piece.is_err() {
                    self.stage = Stage::Done;
                }
                Some(piece.map(Bytes::from))
            }
        }
    }
}

/// Pieces, compressed as they come.
struct Gzip<I> {
    pieces: I,
    /// None when the end was written.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I: Iterator<Item = std::io::Result<Bytes>>> Gzip<I> {
    fn new(pieces: I) -> Gzip<I> {
        Gzip { pieces, encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())) }
    }
}

impl<I: Iterator<Item = std::io::Result<Bytes>>> Iterator for Gzip<I> {
    type Item = std::io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let encoder = self.encoder.as_mut()?;
            let Some(piece) = self.pieces.next() else {
                return self.encoder.take().map(|encoder| encoder.finish().map(Bytes::from));
            };
            if let Err(error) = piece.and_then(|piece| encoder.write_all(&piece)) {
                self.encoder = None;
                return Some(Err(error));
            }
            if !encoder.get_ref().is_empty() {
                return Some(Ok(std::mem::take(encoder.get_mut()).into()));
            }
        }
    }
}
