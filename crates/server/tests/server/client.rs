//! A client in the same process, and a server for it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use punctual_api::Dialect;
use punctual_server::{ADMIN_GROUP, Config, Limits, Server, Tokens, User, VIEW_GROUP};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

pub(crate) const ADMIN: &str = "admin-token";
pub(crate) const VIEW: &str = "view-token";

/// A server on a store of its own.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) store: Store,
    _folder: TempDir,
}

pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Site {
    pub(crate) async fn new() -> Site {
        Site::with(Options::default(), |_| {}).await
    }

    /// A server that cannot be told from kube-apiserver.
    pub(crate) async fn strict() -> Site {
        Site::with(Options::default(), |config| config.dialect = Dialect::Strict).await
    }

    pub(crate) async fn limited(limits: Limits) -> Site {
        Site::with(Options::default(), |config| config.limits = limits).await
    }

    pub(crate) async fn with(options: Options, change: impl FnOnce(&mut Config)) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), options).unwrap();
        let mut tokens = Tokens::default();
        tokens.add(ADMIN, User::new("admin", ADMIN_GROUP));
        tokens.add(VIEW, User::new("view", VIEW_GROUP));
        let mut config = Config { tokens, ..Config::new(store.clone()) };
        change(&mut config);
        let server = Server::start(config).await.unwrap();
        Site { server, store, _folder: folder }
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client { router: self.server.router(), token: Arc::from(token) }
    }

    pub(crate) fn admin(&self) -> Client {
        self.client(ADMIN)
    }
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) router: Router,
    token: Arc<str>,
}

impl Client {
    pub(crate) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path);
        match &*self.token {
            "" => request,
            token => request.header("Authorization", format!("Bearer {token}")),
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { code: parts.status, headers: parts.headers, body, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.write(Method::POST, path, "application/json", body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.write(Method::PUT, path, "application/json", body).await
    }

    pub(crate) async fn merge(&self, path: &str, body: &Value) -> Answer {
        self.write(Method::PATCH, path, "application/merge-patch+json", body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn write(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: &Value,
    ) -> Answer {
        let request = self.request(method, path).header("Content-Type", kind);
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// The lines of a watch as they come.
    pub(crate) async fn watch(&self, path: &str) -> Lines {
        self.lines(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    /// The lines of an answer as they come.
    pub(crate) async fn lines(&self, request: Request<Body>) -> Lines {
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Lines { body: response.into_body(), rest: Vec::new() }
    }
}

pub(crate) struct Lines {
    body: Body,
    rest: Vec<u8>,
}

impl Lines {
    /// The next line; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.rest.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.next().await {
            lines.push(line);
        }
        lines
    }

    /// The next event as its type and the name of its object.
    pub(crate) async fn event(&mut self) -> (String, String) {
        let event = self.next().await.expect("one more event");
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
