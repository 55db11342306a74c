//! The network between a process and the server: what goes wrong with calls. What becomes of a watch
//! once it is open is told in `watched`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tower::BoxError;

use crate::clock::stopped_until;
use crate::scenario::{Fault, Millis, Moment, Process, Wrong};
use crate::site::{Away, Site};
use crate::stage::Stage;
use crate::watched::Watched;

/// A hundred calls, of which so many take a moment.
const BUSY_PERCENT: u64 = 30;
const BUSY_MAX: Millis = 4;
/// A line that takes a megabyte in a second: a list takes longer the more there is.
const BYTES_PER_MILLI: u64 = 1000;
/// Things of which it matters that they are made once.
const MADE: [&str; 2] = ["jobs", "pods"];
/// A call that nobody waits for any more arrives within this time.
const LATE_MAX: Millis = 30_000;

/// The way of one life of a process to the server.
pub(crate) struct Wire {
    stage: Arc<Stage>,
    site: Arc<Site>,
    process: Process,
    /// The end of this life.
    death: CancellationToken,
    /// How many calls were made in each trouble of the scenario.
    calls: Vec<AtomicU32>,
}

impl Wire {
    pub(crate) fn new(
        stage: Arc<Stage>,
        site: Arc<Site>,
        process: Process,
        death: CancellationToken,
    ) -> Arc<Wire> {
        let calls = stage.scenario.troubles.iter().map(|_| AtomicU32::new(0)).collect();
        Arc::new(Wire { stage, site, process, death, calls })
    }

