//! A server with its own store, and a client without a socket, for the tests of this folder.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use punctual_api::Dialect;
use punctual_server::{ADMIN_GROUP, Config, Server, ServerLimits, Tokens, User, VIEW_GROUP};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

pub(crate) const ADMIN: &str = "admin-token";
pub(crate) const VIEW: &str = "view-token";

/// A server with its own store.
pub(crate) struct TestServer {
    pub(crate) server: Server,
    pub(crate) store: Store,
    _folder: TempDir,
}

pub(crate) struct TestResponse {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl TestServer {
    pub(crate) async fn new() -> TestServer {
        TestServer::with(Options::default(), |_| {}).await
    }

    /// A server with the dialect of kube-apiserver.
    pub(crate) async fn strict() -> TestServer {
        TestServer::with(Options::default(), |config| config.dialect = Dialect::Kubernetes).await
    }

    pub(crate) async fn limited(limits: ServerLimits) -> TestServer {
        TestServer::with(Options::default(), |config| config.limits = limits).await
    }

    pub(crate) async fn with(options: Options, configure: impl FnOnce(&mut Config)) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), options).unwrap();
        let mut tokens = Tokens::default();
        tokens.add(ADMIN, User::new("admin", ADMIN_GROUP));
        tokens.add(VIEW, User::new("view", VIEW_GROUP));
        let mut config = Config { tokens, ..Config::new(store.clone()) };
        configure(&mut config);
        let server = Server::start(config).await.unwrap();
        TestServer { server, store, _folder: folder }
    }

    pub(crate) fn client(&self, token: &str) -> TestClient {
        TestClient { router: self.server.router(), token: Arc::from(token) }
    }

    pub(crate) fn admin(&self) -> TestClient {
        self.client(ADMIN)
    }
}

#[derive(Clone)]
pub(crate) struct TestClient {
    pub(crate) router: Router,
    token: Arc<str>,
}

impl TestClient {
    pub(crate) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path);
        match &*self.token {
            "" => request,
            token => request.header("Authorization", format!("Bearer {token}")),
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> TestResponse {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        TestResponse { code: parts.status, headers: parts.headers, body, text }
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.write(Method::POST, path, "application/json", body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> TestResponse {
        self.write(Method::PUT, path, "application/json", body).await
    }

    pub(crate) async fn merge(&self, path: &str, body: &Value) -> TestResponse {
        self.write(Method::PATCH, path, "application/merge-patch+json", body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> TestResponse {
        self.send(self.request(Method::DELETE, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn write(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> TestResponse {
        let request = self.request(method, path).header("Content-Type", content_type);
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Starts a watch and returns its lines.
    pub(crate) async fn watch(&self, path: &str) -> ResponseLines {
        self.lines(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    /// Sends a request and returns the lines of its response as they arrive.
    pub(crate) async fn lines(&self, request: Request<Body>) -> ResponseLines {
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        ResponseLines { body: response.into_body(), buffer: Vec::new() }
    }
}

pub(crate) struct ResponseLines {
    body: Body,
    buffer: Vec<u8>,
}

impl ResponseLines {
    /// Returns the next line, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.buffer.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    /// Returns all remaining lines.
    pub(crate) async fn collect(mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.next().await {
            lines.push(line);
        }
        lines
    }

    /// Returns the type of the next event and the name of its object.
    pub(crate) async fn event(&mut self) -> (String, String) {
        let event = self.next().await.expect("the watch ended");
        let text = |pointer: &str| {
            event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        (text("/type"), text("/object/metadata/name"))
    }
}

pub(crate) const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";

pub(crate) fn cron_job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {
            "schedule": "*/5 * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "busybox", "command": ["true"]}],
            }}}},
        },
    })
}
