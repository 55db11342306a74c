//! What all tests of the controllers need: requests to the server, and the context of a controller.

use std::sync::Arc;

use http::Request;
use kube::Client;
use punctual_controller::{BurstGate, Clock, Context, Fence, Metrics};
use serde_json::Value;

/// Sends a request. A null body is omitted, and patches are merge patches.
pub(crate) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, kube::Error> {
    let content_type =
        if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path);
    let request = request.header("Content-Type", content_type);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request(request.body(body).unwrap()).await
}

/// The context of controllers that need no leader election.
pub(crate) fn controller_context(client: Client, clock: Arc<dyn Clock>) -> Context {
    Context {
        client,
        shared_watches: None,
        clock,
        metrics: Metrics::default(),
        burst_gate: BurstGate::default(),
        fence: Fence::always_open(),
    }
}
