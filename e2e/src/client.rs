//! A blocking client for tests: JSON over HTTP/1.1 and TLS, one request at a time.
//!
//! It needs no runtime, so tests can call it anywhere, and it survives a server that is killed and
//! restarted. It is independent of the clients under test.

mod connection;
mod watch;

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail};
use rustls::ClientConfig;
use serde_json::{Map, Value};

use self::connection::HttpConnection;
use crate::{Cluster, json, probe};

pub(crate) use self::connection::get_page;
pub use self::watch::{WatchPoll, WatchStream};

/// A server that takes longer for one response hangs.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A client with a bearer token. It reuses one connection for requests that it may send twice.
#[derive(Debug)]
pub struct Client {
    target: ApiTarget,
    idle: Option<HttpConnection>,
}

/// The server and the token of requests.
#[derive(Clone, Debug)]
pub(crate) struct ApiTarget {
    address: String,
    tls: Arc<ClientConfig>,
    /// Empty for anonymous requests.
    token: String,
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
        let target = ApiTarget::new(cluster.address(), &cluster.authority, &cluster.token)?;
        Ok(Client { target, idle: None })
    }

    /// A client of the same server with another token.
    pub fn with_token(&self, token: &str) -> Client {
        Client { target: ApiTarget { token: token.to_owned(), ..self.target.clone() }, idle: None }
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
        WatchStream::open(HttpConnection::open(&self.target, RESPONSE_TIMEOUT)?, &self.target, path)
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
        let request = self.target.request(method, path, body);
        let idle = self.idle.take();
        if method != "POST"
            && let Some(mut connection) = idle
            && let Ok(response) = connection.exchange(&request)
        {
            self.idle = Some(connection);
            return Ok(response);
        }
        let mut connection = HttpConnection::open(&self.target, RESPONSE_TIMEOUT)?;
        let response = connection.exchange(&request).with_context(|| format!("{method} {path}"))?;
        self.idle = Some(connection);
        Ok(response)
    }

    fn send_ok(&mut self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let response = self.send(method, path, body)?;
        if !response.is_success() {
            bail!("{method} {path}: {} {}", response.status, response.message());
        }
        Ok(response.body)
    }
}

impl ApiTarget {
    pub(crate) fn new(address: &str, authority: &str, token: &str) -> anyhow::Result<Self> {
        let tls = Arc::new(probe::tls_config(authority)?);
        Ok(ApiTarget { address: address.to_owned(), tls, token: token.to_owned() })
    }

    /// Sends one GET request on a new connection.
    pub(crate) fn get_once(&self, path: &str, timeout: Duration) -> anyhow::Result<ApiResponse> {
        HttpConnection::open(self, timeout)?.exchange(&self.request("GET", path, None))
    }

    /// The bytes of a whole request.
    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
        let media_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let authorization = match self.token.as_str() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        let body = body.map(Value::to_string).unwrap_or_default();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}\
             Accept: application/json\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}
