//! The real API server on a simulated disk. It crashes and restarts.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use punctual_api::Dialect;
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Options, Store};
use punctual_testing::history::HistoryEvent;
use punctual_testing::scenario::{ClockOwner, Fault, Millis};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::environment::SimulationEnv;
use crate::simulated_clock::SimulatedClock;
use crate::simulated_disk::SimulatedDisk;
use crate::simulated_node;

/// A server that restarts after crashes.
pub(crate) struct SimulatedServer {
    env: Arc<SimulationEnv>,
    disk: Arc<SimulatedDisk>,
    running: Mutex<Option<RunningServer>>,
}

#[derive(Clone)]
struct RunningServer {
    router: Router,
    store: Store,
    crashed: CancellationToken,
}

/// No server is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerDown;

impl SimulatedServer {
    pub(crate) fn new(env: Arc<SimulationEnv>, disk: Arc<SimulatedDisk>) -> Arc<SimulatedServer> {
        Arc::new(SimulatedServer { env, disk, running: Mutex::default() })
    }

    /// Runs the server forever and restarts it at the end of each fault that stopped it.
    pub(crate) async fn run(self: Arc<SimulatedServer>) {
        loop {
            self.env.sleep_until(self.restart_at()).await;
            let crashed = CancellationToken::new();
            if self.start(&crashed).await.is_none() {
                // The disk was full again before the server had started.
                self.env.record(HistoryEvent::Remark("the server cannot start".to_owned()));
                self.env.sleep_until(self.env.now() + 1000).await;
                continue;
            }
            crashed.cancelled().await;
            self.set_running(None);
            self.env.record(HistoryEvent::Remark("the server stopped".to_owned()));
        }
    }

    /// The end of the faults that keep the server from running.
    fn restart_at(&self) -> Millis {
        let now = self.env.now();
        let is_fatal = |fault: &Fault| matches!(fault, Fault::CrashServer(..) | Fault::DiskFull);
        let fatal = self.env.faults_at(now).filter(|window| is_fatal(&window.fault));
        fatal.map(|window| window.to).max().unwrap_or(now)
    }

    async fn start(&self, crashed: &CancellationToken) -> Option<()> {
        // A short watch history, so that watches that fall behind have to list again.
        let options = Options { history_changes_max: 2000, ..Options::default() };
        let (store, committer) =
            Store::start_inline(self.disk.log(crashed.clone()), options).ok()?;
        tokio::spawn(run_until(crashed.clone(), committer));
        let config = Config {
            dialect: Dialect::Punctual,
            env: SimulatedClock::new(self.env.clone(), ClockOwner::Server),
            node: Some(simulated_node::NAME.to_owned()),
            ..Config::new(store.clone())
        };
        let server = Server::start(config).await.ok()?;
        let router = server.local_router(User::new("system:simulation", ADMIN_GROUP));
        self.set_running(Some(RunningServer { router, store, crashed: crashed.clone() }));
        self.env.record(HistoryEvent::Remark("the server started".to_owned()));
        // Ends open watches when the server crashes.
        tokio::spawn({
            let crashed = crashed.clone();
            async move {
                crashed.cancelled().await;
                server.shutdown();
            }
        });
        Some(())
    }

    fn set_running(&self, running: Option<RunningServer>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    fn running(&self) -> Option<RunningServer> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a request. A server that crashes meanwhile does not respond.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Body>, ServerDown> {
        let running = self.running().filter(|running| !running.crashed.is_cancelled());
        let RunningServer { router, crashed, .. } = running.ok_or(ServerDown)?;
        let Ok(response) = router.oneshot(request).await;
        if crashed.is_cancelled() { Err(ServerDown) } else { Ok(response) }
    }

    /// Sends a request repeatedly until the response is not a server error.
    pub(crate) async fn send_until_answered(
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
            match self.send(request).await {
                Ok(response) if !response.status().is_server_error() => {
                    let code = response.status().as_u16();
                    let body = response.into_body().collect().await;
                    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
                    return (code, serde_json::from_slice(&bytes).unwrap_or_default());
                }
                _ => self.env.sleep_until(self.env.now() + every).await,
            }
        }
    }

    /// Discards all but the last few changes from the watch history, if the server is running.
    pub(crate) async fn compact(&self) {
        if let Some(running) = self.running() {
            let revision = running.store.revision();
            let _ = running.store.compact(revision.saturating_sub(3)).await;
        }
    }
}

async fn run_until(crashed: CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = crashed.cancelled() => {}
        () = work => {}
    }
}
