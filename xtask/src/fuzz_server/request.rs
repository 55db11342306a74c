//! Makes random requests from recorded ones, for the fuzzer of the server.

use anyhow::Context;
use axum::body::Body;
use http::Request;
use punctual_testing::TestRng;
use serde_json::{Value, json};

use super::mutate;

/// The collections that are deleted periodically.
pub(super) const COLLECTIONS: [&str; 10] = [
    "/apis/batch/v1/cronjobs",
    "/apis/batch/v1/namespaces/golden/cronjobs",
    "/apis/batch/v1/namespaces/golden/jobs?propagationPolicy=Background",
    "/apis/punctual.dev/v1/namespaces/golden/runrequests",
    "/apis/punctual.dev/v1/namespaces/golden/scheduledjobs",
    "/api/v1/namespaces/golden/pods?gracePeriodSeconds=0",
    "/api/v1/namespaces/golden/configmaps",
    "/api/v1/namespaces/golden/secrets",
    "/api/v1/namespaces/golden/events",
    "/apis/coordination.k8s.io/v1/namespaces/golden/leases",
];

#[rustfmt::skip]
const PATH_SEGMENTS: [&str; 27] = [
    "api", "apis", "v1", "batch", "v1beta1", "namespaces", "golden", "default", "cronjobs", "jobs",
    "pods", "a", "l1", "status", "log", "finalize", "events", "events.k8s.io", "punctual.dev",
    "scheduledjobs", "runrequests", "openapi", "v3", "%2e%2e", "%00", "..", "",
];
#[rustfmt::skip]
const PARAMETERS: [&str; 19] = [
    "watch=true", "limit=1", "limit=-5", "limit=x",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "continue=%ff",
    "resourceVersion=0", "resourceVersion=1", "resourceVersion=99999999999999999999",
    "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "sendInitialEvents=true",
    "allowWatchBookmarks=1", "timeoutSeconds=1", "dryRun=All", "fieldValidation=Strict",
    "force=true", "fieldManager=f", "includeObject=Object",
];
/// The parameters whose values are numbers.
#[rustfmt::skip]
const NUMERIC_PARAMETERS: [&str; 7] = [
    "timeoutSeconds", "limit", "resourceVersion", "gracePeriodSeconds", "sinceSeconds", "tailLines",
    "limitBytes",
];
/// The ends of the ranges of integers, and the values next to them.
#[rustfmt::skip]
const EXTREME_NUMBERS: [&str; 14] = [
    "0", "-1", "1", "2147483647", "-2147483648", "2147483648", "4294967296", "9223372036854775807",
    "9223372036854775806", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "1e400",
];
#[rustfmt::skip]
const SELECTOR_TOKENS: [&str; 22] = [
    "a", "grp", "x", "=", "==", "!=", "!", "in", "notin", "(", ")", ",", ">", "<", " ", "1",
    "metadata.name", "metadata.namespace", "status.phase", "\\", "ä", "a/b",
];
#[rustfmt::skip]
const ACCEPTS: [&str; 8] = [
    "application/json", "*/*", "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "text/html;q=x,;;,application/*;q=0.1", "application/vnd.kubernetes.protobuf",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
];
#[rustfmt::skip]
const MEDIA_TYPES: [&str; 8] = [
    "application/json", "application/yaml", "application/json-patch+json",
    "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf", "x",
];
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// One recorded request.
struct SeedRequest {
    method: String,
    path: String,
    content_type: String,
    body: Option<Value>,
}

/// A request and its text for reports.
pub(super) struct RandomRequest {
    pub(super) request: Request<Body>,
    pub(super) description: String,
}

/// The recorded requests.
pub(super) struct RecordedRequests {
    recorded: Vec<SeedRequest>,
}

impl RecordedRequests {
    pub(super) fn read() -> anyhow::Result<RecordedRequests> {
        let path =
            crate::tidy::repository_root().join("crates/server/testdata/kube-apiserver.jsonl");
        let text = std::fs::read_to_string(&path).context("the recorded requests")?;
        let recorded = text.lines().filter_map(|line| {
            let case: Value = serde_json::from_str(line).ok()?;
            let request = case.get("request")?;
            let text = |pointer: &str| Some(request.pointer(pointer)?.as_str()?.to_owned());
            let path = text("/path")?;
            // The other requests need the namespace.
            let deletes_namespace =
                path == "/api/v1/namespaces/golden" && text("/method")? == "DELETE";
            (!deletes_namespace).then_some(SeedRequest {
                method: text("/method")?,
                path,
                content_type: text("/headers/Content-Type").unwrap_or_default(),
                body: request.get("body").cloned(),
            })
        });
        Ok(RecordedRequests { recorded: recorded.collect() })
    }

    /// Generates a request; `None` if its parts are not valid HTTP.
    pub(super) fn generate(&self, rng: &TestRng) -> Option<RandomRequest> {
        let recorded = self.recorded.get(rng.below(self.recorded.len() as u64) as usize)?;
        let path = random_path(rng, &recorded.path);
        let method = if rng.percent(10) { pick(rng, &METHODS) } else { &recorded.method };
        let content_type =
            if rng.percent(15) { pick(rng, &MEDIA_TYPES) } else { &recorded.content_type };
        let body = self.random_body(rng, recorded, content_type);
        let request = Request::builder()
            .method(method)
            .uri(&path)
            .header("Content-Type", content_type)
            .header(
                "Accept",
                if rng.percent(30) { pick(rng, &ACCEPTS) } else { "application/json" },
            )
            .body(Body::from(body.clone()))
            .ok()?;
        let shown = String::from_utf8_lossy(&body).chars().take(4000).collect::<String>();
        let description = format!("{method} {path} {content_type}\n{shown}");
        Some(RandomRequest { request, description })
    }

    fn random_body(&self, rng: &TestRng, recorded: &SeedRequest, content_type: &str) -> Vec<u8> {
        let Some(mut body) = recorded.body.clone() else {
            return if rng.percent(10) { b"{}".to_vec() } else { Vec::new() };
        };
        if content_type == "application/json-patch+json" && rng.percent(80) {
            body = mutate::random_json_patch(rng);
        } else if content_type.contains("patch") && rng.percent(50) {
            body = self.other_body_as_patch(rng).unwrap_or(body);
        }
        for _ in 0..rng.below(4) {
            mutate::mutate_tree(rng, &mut body);
        }
        let mut text = body.to_string().into_bytes();
        if rng.percent(10) {
            mutate::mutate_bytes(rng, &mut text);
        }
        text
    }

    /// The body of another request, sometimes with a directive of patches.
    fn other_body_as_patch(&self, rng: &TestRng) -> Option<Value> {
        let other = self.recorded.get(rng.below(self.recorded.len() as u64) as usize)?;
        let mut body = other.body.clone()?;
        if rng.percent(60) {
            mutate::add_directive(rng, &mut body);
        }
        Some(body)
    }
}

fn random_path(rng: &TestRng, recorded: &str) -> String {
    let mut path = if rng.percent(10) {
        let count = rng.below(7);
        (0..count).map(|_| format!("/{}", pick(rng, &PATH_SEGMENTS))).collect()
    } else {
        recorded.to_owned()
    };
    if !path.starts_with('/') {
        path = format!("/{path}");
    }
    for _ in 0..rng.below(3) {
        let separator = if path.contains('?') { '&' } else { '?' };
        let parameter = random_parameter(rng);
        path = format!("{path}{separator}{parameter}");
    }
    path
}

fn random_parameter(rng: &TestRng) -> String {
    match rng.below(10) {
        0..=4 => pick(rng, &PARAMETERS).to_owned(),
        5..=6 => format!("{}={}", pick(rng, &NUMERIC_PARAMETERS), pick(rng, &EXTREME_NUMBERS)),
        _ => random_selector(rng),
    }
}

fn random_selector(rng: &TestRng) -> String {
    let name = if rng.percent(50) { "labelSelector" } else { "fieldSelector" };
    let count = rng.below(9);
    let text: String = (0..count).map(|_| pick(rng, &SELECTOR_TOKENS)).collect();
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    format!("{name}={encoded}")
}

pub(super) fn pick<'a>(rng: &TestRng, choices: &[&'a str]) -> &'a str {
    choices.get(rng.below(choices.len() as u64) as usize).copied().unwrap_or_default()
}

/// A random small value.
pub(super) fn random_value(rng: &TestRng) -> Value {
    match rng.below(14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(0),
        4 => json!(i64::MAX),
        5 => json!(1e300),
        6 => json!(""),
        7 => json!("\u{0}\u{7f}\u{202e}"),
        8 => json!("x".repeat(300)),
        9 => json!("*/5 * * * *"),
        10 => json!([]),
        11 => json!({}),
        12 => json!([{"name": "c"}, {"name": "c"}]),
        _ => json!({"name": {"name": ["a", null, 1]}}),
    }
}
