//! Watch responses: streams of JSON lines. Events are not queued per client: the stream reads the
//! store's history when the connection accepts more bytes, and ends with an error if the client
//! falls so far behind that the history no longer contains the next event.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::Dialect;
use punctual_api::status::{Status, StatusReason};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{LongRunning, RequestContext};
use crate::auth::User;
use crate::env::ServerEnv;
use crate::ledger::SlotRecordWatch;
use crate::limits::Share;
use crate::metrics::GaugeGuard;
use crate::registry::{CollectionRef, ObjectWatch, Registry, WatchEvent};
use crate::request::{ListOptions, Representation, ResponseFormat, TextFormat};
use crate::resource::{SLOT_RECORDS, ServedResource};
use crate::response::{ApiResult, ResponseOptions};
use crate::server::Server;
use crate::stored::{StoredObject, TypeMeta};
use crate::table::{self, partial_metadata};

/// Shortest duration of a watch without `timeoutSeconds`. The duration is random, up to twice this
/// value, so that clients do not reconnect all at once. kube-apiserver does the same.
const MIN_TIMEOUT_SECONDS: u64 = 1800;
/// Longest duration of a watch. Longer requests are shortened to it.
const MAX_TIMEOUT_SECONDS: u64 = 3600;
/// Interval of bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

/// Lines up to this length do not count as bytes of unread responses.
const FREE_LINE_BYTES: usize = 16 << 10;

