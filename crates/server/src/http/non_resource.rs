//! Handlers of paths that are not resources: health, version, discovery, OpenAPI and metrics.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::body::Body;
use futures::stream;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use super::{RequestContext, not_allowed};
use crate::discovery::{self, aggregated};
use crate::ledger::run_blocking;
use crate::metrics::OPEN_METRICS_TYPE;
use crate::openapi::{Document, PROTOBUF_TYPES};
use crate::request::{KUBERNETES_SERVICE_PATH, ResponseFormat, discovery_versions};
use crate::response::{self, ApiResult};

/// The version of Kubernetes whose API is implemented.
const KUBERNETES_VERSION: &str = "v1.36.0";

/// Handles a request to a path that is not a resource.
pub(super) async fn handle(request: &RequestContext, method: &Method) -> ApiResult {
    let path = request.parts.uri.path();
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    if !matches!(*method, Method::GET | Method::HEAD) {
        return match segments.as_slice() {
            [
                "api" | "apis" | "healthz" | "livez" | "readyz" | "version" | "metrics" | "openapi",
                ..,
            ] => Err(not_allowed()),
            _ => Ok(page_not_found()),
        };
    }
    match segments.as_slice() {
        [""] => render_json(request, &index()),
        ["healthz" | "livez", ..] => Ok(response::render_text(StatusCode::OK, "ok")),
        ["readyz", ..] => Ok(readiness(request)),
        ["version"] => render_json(request, &version()),
        ["metrics"] => Ok(metrics(request).await),
        ["backup"] => Ok(backup(request)),
        ["openapi", "v3"] => document(request, Some(request.server.state.documents.index())),
        ["openapi", "v3", rest @ ..] => {
            document(request, request.server.state.documents.v3(&rest.join("/")))
        }
        ["openapi", "v2"] => openapi_v2(request),
        ["api"] => discovery_document(request, aggregated::core, || {
            discovery::core_versions(request.header(header::HOST))
        }),
        ["apis"] => discovery_document(request, aggregated::groups, discovery::group_list),
        ["apis", group] => render_or_not_found(request, discovery::group(group)),
        // The computed Service object `default/kubernetes`, which clients use to find the API.
        ["api", "v1", rest @ ..] if *rest == KUBERNETES_SERVICE_PATH => {
            render_json(request, &kubernetes_service(request.header(header::HOST)))
        }
        // kubectl reads this list to explain that a kind is not served. It is always empty.
        ["apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions"] => {
            render_json(request, &no_custom_resource_definitions())
        }
        ["api", version] => render_or_not_found(request, discovery::resource_list("", version)),
        ["apis", group, version] => {
            render_or_not_found(request, discovery::resource_list(group, version))
        }
        _ => Ok(page_not_found()),
    }
}

fn page_not_found() -> Response<Body> {
    response::render_text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn render_json(request: &RequestContext, value: &Value) -> ApiResult {
    let format = ResponseFormat::negotiate(request.header(header::ACCEPT))?;
    Ok(response::render_value(StatusCode::OK, value, format))
}

fn render_or_not_found(request: &RequestContext, value: Option<Value>) -> ApiResult {
    match value {
        Some(value) => render_json(request, &value),
        None => Ok(page_not_found()),
    }
}

/// Responds with aggregated discovery if the client accepts it, otherwise with the legacy document.
fn discovery_document(
    request: &RequestContext,
    aggregated: fn(aggregated::DiscoveryVersion) -> Value,
    legacy: impl FnOnce() -> Value,
) -> ApiResult {
    let mut accepted = discovery_versions(request.header(header::ACCEPT));
    match accepted.find_map(aggregated::DiscoveryVersion::parse) {
        Some(version) => {
            let body = aggregated(version).to_string();
            Ok(response::from_bytes(StatusCode::OK, version.content_type(), body.into()))
        }
        None => render_json(request, &legacy()),
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

/// Returns the Service `kubernetes`, which clients use to find the API. It has the address in the
/// request's `Host` header.
fn kubernetes_service(host: &str) -> Value {
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

fn no_custom_resource_definitions() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinitionList",
        "metadata": {"resourceVersion": "1"},
        "items": [],
    })
}

fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Reports whether the server is ready. After a failure of its store the server is read-only and
/// must be restarted.
fn readiness(request: &RequestContext) -> Response<Body> {
    let state = &request.server.state;
    let unavailable = |text: String| response::render_text(StatusCode::INTERNAL_SERVER_ERROR, text);
    if state.shutdown.is_cancelled() {
        return unavailable("shutting down\n".to_owned());
    }
    let store = &state.registry.store;
    if let Some(failure) = store.failure() {
        return unavailable(format!("store failed: {failure}\n"));
    }
    match store.check_location() {
        Ok(()) => response::render_text(StatusCode::OK, "ok"),
        Err(error) => unavailable(format!("store failed: {error}\n")),
    }
}

/// Encodes the metrics on a blocking thread, since those of the process are read from `/proc`.
async fn metrics(request: &RequestContext) -> Response<Body> {
    let server = request.server.clone();
    let encode = move || {
        let state = &server.state;
        let snapshot = state.registry.store.snapshot();
        state.metrics.encode(&snapshot, state.extra_metrics.as_deref())
    };
    match tokio::task::spawn_blocking(encode).await {
        Ok(text) => response::from_bytes(StatusCode::OK, OPEN_METRICS_TYPE, text.into()),
        Err(_) => response::render_text(StatusCode::INTERNAL_SERVER_ERROR, "no metrics\n"),
    }
}

/// Streams all objects of the current revision. Only administrators are authorized, because the
/// objects include Secrets.
fn backup(request: &RequestContext) -> Response<Body> {
    let store = &request.server.state.registry.store;
    let archive = store.archive().clone();
    let chunks = store.backup();
    let body = Body::from_stream(stream::unfold(chunks, move |mut chunks| {
        let archive = archive.clone();
        async move {
            // The archive is read from the file.
            let next = run_blocking(&archive, move || Ok((chunks.next(), chunks)));
            let (chunk, chunks) = next.await.ok()?;
            Some((Ok::<_, Infallible>(chunk?), chunks))
        }
    }));
    let mut response = Response::new(body);
    let content_type = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// Responds with the OpenAPI v2 document, which kubectl requests in protobuf for client-side
/// validation.
fn openapi_v2(request: &RequestContext) -> ApiResult {
    let documents = &request.server.state.documents;
    let accept = request.header(header::ACCEPT);
    if PROTOBUF_TYPES.iter().any(|media_type| accept.contains(media_type)) {
        let body = documents.v2_protobuf().body.clone();
        return Ok(response::from_bytes(StatusCode::OK, PROTOBUF_TYPES[0], body));
    }
    document(request, Some(documents.v2()))
}

fn document(request: &RequestContext, document: Option<&Document>) -> ApiResult {
    let Some(document) = document else {
        return Ok(page_not_found());
    };
    ResponseFormat::negotiate(request.header(header::ACCEPT))?;
    let tag = format!("\"{}\"", document.hash);
    let mut response = if request.header(header::IF_NONE_MATCH) == tag {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        response::from_bytes(StatusCode::OK, "application/json", document.body.clone())
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}
