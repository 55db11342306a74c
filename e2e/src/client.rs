//! A blocking client for tests: JSON over HTTP/1.1 and TLS, one request at a time.
//!
//! Its requests run on a thread of their own, so tests can call it anywhere, and it survives a server
//! that is killed and restarted. It is independent of the clients under test.

mod watch;

use std::{
    future,
    sync::{LazyLock, mpsc},
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use bytes::Bytes;
use hyper::Method;
use serde_json::{Map, Value};
use tokio::{runtime, time::timeout};

use crate::{
    Cluster, json,
    load::connection::{Connection, ConnectionTarget},
};

pub use self::watch::{WatchPoll, WatchStream};

/// A page that is not complete within this time is not available.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The runtime of all clients.
static RUNTIME: LazyLock<anyhow::Result<runtime::Handle>> = LazyLock::new(|| {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let thread = thread::Builder::new().name("client".to_owned());
    thread.spawn(move || runtime.block_on(future::pending::<()>()))?;
    Ok(handle)
});

fn runtime() -> anyhow::Result<&'static runtime::Handle> {
    RUNTIME.as_ref().map_err(|error| anyhow::anyhow!("the runtime of clients: {error:#}"))
}

/// Runs a future on the thread of all clients and waits for its result.
fn wait<T: Send + 'static>(
    work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    let (sender, receiver) = mpsc::channel();
    // The receiver waits below, so it cannot be dropped before.
    runtime()?.spawn(async move { sender.send(work.await) });
    receiver.recv().context("the client panicked")?
}

/// Reads a page on a new connection: its status and its text.
pub(crate) fn get_page(target: ConnectionTarget, path: &str) -> anyhow::Result<(u16, String)> {
    let path = path.to_owned();
    let exchange = async move {
        let mut connection = Connection::connect(&target).await?;
        connection.exchange(Method::GET, &path, Bytes::new()).await
    };
    let (status, body) =
        wait(async move { timeout(PAGE_TIMEOUT, exchange).await.context("no page in time")? })?;
    Ok((status.as_u16(), String::from_utf8_lossy(&body).into_owned()))
}

/// A client with a bearer token. It reuses one connection for requests that it may send twice.
pub struct Client {
    target: ConnectionTarget,
    idle: Option<Connection>,
}

/// The response of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiResponse {
    /// The HTTP status.
    pub status: u16,
    /// The object, or a `Status` with the error.
    pub body: Value,
}

impl ApiResponse {
    /// Whether the HTTP status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The message of a `Status`.
    pub fn message(&self) -> &str {
        json::text(&self.body, "/message")
    }
}

impl Client {
    /// A client with the administrator's token of a cluster.
    pub fn new(cluster: &Cluster) -> anyhow::Result<Client> {
        Ok(Client { target: ConnectionTarget::from_cluster(cluster)?, idle: None })
    }

    /// A client of the same server with another token.
    pub fn with_token(&self, token: &str) -> anyhow::Result<Client> {
        Ok(Client { target: self.target.clone().with_token(token)?, idle: None })
    }

    /// Reads an object or a list.
    pub fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        self.send_ok("GET", path, None)
    }

    /// Creates an object; the path is that of the list.
    pub fn create(&mut self, path: &str, object: &Value) -> anyhow::Result<Value> {
        self.send_ok("POST", path, Some(object))
    }

    /// Changes an object by a merge patch.
    pub fn patch(&mut self, path: &str, patch: &Value) -> anyhow::Result<Value> {
        self.send_ok("PATCH", path, Some(patch))
    }

    /// Deletes an object and, in the background, its dependents.
    pub fn delete(&mut self, path: &str) -> anyhow::Result<Value> {
        self.send_ok("DELETE", &format!("{path}?propagationPolicy=Background"), None)
    }

    /// Requests a token of a service account.
    pub fn service_account_token(
        &mut self,
        namespace: &str,
        account: &str,
    ) -> anyhow::Result<String> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let created = self.create(&path, &Value::Object(Map::new()))?;
        let token = created.pointer("/status/token").and_then(Value::as_str);
        Ok(token.context("a response without a token")?.to_owned())
    }

    /// Whether there is an object at a path.
    pub fn exists(&mut self, path: &str) -> anyhow::Result<bool> {
        let response = self.send("GET", path, None)?;
        match response.status {
            404 => Ok(false),
            _ if response.is_success() => Ok(true),
            status => bail!("GET {path}: {status} {}", response.message()),
        }
    }

    /// Watches a list. The path has all parameters of the watch except `watch` itself.
    pub fn watch(&self, path: &str) -> anyhow::Result<WatchStream> {
        WatchStream::open(&self.target, path)
    }

    /// Sends a request and returns the response, whatever its status.
    ///
    /// A server may have closed the idle connection, so a request that fails on it is sent again. A
    /// POST must not be sent twice, so it always has a new connection.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<ApiResponse> {
        let request = format!("{method} {path}");
        let method = Method::from_bytes(method.as_bytes())?;
        let path = path.to_owned();
        let body: Bytes = body.map(Value::to_string).unwrap_or_default().into();
        let target = self.target.clone();
        let idle = if method == Method::POST { None } else { self.idle.take() };
        let exchange = async move {
            if let Some(mut connection) = idle
                && let Ok(response) = connection.exchange(method.clone(), &path, body.clone()).await
            {
                return Ok((connection, response));
            }
            let mut connection = Connection::connect(&target).await?;
            let response = connection.exchange(method, &path, body).await?;
            Ok((connection, response))
        };
        let (connection, (status, body)) = wait(exchange).context(request)?;
        self.idle = Some(connection);
        // Some responses are plain text: `/readyz` returns `ok`.
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| text());
        Ok(ApiResponse { status: status.as_u16(), body })
    }

    fn send_ok(&mut self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let response = self.send(method, path, body)?;
        if !response.is_success() {
            bail!("{method} {path}: {} {}", response.status, response.message());
        }
        Ok(response.body)
    }
}
