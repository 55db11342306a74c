//! The task that watches one scope and sends every change to its subscribers.

use std::ops::ControlFlow;
use std::sync::Arc;

use futures::StreamExt as _;
use http::StatusCode;
use kube::Client;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::STALL_MAX;
use crate::watch::{WatchScope, WatchedObject, new_backoff};

/// An object of a shared watch, with its JSON text.
type SharedObject = WatchedObject<Arc<str>>;

/// A change of an object. Clones share the text.
#[derive(Clone)]
pub(super) enum SharedEvent {
    /// The object was added or changed.
    Applied(Arc<SharedObject>),
    /// The object was deleted; this is its last state.
    Deleted(Arc<SharedObject>),
}

impl SharedEvent {
    pub(super) fn object(&self) -> &SharedObject {
        match self {
            SharedEvent::Applied(object) | SharedEvent::Deleted(object) => object,
        }
    }
}

/// A request to join a watch.
pub(super) struct JoinRequest {
    /// Gets every change after the position.
    pub(super) events: mpsc::Sender<SharedEvent>,
    /// Gets the version up to which changes were sent to earlier subscribers.
    pub(super) position: oneshot::Sender<String>,
}

/// The watch of one scope.
pub(super) struct SharedWatch {
    scope: WatchScope,
    api: Api<SharedObject>,
    requests: mpsc::Receiver<JoinRequest>,
    subscribers: Vec<mpsc::Sender<SharedEvent>>,
    /// The version up to which all changes were sent.
    position: String,
}

impl SharedWatch {
    pub(super) fn new(
        scope: WatchScope,
        client: &Client,
        requests: mpsc::Receiver<JoinRequest>,
    ) -> SharedWatch {
        let api = scope.api(client.clone());
        SharedWatch { scope, api, requests, subscribers: Vec::new(), position: String::new() }
    }

    /// Runs until the task is aborted.
    pub(super) async fn run(mut self) {
        let mut backoff = new_backoff();
        loop {
            match self.current_version().await {
                Ok(version) => {
                    self.position = version;
                    while self.watch().await.is_continue() {
                        tokio::time::sleep(backoff.next().unwrap_or(STALL_MAX)).await;
                    }
                    // The changes since the position are lost, so all subscribers must list again.
                    self.subscribers.clear();
                }
                Err(error) => self.scope.log_list_error(&error),
            }
            tokio::time::sleep(backoff.next().unwrap_or(STALL_MAX)).await;
        }
    }

    /// Returns the current version of the scope, from a list of one object.
    async fn current_version(&self) -> Result<String, kube::Error> {
        let page = self.api.list(&ListParams::default().limit(1)).await?;
        Ok(page.metadata.resource_version.unwrap_or_default())
    }

    /// Watches from the position until the connection ends. Breaks if the position has expired.
    async fn watch(&mut self) -> ControlFlow<()> {
        let params =
            WatchParams { field_selector: self.scope.field_selector(), ..Default::default() };
        let stream = match self.api.watch(&params, &self.position).await {
            Ok(stream) => stream,
            Err(error) => return self.handle_error(&error),
        };
        let mut stream = stream.boxed();
        loop {
            tokio::select! {
                biased;
                Some(request) = self.requests.recv() => self.accept(request),
                event = stream.next() => match event {
                    None => return ControlFlow::Continue(()),
                    Some(Err(error)) => return self.handle_error(&error),
                    Some(Ok(event)) => self.handle_event(event).await?,
                },
            }
        }
    }

    /// Adds a subscriber, unless it has stopped waiting.
    fn accept(&mut self, request: JoinRequest) {
        if request.position.send(self.position.clone()).is_ok() {
            self.subscribers.push(request.events);
        }
    }

    async fn handle_event(&mut self, event: WatchEvent<SharedObject>) -> ControlFlow<()> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.send(SharedEvent::Applied(Arc::new(object))).await;
            }
            WatchEvent::Deleted(object) => self.send(SharedEvent::Deleted(Arc::new(object))).await,
            WatchEvent::Bookmark(bookmark) => self.position = bookmark.metadata.resource_version,
            WatchEvent::Error(status) => return self.handle_error(&kube::Error::Api(status)),
        }
        ControlFlow::Continue(())
    }

    /// Sends a change to all subscribers. Removes those that are gone or do not take it in time.
    async fn send(&mut self, event: SharedEvent) {
        let mut remaining = Vec::with_capacity(self.subscribers.len());
        for subscriber in std::mem::take(&mut self.subscribers) {
            let is_taken = match subscriber.try_send(event.clone()) {
                Ok(()) => true,
                Err(mpsc::error::TrySendError::Closed(_)) => false,
                Err(mpsc::error::TrySendError::Full(event)) => {
                    matches!(timeout(STALL_MAX, subscriber.send(event)).await, Ok(Ok(())))
                }
            };
            if is_taken {
                remaining.push(subscriber);
            }
        }
        self.subscribers = remaining;
        self.position = event.object().version().to_owned();
    }

    /// Breaks if the watch cannot continue from the position.
    fn handle_error(&self, error: &kube::Error) -> ControlFlow<()> {
        self.scope.log_dropped(error);
        match error {
            kube::Error::Api(status) if status.code == StatusCode::GONE.as_u16() => {
                ControlFlow::Break(())
            }
            // The same event would arrive again.
            kube::Error::SerdeError(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
