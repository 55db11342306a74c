//! The network between a process and the server, with the faults of calls. `faulty_watch` has the
//! faults of open watches.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use punctual_testing::scenario::{CallFault, CrashPoint, Fault, Millis, ProcessId};
use serde_json::json;
use tower::BoxError;

use crate::environment::SimulationEnv;
use crate::faulty_watch::FaultyWatch;
use crate::process_faults::ProcessFaults;
use crate::simulated_server::{ServerDown, SimulatedServer};

/// The share of calls that take a moment even without a fault.
const SLOW_PERCENT: u64 = 30;
const SLOW_MAX: Millis = 4;
/// The bandwidth of one megabyte a second, so that long lists take longer.
const BYTES_PER_MILLI: u64 = 1000;
/// Collections whose creates count for [`CrashPoint::AfterCreate`].
const CREATED: [&str; 2] = ["jobs", "pods"];
/// A delayed request arrives within this time.
const DELAY_MAX: Millis = 30_000;

/// The connection of one process, from its start to its end, to the server.
pub(crate) struct FaultyTransport {
    env: Arc<SimulationEnv>,
    server: Arc<SimulatedServer>,
    process: ProcessId,
    process_faults: Arc<ProcessFaults>,
}

impl FaultyTransport {
    pub(crate) fn new(
        env: Arc<SimulationEnv>,
        server: Arc<SimulatedServer>,
        process_faults: Arc<ProcessFaults>,
    ) -> Arc<FaultyTransport> {
        let process = process_faults.process();
        Arc::new(FaultyTransport { env, server, process, process_faults })
    }

    /// A Kubernetes client that uses this connection.
    pub(crate) fn client(self: Arc<FaultyTransport>) -> Client {
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let transport = self.clone();
            async move { transport.call(request.map(Body::new)).await }
        });
        Client::new(service, "default")
    }

    async fn call(
        self: Arc<FaultyTransport>,
        request: Request<Body>,
    ) -> Result<Response<Body>, BoxError> {
        let faults = self.process_faults.clone();
        let crash_point = faults.crash_point(is_create(&request));
        if self.env.has_too_many_calls() {
            return std::future::pending().await;
        }
        if faults.is_killed() || crash_point == Some(CrashPoint::Before) {
            faults.kill_and_wait().await;
        }
        faults.wait_while_paused().await;
        let response = self.send(request).await;
        if crash_point.is_some() {
            faults.kill_and_wait().await;
        }
        faults.wait_while_paused().await;
        response
    }

    /// Sends a request through the network and returns the response.
    async fn send(
        self: Arc<FaultyTransport>,
        request: Request<Body>,
    ) -> Result<Response<Body>, BoxError> {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        self.delay().await;
        if let Some(until) = self.disconnected_until() {
            return self.lose(until).await;
        }
        let response = match self.call_fault(&request, is_watch) {
            None => self.deliver(request).await?,
            Some((fault, until)) => self.deliver_with_fault(request, fault, until).await?,
        };
        self.delay().await;
        transfer(response.body().size_hint().lower()).await;
        if let Some(until) = self.disconnected_until() {
            return self.lose(until).await;
        }
        if is_watch {
            return Ok(FaultyWatch::wrap(&self.env, self.process, response));
        }
        Ok(response)
    }

    async fn deliver(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        self.server.send(request).await.map_err(|ServerDown| "connection refused".into())
    }

    async fn deliver_with_fault(
        &self,
        request: Request<Body>,
        fault: CallFault,
        until: Millis,
    ) -> Result<Response<Body>, BoxError> {
        match fault {
            CallFault::RequestLost => Err("connection reset".into()),
            CallFault::ResponseLost => {
                self.deliver(request).await?;
                Err("connection reset".into())
            }
            CallFault::ResponseHangs => {
                self.deliver(request).await?;
                self.lose(until).await
            }
            CallFault::Duplicated => {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let copy = || Request::from_parts(parts.clone(), Body::from(body.clone()));
                let first = self.deliver(copy()).await?;
                let second = self.deliver(copy()).await?;
                Ok(if self.env.random.percent(50) { first } else { second })
            }
            CallFault::Delayed => {
                self.deliver_later(request);
                Err("connection reset".into())
            }
            CallFault::Rejected(code) => error_response(code),
            CallFault::DoneAnd500 => {
                self.deliver(request).await?;
                error_response(500)
            }
        }
    }

    /// Delivers a request after its caller got an error, and perhaps died.
    fn deliver_later(&self, request: Request<Body>) {
        // The controller cannot guard against a create that is this late: the name is free again, or
        // another run is active. All other requests name a version or a UID.
        if request.method() == Method::POST {
            return;
        }
        let at = self.env.now() + self.env.random.between(0, DELAY_MAX);
        let env = self.env.clone();
        let server = self.server.clone();
        tokio::spawn(async move {
            env.sleep_until(at).await;
            let _ = server.send(request).await;
        });
    }

    /// The fault of this call, if it has one, and the end of the fault's window.
    fn call_fault(&self, request: &Request<Body>, is_watch: bool) -> Option<(CallFault, Millis)> {
        let mut found = None;
        for window in self.env.faults_at(self.env.now()) {
            if window.fault == Fault::RejectStatus(self.process)
                && last_segment(request) == "status"
            {
                return Some((CallFault::Rejected(500), window.to));
            }
            if let Fault::FailCalls(process, fault, thousandths) = window.fault
                && process == self.process
                && self.env.random.below(1000) < thousandths.into()
                && !(is_watch && fault == CallFault::Duplicated)
            {
                found = Some((fault, window.to));
            }
        }
        found
    }

    /// Waits for the latency of one direction.
    async fn delay(&self) {
        let delays = self.env.faults_at(self.env.now()).filter_map(|window| {
            let Fault::DelayCalls(process, most) = window.fault else { return None };
            (process == self.process).then_some(most)
        });
        let most = match delays.max() {
            Some(most) => most,
            None if self.env.random.percent(SLOW_PERCENT) => SLOW_MAX,
            None => return,
        };
        let millis = self.env.random.between(0, most).unsigned_abs();
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    fn disconnected_until(&self) -> Option<Millis> {
        let windows = self.env.faults_at(self.env.now());
        let disconnects = windows.filter(|window| window.fault == Fault::Disconnect(self.process));
        disconnects.map(|window| window.to).max()
    }

    /// Returns a connection error, sometimes only at the end of the fault.
    async fn lose(&self, until: Millis) -> Result<Response<Body>, BoxError> {
        if self.env.random.percent(50) {
            self.env.sleep_until(until).await;
        }
        Err("connection reset".into())
    }
}

/// Waits as long as the body of a response takes.
async fn transfer(bytes: u64) {
    let millis = bytes / BYTES_PER_MILLI;
    if millis > 0 {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}

/// Whether a request counts for [`CrashPoint::AfterCreate`].
fn is_create(request: &Request<Body>) -> bool {
    request.method() == Method::POST && CREATED.contains(&last_segment(request))
}

fn last_segment(request: &Request<Body>) -> &str {
    request.uri().path().rsplit('/').next().unwrap_or_default()
}

fn error_response(code: u16) -> Result<Response<Body>, BoxError> {
    let reason = match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "injected by the simulator", "reason": reason, "code": code});
    if code == 429
        && let Some(status) = status.as_object_mut()
    {
        status.insert("details".to_owned(), json!({"retryAfterSeconds": 1}));
    }
    let response = Response::builder().status(code).header("Content-Type", "application/json");
    Ok(response.body(Body::from(status.to_string()))?)
}
