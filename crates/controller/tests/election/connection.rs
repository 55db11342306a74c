//! The connection of a candidate to the server: it has faults, and records the writes sent over it.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

/// A fault of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConnectionFault {
    /// No fault.
    #[default]
    None,
    /// Requests are lost without an error.
    RequestsLost,
    /// Requests arrive, and responses are lost without an error.
    ResponsesLost,
    /// Connections are refused at once.
    Refused,
}

/// A write, from the time it was sent until its sender got a response or gave up.
#[derive(Clone, Debug)]
pub(crate) struct RecordedEffect {
    pub(crate) sender: usize,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) started: Duration,
    pub(crate) ended: Option<Duration>,
}

/// All writes of all candidates, except those of the Lease.
#[derive(Clone)]
pub(crate) struct EffectLog {
    start: Instant,
    effects: Arc<Mutex<Vec<RecordedEffect>>>,
}

impl EffectLog {
    pub(crate) fn new(start: Instant) -> EffectLog {
        EffectLog { start, effects: Arc::default() }
    }

    pub(crate) fn effects(&self) -> Vec<RecordedEffect> {
        self.effects.lock().unwrap().clone()
    }

    fn begin(&self, sender: usize, request: &Request<Body>) -> EffectGuard {
        let method = request.method().clone();
        let path = request.uri().path().to_owned();
        let started = self.start.elapsed();
        let mut effects = self.effects.lock().unwrap();
        effects.push(RecordedEffect { sender, method, path, started, ended: None });
        EffectGuard { effect_log: self.clone(), number: effects.len() - 1 }
    }
}

/// Records the end of a write, even if its future is dropped.
struct EffectGuard {
    effect_log: EffectLog,
    number: usize,
}

impl Drop for EffectGuard {
    fn drop(&mut self) {
        let now = self.effect_log.start.elapsed();
        self.effect_log.effects.lock().unwrap()[self.number].ended = Some(now);
    }
}

/// A connection to the server.
pub(crate) struct FaultyConnection {
    pub(crate) inner: Client,
    pub(crate) sender: usize,
    pub(crate) effect_log: EffectLog,
    /// The fault, and the part of a path to which it applies.
    pub(crate) fault: Arc<Mutex<(ConnectionFault, &'static str)>>,
}

impl FaultyConnection {
    /// A client that uses this connection.
    pub(crate) fn client(self) -> Client {
        Client::new(service_fn(move |request| self.carry(request)), "default")
    }

    fn carry(
        &self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, BoxError>> + use<> {
        let path = request.uri().path();
        let (fault, part) = *self.fault.lock().unwrap();
        let fault = if path.contains(part) { fault } else { ConnectionFault::None };
        let is_effect = request.method() != Method::GET && !path.contains("/leases");
        let guard = is_effect.then(|| self.effect_log.begin(self.sender, &request));
        let client = self.inner.clone();
        async move {
            let _guard = guard;
            match fault {
                ConnectionFault::None => Ok(client.send(request).await?),
                ConnectionFault::RequestsLost => pending().await,
                ConnectionFault::ResponsesLost => {
                    client.send(request).await?;
                    pending().await
                }
                ConnectionFault::Refused => Err("the connection was refused".into()),
            }
        }
    }
}