    /// A client at this end.
    pub(crate) fn client(self: Arc<Wire>) -> Client {
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let wire = self.clone();
            async move { wire.call(request.map(Body::new)).await }
        });
        Client::new(service, "default")
    }

    async fn call(self: Arc<Wire>, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let last = self.dies_now(&request);
        if self.stage.is_overrun() {
            return std::future::pending().await;
        }
        if self.death.is_cancelled() || last == Some(Moment::Before) {
            self.die().await;
        }
        self.wait_while_stopped().await;
        let answer = self.clone().travel(request).await;
        if last.is_some() {
            self.die().await;
        }
        self.wait_while_stopped().await;
        answer
    }

    /// Whether this is the call at which the process is killed.
    fn dies_now(&self, request: &Request<Body>) -> Option<Moment> {
        let now = self.stage.now();
        let is_create = request.method() == Method::POST && MADE.contains(&last_word(request));
        let troubles = self.stage.scenario.troubles.iter().zip(&self.calls);
        let mut fate = None;
        for (trouble, calls) in troubles.filter(|(trouble, _)| trouble.is_on(now)) {
            if let Fault::Kill(process, count, moment) = trouble.what
                && process == self.process
                && moment.counts(is_create)
                && calls.fetch_add(1, Ordering::Relaxed) == count
            {
                fate = Some(moment);
            }
        }
        fate
    }

    /// Whoever calls is dead, and hears nothing any more.
    async fn die(&self) {
        self.death.cancel();
        std::future::pending().await
    }

    async fn wait_while_stopped(&self) {
        while let Some(until) = stopped_until(&self.stage, self.process, self.stage.now()) {
            self.stage.until(until).await;
        }
    }

    /// To the server and back.
    async fn travel(self: Arc<Wire>, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        self.delay().await;
        if let Some(until) = self.cut_until(self.stage.now()) {
            return self.vanish(until).await;
        }
        let answer = match self.wrong(&request, is_watch) {
            None => self.deliver(request).await?,
            Some((wrong, until)) => self.deliver_wrong(request, wrong, until).await?,
        };
        self.delay().await;
        transfer(answer.body().size_hint().lower()).await;
        if let Some(until) = self.cut_until(self.stage.now()) {
            return self.vanish(until).await;
        }
        Ok(if is_watch { Watched::of(&self.stage, self.process, answer) } else { answer })
    }

    async fn deliver(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        self.site.ask(request).await.map_err(|Away| "connection refused".into())
    }

    async fn deliver_wrong(
        &self,
        request: Request<Body>,
        wrong: Wrong,
        until: Millis,
    ) -> Result<Response<Body>, BoxError> {
        match wrong {
            Wrong::Lost => Err("connection reset".into()),
            Wrong::Unheard => {
                self.deliver(request).await?;
                Err("connection reset".into())
            }
            Wrong::Hangs => {
                self.deliver(request).await?;
                self.vanish(until).await
            }
            Wrong::Twice => {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let copy = || Request::from_parts(parts.clone(), Body::from(body.clone()));
                let first = self.deliver(copy()).await?;
                let second = self.deliver(copy()).await?;
                Ok(if self.stage.dice.percent(50) { first } else { second })
            }
            Wrong::Late => {
                self.deliver_later(request);
                Err("connection reset".into())
            }
            Wrong::Refused(code) => refusal(code),
            Wrong::DoneAnd500 => {
                self.deliver(request).await?;
                refusal(500)
            }
        }
    }

    /// Whoever has called hears nothing of it, and may be dead by then.
    fn deliver_later(&self, request: Request<Body>) {
        // What a create that comes late does, nobody can take back or guard against: the name is free
        // again by then, or another run goes on. All else says which version or which object it means.
        if request.method() == Method::POST {
            return;
        }
        let at = self.stage.now() + self.stage.dice.between(0, LATE_MAX);
        let (stage, site) = (self.stage.clone(), self.site.clone());
        tokio::spawn(async move {
            stage.until(at).await;
            let _ = site.ask(request).await;
        });
    }

    /// What goes wrong with this call, if anything does, and until when that may last.
    fn wrong(&self, request: &Request<Body>, is_watch: bool) -> Option<(Wrong, Millis)> {
        let mut fate = None;
        for trouble in self.stage.troubles_at(self.stage.now()) {
            if trouble.what == Fault::NoStatus(self.process) && last_word(request) == "status" {
                return Some((Wrong::Refused(500), trouble.to));
            }
            if let Fault::Lossy(process, wrong, thousandths) = trouble.what
                && process == self.process
                && self.stage.dice.below(1000) < thousandths.into()
                && !(is_watch && wrong == Wrong::Twice)
            {
                fate = Some((wrong, trouble.to));
            }
        }
        fate
    }

    /// The way takes a moment, or longer.
    async fn delay(&self) {
        let slow = self.stage.troubles_at(self.stage.now()).filter_map(|trouble| {
            let Fault::Slow(process, most) = trouble.what else { return None };
            (process == self.process).then_some(most)
        });
        let most = match slow.max() {
            Some(most) => most,
            None if self.stage.dice.percent(BUSY_PERCENT) => BUSY_MAX,
            None => return,
        };
        let millis = self.stage.dice.between(0, most).unsigned_abs();
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    fn cut_until(&self, at: Millis) -> Option<Millis> {
        let cuts = self.stage.troubles_at(at);
        let cuts = cuts.filter(|trouble| trouble.what == Fault::Cut(self.process));
        cuts.map(|trouble| trouble.to).max()
    }

    /// No answer comes until the connection is found to be dead.
    async fn vanish(&self, until: Millis) -> Result<Response<Body>, BoxError> {
        if self.stage.dice.percent(50) {
            self.stage.until(until).await;
        }
        Err("connection reset".into())
    }
}

/// A long answer takes longer than a short one.
async fn transfer(bytes: u64) {
    let millis = bytes / BYTES_PER_MILLI;
    if millis > 0 {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

/// What is asked for.
fn last_word(request: &Request<Body>) -> &str {
    request.uri().path().rsplit('/').next().unwrap_or_default()
}

/// A server that does not do what was asked.
fn refusal(code: u16) -> Result<Response<Body>, BoxError> {
    let reason = match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the simulation wants it so", "reason": reason, "code": code});
    if code == 429
        && let Some(status) = status.as_object_mut()
    {
        status.insert("details".to_owned(), json!({"retryAfterSeconds": 1}));
    }
    let answer = Response::builder().status(code).header("Content-Type", "application/json");
    Ok(answer.body(Body::from(status.to_string()))?)
}