/// Responds with a stream of watch events.
pub(super) async fn respond(
    request: &RequestContext,
    collection: &CollectionRef,
    options: &ListOptions,
    response_options: ResponseOptions,
) -> ApiResult {
    if response_options.format.text_format == TextFormat::Yaml {
        return Err(ResponseFormat::not_acceptable());
    }
    let state = &request.server.state;
    let permit = request.acquire_watch()?;
    let watch = match unsupported_option(request, options) {
        Some(status) => Err(status),
        None => WatchSource::start(&state.registry, collection, options).await,
    };
    let seconds = options.timeout_seconds.filter(|seconds| *seconds > 0);
    let seconds = seconds.unwrap_or_else(|| default_timeout_seconds(&*state.registry.env));
    let seconds = seconds.min(MAX_TIMEOUT_SECONDS);
    let stream = match watch {
        // kube-apiserver reports these errors as an event in the stream, and clients expect that.
        Err(status) if status.reason == StatusReason::Expired || status.code == 500 => {
            Body::from(encode_event("ERROR", &serde_json::to_value(&status).unwrap_or_default()))
        }
        Err(status) => return Err(status),
        Ok(watch) => Body::from_stream(futures::stream::unfold(
            WatchResponse {
                watch,
                served: collection.served,
                options: response_options,
                has_columns: true,
                wants_bookmarks: options.wants_bookmarks,
                bookmark_at: Instant::now() + BOOKMARK_INTERVAL,
                ends_at: Instant::now() + Duration::from_secs(seconds),
                shutdown: state.shutdown.clone(),
                phase: WatchPhase::Initial,
                charged_to: permit
                    .is_some()
                    .then(|| (request.server.clone(), request.user.clone())),
                line_bytes: None,
                _permit: permit,
                _gauge: state.metrics.track_watch(),
            },
            |response| response.next_chunk(),
        )),
    };
    let mut response = Response::new(stream);
    *response.status_mut() = StatusCode::OK;
    response.extensions_mut().insert(LongRunning);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// Returns the error of kube-apiserver over etcd 3.4, which the strict dialect imitates: it sends
/// initial events from its cache, but cannot send them for the latest version.
fn unsupported_option(request: &RequestContext, options: &ListOptions) -> Option<Status> {
    const MESSAGE: &str = "a watch stream was requested by the client but the required storage \
                           feature RequestWatchProgress is disabled";
    let is_strict = request.server.state.registry.validation.dialect == Dialect::Kubernetes;
    let is_latest = options.sends_initial_events == Some(true) && options.version.is_none();
    (is_strict && is_latest).then(|| Status::failure(StatusReason::InternalError, MESSAGE))
}

fn default_timeout_seconds(env: &dyn ServerEnv) -> u64 {
    let mut random = [0_u8; 2];
    env.fill_random(&mut random);
    let extra = u64::from(u16::from_le_bytes(random)) * MIN_TIMEOUT_SECONDS / 0x1_0000;
    MIN_TIMEOUT_SECONDS + extra
}

/// What a watch reads.
enum WatchSource {
    Objects(Box<ObjectWatch>),
    SlotRecords(Box<SlotRecordWatch>),
}

impl WatchSource {
    async fn start(
        registry: &Registry,
        collection: &CollectionRef,
        options: &ListOptions,
    ) -> Result<WatchSource, Status> {
        if collection.served.resource == &SLOT_RECORDS {
            let watch = registry.watch_records(collection, options).await?;
            return Ok(WatchSource::SlotRecords(Box::new(watch)));
        }
        let watch = registry.watch(collection, options)?;
        Ok(WatchSource::Objects(Box::new(watch)))
    }

    async fn next_initial(&mut self) -> Result<Option<StoredObject>, Status> {
        match self {
            WatchSource::Objects(watch) => watch.next_initial(),
            WatchSource::SlotRecords(watch) => watch.next_initial().await,
        }
    }

    fn take_initial_revision(&mut self) -> Option<u64> {
        match self {
            WatchSource::Objects(watch) => watch.take_initial_revision(),
            WatchSource::SlotRecords(watch) => watch.take_initial_revision(),
        }
    }

    async fn next(&mut self) -> Result<Option<WatchEvent>, Status> {
        match self {
            WatchSource::Objects(watch) => watch.next().await,
            WatchSource::SlotRecords(watch) => watch.next().await,
        }
    }

    fn progress(&mut self) -> Result<u64, Status> {
        match self {
            WatchSource::Objects(watch) => watch.progress(),
            WatchSource::SlotRecords(watch) => watch.progress(),
        }
    }
}

enum WatchPhase {
    /// Sends the objects that existed at the start.
    Initial,
    /// Sends changes.
    Changes,
    Done,
}

/// State of one watch response.
struct WatchResponse {
    watch: WatchSource,
    served: ServedResource,
    options: ResponseOptions,
    /// Whether the next table describes its columns; true until the first table was sent.
    has_columns: bool,
    wants_bookmarks: bool,
    bookmark_at: Instant,
    ends_at: Instant,
    shutdown: CancellationToken,
    phase: WatchPhase,
    /// The server and the user to whom long lines are charged, unless the watch is in this process.
    charged_to: Option<(Server, User)>,
    /// The bytes of the last line, if it was long.
    line_bytes: Option<Share>,
    _permit: Option<Share>,
    _gauge: GaugeGuard,
}

type WatchChunk = Result<Bytes, std::convert::Infallible>;

impl WatchResponse {
    /// Returns the next chunk of the stream, or `None` at its end.
    async fn next_chunk(mut self) -> Option<(WatchChunk, WatchResponse)> {
        loop {
            let line = match self.phase {
                WatchPhase::Done => return None,
                WatchPhase::Initial => self.next_initial().await,
                WatchPhase::Changes => self.next_change().await,
            };
            let line = line.and_then(|line| self.reserve_line_bytes(line));
            let line = line.unwrap_or_else(|status| {
                self.phase = WatchPhase::Done;
                Some(encode_event("ERROR", &serde_json::to_value(&status).unwrap_or_default()))
            });
            if let Some(line) = line {
                return Some((Ok(line), self));
            }
        }
    }

    /// Counts the bytes of a long line, which stays in memory until the client has read it.
    fn reserve_line_bytes(&mut self, line: Option<Bytes>) -> Result<Option<Bytes>, Status> {
        self.line_bytes = None;
        let length = line.as_ref().map_or(0, Bytes::len);
        if length > FREE_LINE_BYTES
            && let Some((server, user)) = &self.charged_to
        {
            let bytes = server.state.limiter.acquire_response(user, Some(length as u64))?;
            self.line_bytes = Some(bytes);
        }
        Ok(line)
    }

    /// Returns the next initial event. After the last one it returns the bookmark that ends them,
    /// if the client asked for it.
    async fn next_initial(&mut self) -> Result<Option<Bytes>, Status> {
        if let Some(stored) = self.watch.next_initial().await? {
            return self.encode_object("ADDED", &stored).map(Some);
        }
        self.phase = WatchPhase::Changes;
        match self.watch.take_initial_revision() {
            Some(revision) if self.wants_bookmarks => Ok(Some(self.bookmark(revision, true))),
            _ => Ok(None),
        }
    }

    /// Waits for the next change or bookmark. Returns `None` when the watch ends without a last
    /// line.
    async fn next_change(&mut self) -> Result<Option<Bytes>, Status> {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => {
                self.phase = WatchPhase::Done;
                Ok(None)
            }
            () = tokio::time::sleep_until(self.ends_at) => {
                self.phase = WatchPhase::Done;
                self.progress_bookmark()
            }
            event = self.watch.next() => match event? {
                Some(WatchEvent::Added(stored)) => self.encode_object("ADDED", &stored).map(Some),
                Some(WatchEvent::Modified(stored)) => {
                    self.encode_object("MODIFIED", &stored).map(Some)
                }
                Some(WatchEvent::Deleted(stored)) => {
                    self.encode_object("DELETED", &stored).map(Some)
                }
                None => {
                    self.phase = WatchPhase::Done;
                    Ok(None)
                }
            },
            () = tokio::time::sleep_until(self.bookmark_at), if self.wants_bookmarks => {
                self.bookmark_at = Instant::now() + BOOKMARK_INTERVAL;
                self.progress_bookmark()
            }
        }
    }

    /// Returns a bookmark with the latest revision that was sent, if the client wants bookmarks.
    fn progress_bookmark(&mut self) -> Result<Option<Bytes>, Status> {
        if !self.wants_bookmarks {
            return Ok(None);
        }
        let revision = self.watch.progress()?;
        Ok(Some(self.bookmark(revision, false)))
    }

    fn encode_object(&mut self, event_type: &str, stored: &StoredObject) -> Result<Bytes, Status> {
        if self.options.format.representation == Representation::Table {
            let tree = stored.to_served_json()?;
            return Ok(encode_event(event_type, &self.render(tree)));
        }
        let mut line = Vec::with_capacity(stored.value.len() + 128);
        line.extend_from_slice(b"{\"type\":\"");
        line.extend_from_slice(event_type.as_bytes());
        line.extend_from_slice(b"\",\"object\":");
        match self.options.format.representation {
            Representation::Metadata => stored.write_metadata(&mut line)?,
            _ => stored.write(TypeMeta::Include, &mut line)?,
        }
        line.extend_from_slice(b"}\n");
        Ok(line.into())
    }

    /// Renders an object in the representation that the client asked for.
    fn render(&mut self, tree: Value) -> Value {
        match self.options.format.representation {
            Representation::Full => tree,
            Representation::Metadata => partial_metadata::object(&tree),
            Representation::Table => {
                let metadata = table::metadata_of_one(&tree);
                let mut table_options = self.options.table_options();
                table_options.has_columns = std::mem::take(&mut self.has_columns);
                table::render(self.served, &[tree], metadata, table_options)
            }
        }
    }

    fn bookmark(&mut self, revision: u64, ends_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if ends_initial && let Value::Object(fields) = &mut metadata {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            fields.insert("annotations".to_owned(), annotations);
        }
        let tree = json!({
            "kind": self.served.resource.kind,
            "apiVersion": self.served.group_version.api_version,
            "metadata": metadata,
        });
        encode_event("BOOKMARK", &self.render(tree))
    }
}

fn encode_event(event_type: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{{\"type\":\"{event_type}\",\"object\":{object}}}\n"))
}
