//! Replays requests recorded from kube-apiserver and compares the responses.
//!
//! Values that a server generates (UIDs, versions, tokens, generated names, times) are mapped from
//! the recording to the live server, in requests too. `managedFields` and values that depend on the
//! server's version or on its other resources are not compared.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};

use crate::client::{ADMIN, TestClient, TestServer};

/// Fields whose values a server generates. Their mapping is learned from responses.
const GENERATED: [&str; 3] = ["uid", "resourceVersion", "continue"];
const SKIPPED: [&str; 10] = [
    "managedFields",
    "selfLink",
    "creationTimestamp",
    "deletionTimestamp",
    "remainingItemCount",
    "firstTimestamp",
    "lastTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "deletionGracePeriodSeconds",
];

/// Whether only the status code of a response is compared, since the body depends on the server's
/// version or on its other resources.
fn is_compared_by_code(name: &str) -> bool {
    let names = [
        "GET /version",
        "GET /api",
        "GET /apis",
        "GET /api/v1",
        "GET /healthz",
        "GET /readyz",
        "GET /livez",
        "yaml accept",
        "create namespace",
    ];
    let prefixes = [
        "aggregated discovery",
        "openapi",
        "GET /apis/batch",
        "GET /apis/coordination",
        "GET /apis/events",
        "table pods",
        "table events",
        "table jobs",
        "table leases",
        "table namespaces",
        "event via",
        "selfsubject",
        "pod",
        "serviceaccount",
        "secret",
    ];
    names.contains(&name)
        || prefixes.iter().any(|prefix| name.starts_with(prefix))
        || name.ends_with("terminating")
}

/// Maps generated values of the recording to those of the live server.
#[derive(Default)]
struct GeneratedValues {
    live: BTreeMap<String, String>,
}

impl GeneratedValues {
    fn learn(&mut self, recorded: &Value, live: &Value) {
        match (recorded, live) {
            (Value::Object(recorded), Value::Object(live)) => {
                for (key, value) in recorded {
                    match (value, live.get(key)) {
                        (Value::String(old), Some(Value::String(new)))
                            if GENERATED.contains(&key.as_str()) =>
                        {
                            self.live.insert(old.clone(), new.clone());
                        }
                        (value, Some(live)) => self.learn(value, live),
                        _ => {}
                    }
                }
                self.learn_generated_name(recorded.get("metadata"), live.get("metadata"));
            }
            (Value::Array(recorded), Value::Array(live)) => {
                for (recorded, live) in recorded.iter().zip(live) {
                    self.learn(recorded, live);
                }
            }
            _ => {}
        }
    }

    fn learn_generated_name(&mut self, recorded: Option<&Value>, live: Option<&Value>) {
        let name = |metadata: Option<&Value>| Some(metadata?.get("name")?.as_str()?.to_owned());
        if recorded.is_some_and(|metadata| metadata.get("generateName").is_some())
            && let (Some(old), Some(new)) = (name(recorded), name(live))
        {
            self.live.insert(old, new);
        }
    }

    /// Replaces recorded values in a text by live ones.
    fn to_live(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (old, new) in &self.live {
            if old.bytes().all(|byte| byte.is_ascii_digit()) {
                for (before, after) in [("resourceVersion=", ""), ("\"resourceVersion\":\"", "\"")]
                {
                    text = text.replace(
                        &format!("{before}{old}{after}"),
                        &format!("{before}{new}{after}"),
                    );
                }
            } else {
                text = text.replace(old.as_str(), new);
            }
        }
        text
    }
}

fn differences(path: &str, recorded: &Value, live: &Value, found: &mut Vec<String>) {
    match (recorded, live) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                if SKIPPED.contains(&name.as_str()) || GENERATED.contains(&name.as_str()) {
                    continue;
                }
                let path = format!("{path}.{name}");
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => differences(&path, a, b, found),
                    (Some(a), None) => found.push(format!("{path}: missing {a}")),
                    (None, b) => found.push(format!("{path}: extra {b:?}")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{i}]"), a, b, found);
            }
        }
        (Value::String(a), Value::String(b)) => {
            let is_precondition = |text: &str| text.starts_with("Precondition failed");
            if normalize(a) != normalize(b) && !(is_precondition(a) && is_precondition(b)) {
                found.push(format!("{path}: {b:?}, want {a:?}"));
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: {b}, want {a}")),
    }
}

/// Replaces generated values in a text: UIDs, ages, generated names, and versions in messages about
/// versions.
fn normalize(text: &str) -> String {
    let text = replace_uids(text);
    let is_about_versions = text.contains("current: ") || text.contains("record (");
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let normalize_word = |word: &str| {
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_generated = core.strip_suffix(['s', 'd']).is_some_and(digits)
            || core.strip_prefix("gen-").is_some_and(|rest| rest.len() == 5)
            || is_about_versions && digits(core) && core.len() < 9
            || word == "<unknown>";
        if is_generated { "X" } else { word }.to_owned()
    };
    text.split(' ').map(normalize_word).collect::<Vec<_>>().join(" ")
}

