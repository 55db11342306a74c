//! A candidate's way to the server: what is wrong with it, and what was sent on it.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

/// What is wrong with a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Requests get lost, and nobody is told.
    Silent,
    /// Requests arrive, and the answers get lost.
    Mute,
    /// Requests are refused at once.
    Broken,
}

/// An effect, from the moment it was sent until its sender had an answer or gave up.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) sender: usize,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) begun: Duration,
    pub(crate) ended: Option<Duration>,
}

/// Everything that was sent by anybody, Leases excepted.
#[derive(Clone)]
pub(crate) struct Book {
    start: Instant,
    effects: Arc<Mutex<Vec<Effect>>>,
}

impl Book {
    pub(crate) fn new(start: Instant) -> Book {
        Book { start, effects: Arc::default() }
    }

    pub(crate) fn effects(&self) -> Vec<Effect> {
        self.effects.lock().unwrap().clone()
    }

    fn begin(&self, sender: usize, request: &Request<Body>) -> Underway {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let begun = self.start.elapsed();
        let mut effects = self.effects.lock().unwrap();
        effects.push(Effect { sender, method, path, begun, ended: None });
        Underway { book: self.clone(), number: effects.len() - 1 }
    }
}

/// Writes down the end of an effect, also of one that is dropped.
struct Underway {
    book: Book,
    number: usize,
}

impl Drop for Underway {
    fn drop(&mut self) {
        let now = self.book.start.elapsed();
        self.book.effects.lock().unwrap()[self.number].ended = Some(now);
    }
}

/// A way to the server.
pub(crate) struct Link {
    pub(crate) inner: Client,
    pub(crate) sender: usize,
    pub(crate) book: Book,
    /// What is wrong with requests whose path contains this.
    pub(crate) fault: Arc<Mutex<(Fault, &'static str)>>,
}

impl Link {
    /// A client that goes this way.
    pub(crate) fn client(self) -> Client {
        Client::new(service_fn(move |request| self.carry(request)), "default")
    }

    fn carry(
        &self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, BoxError>> + use<> {
        let path = request.uri().path();
        let (fault, part) = *self.fault.lock().unwrap();
        let fault = if path.contains(part) { fault } else { Fault::None };
        let is_effect = request.method() != Method::GET && !path.contains("/leases");
        let underway = is_effect.then(|| self.book.begin(self.sender, &request));
        let client = self.inner.clone();
        async move {
            let _underway = underway;
            match fault {
                Fault::None => Ok(client.send(request).await?),
                Fault::Silent => pending().await,
                Fault::Mute => {
                    client.send(request).await?;
                    pending().await
                }
                Fault::Broken => Err("the connection was refused".into()),
            }
        }
    }
}
