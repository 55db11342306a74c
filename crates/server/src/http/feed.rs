//! Watches as streams of lines. Nothing is buffered for a slow reader: the stream reads the store's
//! ring when the connection takes more, and ends when the ring has moved on.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::status::{Status, StatusReason};
use punctual_api::{Dialect, status};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Call;
use crate::answer::{Answer, Showing};
use crate::env::ServerEnv;
use crate::metrics::InFlight;
use crate::registry::{Feed, Place, Seen};
use crate::request::{BodyFormat, Form, ListOptions, Shape};
use crate::resource::View;
use crate::stored::{Stored, Typed};
use crate::table::{self, partial};

/// How long a watch lasts that says nothing about it; up to twice that, so that not all end at once.
const USUAL_SECONDS: u64 = 1800;
/// How often a quiet watch is told how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// Answers with a stream of changes.
pub(super) fn answer(
    call: &Call,
    place: &Place,
    options: &ListOptions,
    showing: Showing,
) -> Answer {
    if showing.form.format == BodyFormat::Yaml {
        return Err(Form::not_acceptable());
    }
    let shared = &call.server.shared;
    let place_taken = call.watch_place()?;
    let feed = match unsupported(call, options) {
        Some(status) => Err(status),
        None => shared.registry.watch(place, options),
    };
    let seconds = options.timeout_seconds.filter(|seconds| *seconds > 0);
    let lasts =
        Duration::from_secs(seconds.unwrap_or_else(|| usual_seconds(&*shared.registry.env)));
    let stream = match feed {
        // Clients expect a watch that cannot begin to begin, and to say so.
        Err(status) if status.reason == StatusReason::Expired || status.code == 500 => {
            Body::from(frame("ERROR", &serde_json::to_value(&status).unwrap_or_default()))
        }
        Err(status) => return Err(status),
        Ok(feed) => Body::from_stream(futures::stream::unfold(
            Watching {
                feed,
                view: place.view,
                showing,
                has_columns: true,
                wants_bookmarks: options.wants_bookmarks,
                bookmark_at: Instant::now() + BOOKMARK_EVERY,
                ends_at: Instant::now() + lasts,
                ends: shared.ends.clone(),
                stage: Stage::Initial,
                _place: place_taken,
                _counted: shared.metrics.watching(),
            },
            |watching| watching.step(),
        )),
    };
    let mut response = Response::new(stream);
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// kube-apiserver over etcd 3.4, which the strict dialect is to be told from by nothing, sends
/// initial events out of its cache but not of the latest version.
fn unsupported(call: &Call, options: &ListOptions) -> Option<Status> {
    const MESSAGE: &str = "a watch stream was requested by the client but the required storage \
                           feature RequestWatchProgress is disabled";
    let is_strict = call.server.shared.registry.rules.dialect == Dialect::Strict;
    let is_latest = options.sends_initial_events == Some(true) && options.version.is_none();
    (is_strict && is_latest).then(|| Status::failure(status::StatusReason::InternalError, MESSAGE))
}

fn usual_seconds(env: &dyn ServerEnv) -> u64 {
    let mut chance = [0_u8; 2];
    env.fill_random(&mut chance);
    USUAL_SECONDS + u64::from(u16::from_le_bytes(chance)) * USUAL_SECONDS / 0x1_0000
}

enum Stage {
    /// What was there is being told.
    Initial,
    /// What changes is being told.
    Changes,
    Over,
}

struct Watching {
    feed: Feed,
    view: View,
    showing: Showing,
    has_columns: bool,
    wants_bookmarks: bool,
    bookmark_at: Instant,
    ends_at: Instant,
    ends: CancellationToken,
    stage: Stage,
    _place: Option<OwnedSemaphorePermit>,
    _counted: InFlight,
}

type Piece = Result<Bytes, std::convert::Infallible>;

impl Watching {
    /// The next piece of the stream; none at its end.
    async fn step(mut self) -> Option<(Piece, Watching)> {
        loop {
            let line = match self.stage {
                Stage::Over => return None,
                Stage::Initial => self.initial(),
                Stage::Changes => self.change().await,
            };
            let line = line.unwrap_or_else(|status| {
                self.stage = Stage::Over;
                Some(frame("ERROR", &serde_json::to_value(&status).unwrap_or_default()))
            });
            if let Some(line) = line {
                return Some((Ok(line), self));
            }
        }
    }

    /// One line about what was there, or none when that is over.
    fn initial(&mut self) -> Result<Option<Bytes>, Status> {
        if let Some(stored) = self.feed.next_initial() {
            return self.line("ADDED", &stored).map(Some);
        }
        self.stage = Stage::Changes;
        let end = self.feed.end_of_initial();
        Ok(end.filter(|_| self.wants_bookmarks).map(|revision| self.bookmark(revision, true)))
    }

    /// One line about a change, or how far the watch is; none at the end.
    async fn change(&mut self) -> Result<Option<Bytes>, Status> {
        tokio::select! {
            biased;
            () = self.ends.cancelled() => {
                self.stage = Stage::Over;
                Ok(None)
            }
            () = tokio::time::sleep_until(self.ends_at) => {
                self.stage = Stage::Over;
                self.progress()
            }
            seen = self.feed.next() => match seen? {
                Some(Seen::Added(stored)) => self.line("ADDED", &stored).map(Some),
                Some(Seen::Modified(stored)) => self.line("MODIFIED", &stored).map(Some),
                Some(Seen::Deleted(stored)) => self.line("DELETED", &stored).map(Some),
                None => {
                    self.stage = Stage::Over;
                    Ok(None)
                }
            },
            () = tokio::time::sleep_until(self.bookmark_at), if self.wants_bookmarks => {
                self.bookmark_at = Instant::now() + BOOKMARK_EVERY;
                self.progress()
            }
        }
    }

    fn progress(&mut self) -> Result<Option<Bytes>, Status> {
        if !self.wants_bookmarks {
            return Ok(None);
        }
        let revision = self.feed.progress()?;
        Ok(Some(self.bookmark(revision, false)))
    }

    fn line(&mut self, kind: &str, stored: &Stored) -> Result<Bytes, Status> {
        if self.showing.form.shape == Shape::Table {
            let tree = stored.served_tree()?;
            return Ok(frame(kind, &self.shown(tree)));
        }
        let mut line = Vec::with_capacity(stored.value.len() + 128);
        line.extend_from_slice(b"{\"type\":\"");
        line.extend_from_slice(kind.as_bytes());
        line.extend_from_slice(b"\",\"object\":");
        match self.showing.form.shape {
            Shape::Metadata => stored.write_metadata(&mut line)?,
            _ => stored.write(Typed::Yes, &mut line)?,
        }
        line.extend_from_slice(b"}\n");
        Ok(line.into())
    }

    /// An object in the form that was asked for.
    fn shown(&mut self, tree: Value) -> Value {
        match self.showing.form.shape {
            Shape::Whole => tree,
            Shape::Metadata => partial::object(&tree),
            Shape::Table => {
                let metadata = table::metadata_of_one(&tree);
                let mut rendering = self.showing.rendering();
                rendering.has_columns = std::mem::take(&mut self.has_columns);
                table::render(self.view, &[tree], metadata, rendering)
            }
        }
    }

    fn bookmark(&mut self, revision: u64, ends_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if let (true, Value::Object(fields)) = (ends_initial, &mut metadata) {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            fields.insert("annotations".to_owned(), annotations);
        }
        let tree = json!({
            "kind": self.view.resource.kind,
            "apiVersion": self.view.served.api_version,
            "metadata": metadata,
        });
        frame("BOOKMARK", &self.shown(tree))
    }
}

fn frame(kind: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n"))
}
