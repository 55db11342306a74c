//! A client as plain as it can be: JSON over HTTP/1.1 and TLS, one request at a time.
//!
//! It blocks, needs no runtime, and survives a server that is killed and started again. What people
//! use is tested with what people use; this is for tests that look at a cluster from beside.

mod watch;
mod wire;

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail};
use rustls::ClientConfig;
use serde_json::{Map, Value};

use self::wire::Wire;
use crate::{Cluster, probe};

pub use self::watch::{Seen, Watch};

/// A server that takes longer for one answer has hung.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A client with a token. It keeps a connection open for what may be sent twice.
#[derive(Debug)]
pub struct Client {
    target: Target,
    kept: Option<Wire>,
}

/// Who is asked, and by whom.
#[derive(Clone, Debug)]
struct Target {
    address: String,
    tls: Arc<ClientConfig>,
    token: String,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The object, or a `Status` that says what is wrong.
    pub body: Value,
}

impl Answer {
    /// Whether the request was granted.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What a `Status` says.
    pub fn message(&self) -> &str {
        self.body.get("message").and_then(Value::as_str).unwrap_or_default()
    }
}

impl Client {
    /// A client of a cluster, with the token of its administrator.
    pub fn new(cluster: &Cluster) -> anyhow::Result<Client> {
        let tls = Arc::new(probe::tls(&cluster.authority)?);
        let (address, token) = (cluster.address().to_owned(), cluster.token.clone());
        Ok(Client { target: Target { address, tls, token }, kept: None })
    }

    /// The same for whoever has another token.
    pub fn with_token(&self, token: &str) -> Client {
        Client { target: Target { token: token.to_owned(), ..self.target.clone() }, kept: None }
    }

    /// Reads an object or a list.
    pub fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        self.granted("GET", path, None)
    }

    /// Creates an object; the path is that of the list.
    pub fn create(&mut self, path: &str, object: &Value) -> anyhow::Result<Value> {
        self.granted("POST", path, Some(object))
    }

    /// Changes an object by a merge patch.
    pub fn patch(&mut self, path: &str, patch: &Value) -> anyhow::Result<Value> {
        self.granted("PATCH", path, Some(patch))
    }

    /// Deletes an object and, in the background, what it owns.
    pub fn delete(&mut self, path: &str) -> anyhow::Result<Value> {
        self.granted("DELETE", &format!("{path}?propagationPolicy=Background"), None)
    }

    /// A token of a service account, as a Pod would have it.
    pub fn token(&mut self, namespace: &str, account: &str) -> anyhow::Result<String> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let made = self.create(&path, &Value::Object(Map::new()))?;
        let token = made.pointer("/status/token").and_then(Value::as_str);
        Ok(token.context("an answer without a token")?.to_owned())
    }

    /// Whether there is an object at a path.
    pub fn exists(&mut self, path: &str) -> anyhow::Result<bool> {
        let answer = self.send("GET", path, None)?;
        match answer.status {
            404 => Ok(false),
            _ if answer.is_success() => Ok(true),
            status => bail!("GET {path}: {status} {}", answer.message()),
        }
    }

    /// Watches a list; the path has the parameters of the watch but for `watch` itself.
    pub fn watch(&self, path: &str) -> anyhow::Result<Watch> {
        Watch::open(Wire::open(&self.target)?, &self.target, path)
    }

    /// Sends a request and gives the answer, whatever it is.
    ///
    /// A server may have closed a connection that was kept, so what fails on one is sent again. What
    /// must not be sent twice has a connection of its own.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Answer> {
        let request = self.target.request(method, path, body);
        if let Some(mut wire) = self.kept.take().filter(|_| method != "POST")
            && let Ok(answer) = wire.exchange(&request)
        {
            self.kept = Some(wire);
            return Ok(answer);
        }
        let mut wire = Wire::open(&self.target)?;
        let answer = wire.exchange(&request).with_context(|| format!("{method} {path}"))?;
        self.kept = Some(wire);
        Ok(answer)
    }

    fn granted(&mut self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let answer = self.send(method, path, body)?;
        if !answer.is_success() {
            bail!("{method} {path}: {} {}", answer.status, answer.message());
        }
        Ok(answer.body)
    }
}

impl Target {
    /// A whole request.
    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
        let media = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = body.map(Value::to_string).unwrap_or_default();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\
             Accept: application/json\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        )
        .into_bytes()
    }
}