fn replace_uids(text: &str) -> String {
    const PARTS: [usize; 5] = [8, 4, 4, 4, 12];
    let is_uid = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        parts.iter().map(|part| part.len()).eq(PARTS)
            && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let mut text = text.to_owned();
    let mut start = 0;
    while start < text.len() {
        if text.get(start..start + 36).is_some_and(is_uid) {
            text.replace_range(start..start + 36, "UID");
        }
        start += 1;
    }
    text
}

struct RecordedRequest {
    recorded: Value,
}

impl RecordedRequest {
    fn text(&self, pointer: &str) -> &str {
        self.recorded.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn request(&self, client: &TestClient, values: &GeneratedValues) -> http::Request<Body> {
        let method: Method = self.text("/request/method").parse().unwrap();
        // Recorded watches lasted longer than the test needs.
        let path = values
            .to_live(self.text("/request/path"))
            .replace("timeoutSeconds=5", "timeoutSeconds=1")
            .replace("timeoutSeconds=2", "timeoutSeconds=1");
        let mut request = client.request(method, &path);
        for (name, value) in self.recorded["request"]["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        let body = match (self.recorded["request"].get("raw"), self.recorded["request"].get("body"))
        {
            (Some(raw), _) => values.to_live(raw.as_str().unwrap()),
            (None, Some(body)) => values.to_live(&body.to_string()),
            (None, None) => String::new(),
        };
        request.body(Body::from(body)).unwrap()
    }
}

fn recorded_requests() -> Vec<RecordedRequest> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/kube-apiserver.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let parse = |line| RecordedRequest { recorded: serde_json::from_str(line).unwrap() };
    text.lines().map(parse).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_match_the_recording() {
    let server = TestServer::strict().await;
    let mut values = GeneratedValues::default();
    let mut passed = 0;
    let mut failed = Vec::new();
    for request in recorded_requests() {
        let token = if request.recorded["request"]["auth"] == true { ADMIN } else { "" };
        let client = server.client(token);
        let found = match request.recorded["response"].get("events") {
            Some(_) => replay_watch(&request, &client, &values).await,
            None => replay(&request, &client, &mut values).await,
        };
        if found.is_empty() {
            passed += 1;
        } else {
            let scenario = request.text("/scenario");
            failed.push(format!("{scenario} / {}: {found:#?}", request.text("/name")));
        }
    }
    println!("{passed} passed, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(passed, 233);
}

async fn replay(
    request: &RecordedRequest,
    client: &TestClient,
    values: &mut GeneratedValues,
) -> Vec<String> {
    let response = client.send(request.request(client, values)).await;
    let recorded = &request.recorded["response"]["body"];
    let live = &response.body;
    values.learn(recorded, live);
    let mut found = Vec::new();
    let code = json!(response.code.as_u16());
    differences("code", &request.recorded["response"]["code"], &code, &mut found);
    if is_compared_by_code(request.text("/name")) {
        return found;
    }
    let live = match recorded {
        Value::String(_) => &json!(response.text),
        _ => live,
    };
    differences("", recorded, live, &mut found);
    let expects_warning = request.recorded["response"].get("warning").is_some();
    let has_warning = response.headers.contains_key("warning");
    if has_warning != expects_warning {
        found.push(format!("warned: {has_warning}, want {expects_warning}"));
    }
    found
}

async fn replay_watch(
    request: &RecordedRequest,
    client: &TestClient,
    values: &GeneratedValues,
) -> Vec<String> {
    let live_request = request.request(client, values);
    let path = live_request.uri().path().to_owned();
    let mut lines = client.lines(live_request).await;
    let mut live = Vec::new();
    if request.text("/name").starts_with("watch from rv") {
        write_while_watching(client, &path, request).await;
    }
    while let Some(line) = lines.next().await {
        live.push(line);
    }
    let is_compared = |event: &&Value| {
        event["type"] != "BOOKMARK" || event.to_string().contains("initial-events-end")
    };
    let recorded = request.recorded["response"]["events"].as_array().unwrap();
    let recorded = Value::Array(recorded.iter().filter(is_compared).cloned().collect());
    let live = Value::Array(live.iter().filter(is_compared).cloned().collect());
    let mut found = Vec::new();
    differences("", &recorded, &live, &mut found);
    found
}

/// Repeats the writes that happened while the watch was recorded.
async fn write_while_watching(client: &TestClient, path: &str, request: &RecordedRequest) {
    let added = &request.recorded["response"]["events"][0]["object"];
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "OnFailure",
        "containers": [{"name": "c", "image": "busybox", "command": ["true"]}]}}}});
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": "w1", "labels": {"w": "1"}},
        "spec": {"schedule": added["spec"]["schedule"], "jobTemplate": template}});
    client.post(path, &object).await;
    let one = format!("{path}/w1");
    for patch in [
        json!({"spec": {"suspend": true}}),
        json!({"metadata": {"labels": {"w": "2"}}}),
        json!({"metadata": {"labels": {"w": "1"}}}),
    ] {
        client.merge(&one, &patch).await;
    }
    client.delete(&one).await;
}
