//! Paths that are no resources: health, version, discovery, documents, metrics.

use std::net::SocketAddr;

use axum::body::Body;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use super::{Call, not_allowed};
use crate::answer::{self, Answer};
use crate::discovery::{self, aggregated};
use crate::metrics::OPEN_METRICS_TYPE;
use crate::openapi::{Document, PROTOBUF_TYPES};
use crate::request::{Form, OURSELVES, discovery_versions};

/// The version of Kubernetes whose API this is.
const KUBERNETES_VERSION: &str = "v1.36.0";

/// Answers a path that is no resource.
pub(super) fn answer(call: &Call, method: &Method) -> Answer {
    let path = call.parts.uri.path();
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    if !matches!(*method, Method::GET | Method::HEAD) {
        return match parts.as_slice() {
            [
                "api" | "apis" | "healthz" | "livez" | "readyz" | "version" | "metrics" | "openapi",
                ..,
            ] => Err(not_allowed()),
            _ => Ok(page_not_found()),
        };
    }
    match parts.as_slice() {
        [""] => Ok(json_of(call, &index())?),
        ["healthz" | "livez", ..] => Ok(answer::text(StatusCode::OK, "ok")),
        ["readyz", ..] => Ok(ready(call)),
        ["version"] => json_of(call, &version()),
        ["metrics"] => Ok(metrics(call)),
        ["openapi", "v3"] => document(call, Some(call.server.shared.documents.index())),
        ["openapi", "v3", rest @ ..] => {
            document(call, call.server.shared.documents.v3(&rest.join("/")))
        }
        ["openapi", "v2"] => swagger(call),
        ["api"] => aggregated_or(call, aggregated::core, || {
            discovery::core_versions(call.header(header::HOST))
        }),
        ["apis"] => aggregated_or(call, aggregated::groups, discovery::group_list),
        ["apis", group] => found(call, discovery::group(group)),
        ["api", "v1", rest @ ..] if *rest == OURSELVES => {
            json_of(call, &ourselves(call.header(header::HOST)))
        }
        ["api", version] => found(call, discovery::resource_list("", version)),
        ["apis", group, version] => found(call, discovery::resource_list(group, version)),
        _ => Ok(page_not_found()),
    }
}

fn page_not_found() -> Response<Body> {
    answer::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn json_of(call: &Call, value: &Value) -> Answer {
    let form = Form::accepted(call.header(header::ACCEPT))?;
    Ok(answer::tree_as(StatusCode::OK, value, form))
}

fn found(call: &Call, value: Option<Value>) -> Answer {
    match value {
        Some(value) => json_of(call, &value),
        None => Ok(page_not_found()),
    }
}

/// Discovery in one document for those who ask for it, else in many.
fn aggregated_or(
    call: &Call,
    whole: fn(aggregated::Form) -> Value,
    old: impl FnOnce() -> Value,
) -> Answer {
    let mut wanted = discovery_versions(call.header(header::ACCEPT));
    match wanted.find_map(aggregated::Form::parse) {
        Some(form) => {
            let body = whole(form).to_string();
            Ok(answer::bytes(StatusCode::OK, form.content_type(), body.into()))
        }
        None => json_of(call, &old()),
    }
}

fn index() -> Value {
    json!({"paths": ["/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2",
        "/openapi/v3", "/readyz", "/version"]})
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": format!("{KUBERNETES_VERSION}+punctual.{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, go_arch()),
    })
}

/// The Service by which clients on a cluster find the API: its address as this client uses it.
fn ourselves(host: &str) -> Value {
    let (ip, port) = match host.parse::<SocketAddr>() {
        Ok(address) => (address.ip().to_string(), address.port()),
        Err(_) => ("127.0.0.1".to_owned(), 443),
    };
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": ip,
            "clusterIPs": [ip],
            "ports": [{"name": "https", "protocol": "TCP", "port": port, "targetPort": port}],
        },
        "status": {"loadBalancer": {}},
    })
}

fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A server whose store has failed reads but does not write, and should be restarted.
fn ready(call: &Call) -> Response<Body> {
    let shared = &call.server.shared;
    match shared.registry.store.failure() {
        _ if shared.ends.is_cancelled() => {
            answer::text(StatusCode::INTERNAL_SERVER_ERROR, "shutting down\n")
        }
        None => answer::text(StatusCode::OK, "ok"),
        Some(failure) => {
            answer::text(StatusCode::INTERNAL_SERVER_ERROR, format!("store failed: {failure}\n"))
        }
    }
}

fn metrics(call: &Call) -> Response<Body> {
    let shared = &call.server.shared;
    let snapshot = shared.registry.store.snapshot();
    let page = shared.metrics.page(&snapshot, shared.extra_metrics.as_deref());
    answer::bytes(StatusCode::OK, OPEN_METRICS_TYPE, page.into())
}

/// Version 2, for what kubectl checks by itself; it wants that in protobuf.
fn swagger(call: &Call) -> Answer {
    let documents = &call.server.shared.documents;
    let accept = call.header(header::ACCEPT);
    if PROTOBUF_TYPES.iter().any(|wanted| accept.contains(wanted)) {
        let body = documents.v2_protobuf().body.clone();
        return Ok(answer::bytes(StatusCode::OK, PROTOBUF_TYPES[0], body));
    }
    document(call, Some(documents.v2()))
}

fn document(call: &Call, document: Option<&Document>) -> Answer {
    let Some(document) = document else {
        return Ok(page_not_found());
    };
    Form::accepted(call.header(header::ACCEPT))?;
    let tag = format!("\"{}\"", document.hash);
    let mut response = match call.header(header::IF_NONE_MATCH) == tag {
        true => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        false => answer::bytes(StatusCode::OK, "application/json", document.body.clone()),
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}
