//! The server, which dies and comes back on the same disk.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use punctual_api::Dialect;
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Options, Store};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::clock::ProcessClock;
use crate::disk::Disk;
use crate::history::Happened;
use crate::node;
use crate::scenario::{Fault, Millis, Who};
use crate::stage::Stage;

/// Where the server is, if it is.
pub(crate) struct Site {
    stage: Arc<Stage>,
    disk: Arc<Disk>,
    life: Mutex<Option<Life>>,
}

#[derive(Clone)]
struct Life {
    router: Router,
    store: Store,
    death: CancellationToken,
}

/// Nobody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Away;

impl Site {
    pub(crate) fn new(stage: Arc<Stage>, disk: Arc<Disk>) -> Arc<Site> {
        Arc::new(Site { stage, disk, life: Mutex::default() })
    }

    /// Runs the server for ever: when it dies it is started anew at the end of the trouble.
    pub(crate) async fn run(self: Arc<Site>) {
        loop {
            self.stage.until(self.back_at()).await;
            let death = CancellationToken::new();
            if self.start(&death).await.is_none() {
                // The disk was full again before the server had begun.
                self.stage.record(Happened::Remark("the server cannot start".to_owned()));
                self.stage.until(self.stage.now() + 1000).await;
                continue;
            }
            death.cancelled().await;
            self.set(None);
            self.stage.record(Happened::Remark("the server is dead".to_owned()));
        }
    }

    /// When the trouble is over that keeps the server from running.
    fn back_at(&self) -> Millis {
        let now = self.stage.now();
        let is_fatal = |what: &Fault| matches!(what, Fault::Crash(..) | Fault::DiskFull);
        let fatal = self.stage.troubles_at(now).filter(|trouble| is_fatal(&trouble.what));
        fatal.map(|trouble| trouble.to).max().unwrap_or(now)
    }

    async fn start(&self, death: &CancellationToken) -> Option<()> {
        // A small ring, so that watches that fall behind have to list.
        let options = Options { ring_changes_max: 2000, ..Options::default() };
        let (store, committer) = Store::start_inline(self.disk.log(death.clone()), options).ok()?;
        tokio::spawn(until(death.clone(), committer));
        let config = Config {
            dialect: Dialect::Punctual,
            env: ProcessClock::new(self.stage.clone(), Who::Server),
            node: Some(node::NAME.to_owned()),
            ..Config::new(store.clone())
        };
        let server = Server::start(config).await.ok()?;
        let router = server.local_router(User::new("system:simulation", ADMIN_GROUP));
        let life = Life { router, store, death: death.clone() };
        self.set(Some(life));
        self.stage.record(Happened::Remark("the server is there".to_owned()));
        // Whoever watches hears of its end.
        tokio::spawn({
            let death = death.clone();
            async move {
                death.cancelled().await;
                server.shutdown();
            }
        });
        Some(())
    }

    fn set(&self, life: Option<Life>) {
        *self.life.lock().unwrap_or_else(PoisonError::into_inner) = life;
    }

    fn life(&self) -> Option<Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the server. A server that dies meanwhile answers nothing.
    pub(crate) async fn ask(&self, request: Request<Body>) -> Result<Response<Body>, Away> {
        let life = self.life().filter(|life| !life.death.is_cancelled()).ok_or(Away)?;
        let Ok(answer) = life.router.oneshot(request).await;
        match life.death.is_cancelled() {
            true => Err(Away),
            false => Ok(answer),
        }
    }

    /// Asks again and again until there is an answer that is not the server's own trouble.
    pub(crate) async fn insist(
        &self,
        every: Millis,
        method: &Method,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let content_type = match *method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        loop {
            let request = Request::builder().method(method).uri(path);
            let request = request.header("Content-Type", content_type);
            let Ok(request) = request.body(Body::from(text.clone())) else {
                return (400, Value::Null);
            };
            match self.ask(request).await {
                Ok(answer) if !answer.status().is_server_error() => {
                    let code = answer.status().as_u16();
                    let body = answer.into_body().collect().await;
                    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
                    return (code, serde_json::from_slice(&bytes).unwrap_or_default());
                }
                _ => self.stage.until(self.stage.now() + every).await,
            }
        }
    }

    /// Forgets all changes but the last few, if there is a server.
    pub(crate) async fn compact(&self) {
        if let Some(life) = self.life() {
            let _ = life.store.compact(life.store.revision().saturating_sub(3)).await;
        }
    }
}

/// Does something until death.
async fn until(death: CancellationToken, what: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = death.cancelled() => {}
        () = what => {}
    }
}
