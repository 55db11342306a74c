//! The event stream of a tab: tells it when its page has changed, and passes on a log that it follows.
//!
//! The stream has no queue. It sends the number of the last change, so a slow client skips changes and misses nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use super::app::App;
use super::context::Visitor;
use super::params::Params;
use crate::data::{CronJobId, LogRequest, Scope, is_object_name, open_log};

/// Changes closer to each other are sent as one.
const CHANGE_INTERVAL: Duration = Duration::from_millis(400);
/// How often a stream without changes sends something, so that both sides notice a lost connection.
const BEAT_INTERVAL: Duration = Duration::from_secs(10);

type LogStream = Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>> + Send>>;

/// How many lines of a log a stream begins with.
const LOG_LINES: usize = 500;

/// The position of a stream, which its client sends to resume: the process and its last change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) epoch: i64,
    pub(super) revision: u64,
}

impl Position {
    fn parse(text: &str) -> Option<Position> {
        let (epoch, revision) = text.split_once('.')?;
        Some(Position { epoch: epoch.parse().ok()?, revision: revision.parse().ok()? })
    }

    pub(super) fn text(self) -> String {
        format!("{}.{}", self.epoch, self.revision)
    }
}

struct EventStream {
    app: Arc<App>,
    visitor: Visitor,
    scope: Scope,
    changes: watch::Receiver<u64>,
    /// The change that the client knows; `None` if it knows none of this process.
    known: Option<u64>,
    /// The earliest time of the next change event.
    not_before: Instant,
    is_pending: bool,
    log: Option<LogStream>,
    /// The beginning of a character whose end has not arrived.
    partial: Vec<u8>,
    /// An event that is sent first.
    first: Option<&'static str>,
    _permit: OwnedSemaphorePermit,
}

/// Serves the event stream of a tab.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
    headers: HeaderMap,
) -> Response {
    let Some(scope) = parse_scope(params.get("scope")) else {
        return (StatusCode::BAD_REQUEST, "There is no such scope.\n").into_response();
    };
    let Ok(permit) = app.streams.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many tabs are open.\n").into_response();
    };
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let resumed = last.or(Some(params.get("since"))).and_then(Position::parse);
    let log = open_followed_log(&visitor, &scope, &params).await;
    let changes = app.cache.subscribe();
    let known = resumed.filter(|position| position.epoch == app.epoch);
    let stream = EventStream {
        scope,
        changes,
        known: known.map(|position| position.revision),
        not_before: Instant::now(),
        is_pending: true,
        first: log.is_some().then_some("log-start"),
        log,
        partial: Vec::new(),
        app,
        visitor,
        _permit: permit,
    };
    let events = stream::unfold(stream, |mut stream| async move {
        let event = stream.next_event().await?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), stream))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn parse_scope(text: &str) -> Option<Scope> {
    if text == "fleet" {
        return Some(Scope::Fleet);
    }
    if let Some(id) = text.strip_prefix("cronjob:") {
        return CronJobId::parse(id).map(Scope::CronJob);
    }
    let (namespace, name) = text.strip_prefix("run:")?.split_once('/')?;
    let is_valid = is_object_name(namespace) && is_object_name(name);
    is_valid.then(|| Scope::Job { namespace: namespace.into(), name: name.into() })
}

/// Opens the log that a tab follows. A log that cannot be opened is left to the page, which says why.
async fn open_followed_log(visitor: &Visitor, scope: &Scope, params: &Params) -> Option<LogStream> {
    let Scope::Job { namespace, .. } = scope else { return None };
    let pod = params.get("pod");
    let container = params.get("container");
    if !is_object_name(pod) || container.is_empty() {
        return None;
    }
    let request = LogRequest {
        namespace: namespace.clone(),
        pod: pod.to_owned(),
        container: container.to_owned(),
        follow: true,
        tail_lines: Some(LOG_LINES),
    };
    let log = open_log(&visitor.user.detail.reader, &request).await.ok()?;
    Some(Box::pin(log))
}

impl EventStream {
    /// Waits for the next event; `None` at the end.
    async fn next_event(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(self.event(first, &json!({})));
        }
        loop {
            if self.is_pending && Instant::now() >= self.not_before {
                self.is_pending = false;
                if let Some(event) = self.change_event() {
                    return Some(event);
                }
            }
            let stop = self.app.stop.clone();
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                chunk = next_chunk(&mut self.log) => {
                    if let Some(event) = self.log_event(chunk) {
                        return Some(event);
                    }
                }
                changed = self.changes.changed(), if !self.is_pending => {
                    changed.ok()?;
                    self.is_pending = true;
                }
                () = tokio::time::sleep_until(self.not_before), if self.is_pending => {}
                () = tokio::time::sleep(BEAT_INTERVAL) => return self.beat().await,
            }
        }
    }

    /// Returns an event if the scope has changed since the last one.
    fn change_event(&mut self) -> Option<String> {
        let revision = self.app.cache.revision_of(&self.scope).unwrap_or(0);
        if self.known == Some(revision) {
            return None;
        }
        self.known = Some(revision);
        self.not_before = Instant::now() + CHANGE_INTERVAL;
        Some(self.event("change", &json!({})))
    }

    fn log_event(&mut self, chunk: Option<Bytes>) -> Option<String> {
        let Some(chunk) = chunk else {
            self.log = None;
            return Some(self.event("log-end", &json!({})));
        };
        self.partial.extend_from_slice(&chunk);
        let complete = complete_length(&self.partial);
        let rest = self.partial.split_off(complete);
        let text = String::from_utf8_lossy(&self.partial).into_owned();
        self.partial = rest;
        (!text.is_empty()).then(|| self.event("log", &json!({"text": text})))
    }

    /// Returns a sign of life. It ends the stream of a session that is over.
    async fn beat(&mut self) -> Option<String> {
        self.app.sessions.account(&self.visitor.token, self.app.now())?;
        let connection = self.app.connection(&self.visitor).await;
        Some(self.event("beat", &json!({"state": format!("{connection:?}")})))
    }

    fn event(&self, name: &str, data: &serde_json::Value) -> String {
        let revision = self.known.unwrap_or(0);
        let position = Position { epoch: self.app.epoch, revision };
        format!("event: {name}\nid: {}\ndata: {data}\n\n", position.text())
    }
}

/// Returns how many bytes do not end within a character. Bytes that are not text count as complete.
fn complete_length(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// Waits for the next part of a log; for ever if there is none.
async fn next_chunk(log: &mut Option<LogStream>) -> Option<Bytes> {
    match log {
        Some(log) => log.next().await.and_then(Result::ok),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written() {
        let position = Position { epoch: -5, revision: 7 };
        assert_eq!(Position::parse(&position.text()), Some(position));
        for text in ["", "1", "a.b", "1.-2"] {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_character_is_not_cut() {
        let euro = "1€".as_bytes();
        assert_eq!([1, 2, 3, 4].map(|length| complete_length(&euro[..length])), [1, 1, 1, 4]);
        assert_eq!(complete_length(b"\xff\xfe"), 2);
    }

    #[test]
    fn scopes_name_objects_only() {
        assert_eq!(parse_scope("fleet"), Some(Scope::Fleet));
        assert!(parse_scope("cronjob:cronjobs/a/b").is_some());
        assert!(parse_scope("run:a/b").is_some());
        for text in ["", "cronjob:pods/a/b", "run:a/../b", "run:a"] {
            assert_eq!(parse_scope(text), None, "{text}");
        }
    }
}
