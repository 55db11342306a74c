//! Requests, by halves as they were recorded and as nobody would send them.

use anyhow::Context;
use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use super::damage;
use crate::dice::Dice;

/// What is deleted now and then.
pub(super) const COLLECTIONS: [&str; 9] = [
    "/apis/batch/v1/cronjobs",
    "/apis/batch/v1/namespaces/golden/cronjobs",
    "/apis/batch/v1/namespaces/golden/jobs?propagationPolicy=Background",
    "/apis/punctual.dev/v1/namespaces/golden/scheduledjobs",
    "/api/v1/namespaces/golden/pods?gracePeriodSeconds=0",
    "/api/v1/namespaces/golden/configmaps",
    "/api/v1/namespaces/golden/secrets",
    "/api/v1/namespaces/golden/events",
    "/apis/coordination.k8s.io/v1/namespaces/golden/leases",
];

const PATHS: [&str; 26] = [
    "api",
    "apis",
    "v1",
    "batch",
    "v1beta1",
    "namespaces",
    "golden",
    "default",
    "cronjobs",
    "jobs",
    "pods",
    "a",
    "l1",
    "status",
    "log",
    "finalize",
    "events",
    "events.k8s.io",
    "punctual.dev",
    "scheduledjobs",
    "openapi",
    "v3",
    "%2e%2e",
    "%00",
    "..",
    "",
];
const PARAMETERS: [&str; 19] = [
    "watch=true",
    "limit=1",
    "limit=-5",
    "limit=x",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
    "continue=%ff",
    "resourceVersion=0",
    "resourceVersion=1",
    "resourceVersion=99999999999999999999",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=NotOlderThan",
    "sendInitialEvents=true",
    "allowWatchBookmarks=1",
    "timeoutSeconds=1",
    "dryRun=All",
    "fieldValidation=Strict",
    "force=true",
    "fieldManager=f",
    "includeObject=Object",
];
const SELECTOR_TOKENS: [&str; 22] = [
    "a",
    "grp",
    "x",
    "=",
    "==",
    "!=",
    "!",
    "in",
    "notin",
    "(",
    ")",
    ",",
    ">",
    "<",
    " ",
    "1",
    "metadata.name",
    "metadata.namespace",
    "status.phase",
    "\\",
    "ä",
    "a/b",
];
const ACCEPTS: [&str; 8] = [
    "application/json",
    "*/*",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "text/html;q=x,;;,application/*;q=0.1",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
];
const TYPES: [&str; 8] = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "x",
];
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// One request as it was recorded.
struct Recorded {
    method: String,
    path: String,
    content_type: String,
    body: Option<Value>,
}

/// Requests to begin with.
pub(super) struct Requests {
    recorded: Vec<Recorded>,
}

impl Requests {
    pub(super) fn recorded() -> anyhow::Result<Requests> {
        let path =
            crate::tidy::repository_root().join("crates/server/testdata/kube-apiserver.jsonl");
        let text = std::fs::read_to_string(&path).context("the recorded requests")?;
        let recorded = text.lines().filter_map(|line| {
            let case: Value = serde_json::from_str(line).ok()?;
            let request = case.get("request")?;
            let text = |pointer: &str| Some(request.pointer(pointer)?.as_str()?.to_owned());
            let path = text("/path")?;
            // The namespace has to live.
            let ends = path == "/api/v1/namespaces/golden" && text("/method")? == "DELETE";
            (!ends).then_some(Recorded {
                method: text("/method")?,
                path,
                content_type: text("/headers/Content-Type").unwrap_or_default(),
                body: request.get("body").cloned(),
            })
        });
        Ok(Requests { recorded: recorded.collect() })
    }

    /// The next request, and what it is in words; none where no request can be made of it.
    pub(super) fn next(&self, dice: &mut Dice) -> Option<(Request<Body>, String)> {
        let recorded = self.recorded.get(dice.below(self.recorded.len() as u64) as usize)?;
        let path = path(dice, &recorded.path);
        let method = match dice.chance(10) {
            true => pick(dice, &METHODS),
            false => &recorded.method,
        };
        let content_type = match dice.chance(15) {
            true => pick(dice, &TYPES),
            false => &recorded.content_type,
        };
        let body = self.body(dice, recorded, content_type);
        let request = Request::builder()
            .method(method)
            .uri(&path)
            .header("Content-Type", content_type)
            .header(
                "Accept",
                if dice.chance(30) { pick(dice, &ACCEPTS) } else { "application/json" },
            )
            .body(Body::from(body.clone()))
            .ok()?;
        let shown = String::from_utf8_lossy(&body).chars().take(4000).collect::<String>();
        Some((request, format!("{method} {path} {content_type}\n{shown}")))
    }

    fn body(&self, dice: &mut Dice, recorded: &Recorded, content_type: &str) -> Vec<u8> {
        let Some(mut body) = recorded.body.clone() else {
            return if dice.chance(10) { b"{}".to_vec() } else { Vec::new() };
        };
        if content_type == "application/json-patch+json" && dice.chance(80) {
            body = damage::json_patch(dice);
        } else if content_type.contains("patch") && dice.chance(50) {
            body = self.another_as_patch(dice).unwrap_or(body);
        }
        for _ in 0..dice.below(4) {
            damage::tree(dice, &mut body);
        }
        let mut text = body.to_string().into_bytes();
        if dice.chance(10) {
            damage::bytes(dice, &mut text);
        }
        text
    }

    /// The body of another request, with words that patches have.
    fn another_as_patch(&self, dice: &mut Dice) -> Option<Value> {
        let other = self.recorded.get(dice.below(self.recorded.len() as u64) as usize)?;
        let mut body = other.body.clone()?;
        if dice.chance(60) {
            damage::directive(dice, &mut body);
        }
        Some(body)
    }
}

fn path(dice: &mut Dice, recorded: &str) -> String {
    let mut path = match dice.chance(10) {
        true => {
            let count = dice.below(7);
            (0..count).map(|_| format!("/{}", pick(dice, &PATHS))).collect()
        }
        false => recorded.to_owned(),
    };
    if !path.starts_with('/') {
        path = format!("/{path}");
    }
    for _ in 0..dice.below(3) {
        let sign = if path.contains('?') { '&' } else { '?' };
        let parameter = match dice.chance(60) {
            true => pick(dice, &PARAMETERS).to_owned(),
            false => selector(dice),
        };
        path = format!("{path}{sign}{parameter}");
    }
    path
}

fn selector(dice: &mut Dice) -> String {
    let name = if dice.chance(50) { "labelSelector" } else { "fieldSelector" };
    let count = dice.below(9);
    let text: String = (0..count).map(|_| pick(dice, &SELECTOR_TOKENS)).collect();
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    format!("{name}={encoded}")
}

pub(super) fn pick<'a>(dice: &mut Dice, choices: &[&'a str]) -> &'a str {
    choices.get(dice.below(choices.len() as u64) as usize).copied().unwrap_or_default()
}

/// Any value.
pub(super) fn scalar(dice: &mut Dice) -> Value {
    match dice.below(14) {
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
