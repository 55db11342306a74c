//! The recorded requests to kube-apiserver, sent to us: the answers must be the same.
//!
//! Identity that a server makes up (uids, versions, tokens, generated names, times) is mapped from
//! the recording to the live answers, in requests too; managed fields and what depends on a server's
//! version or on what else it serves are not compared.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};

use crate::client::{ADMIN, Client, Site};

/// Made up by a server; learned where both have it.
const IDENTITY: [&str; 3] = ["uid", "resourceVersion", "continue"];
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

/// Answers that depend on what else a server serves, or on its version: only the code counts.
fn counts_by_code(name: &str) -> bool {
    let whole = [
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
    let begins = [
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
    whole.contains(&name)
        || begins.iter().any(|start| name.starts_with(start))
        || name.ends_with("terminating")
}

#[derive(Default)]
struct Identities {
    live: BTreeMap<String, String>,
}

impl Identities {
    fn learn(&mut self, recorded: &Value, live: &Value) {
        match (recorded, live) {
            (Value::Object(recorded), Value::Object(live)) => {
                for (key, value) in recorded {
                    match (value, live.get(key)) {
                        (Value::String(old), Some(Value::String(new)))
                            if IDENTITY.contains(&key.as_str()) =>
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
                recorded.iter().zip(live).for_each(|(a, b)| self.learn(a, b));
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

    /// A recorded text in the live server's terms.
    fn live(&self, text: &str) -> String {
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
                if SKIPPED.contains(&name.as_str()) || IDENTITY.contains(&name.as_str()) {
                    continue;
                }
                let below = format!("{path}.{name}");
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => differences(&below, a, b, found),
                    (Some(a), None) => found.push(format!("{below}: missing {a}")),
                    (None, b) => found.push(format!("{below}: extra {b:?}")),
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
            if blurred(a) != blurred(b) && !(is_precondition(a) && is_precondition(b)) {
                found.push(format!("{path}: {b:?}, want {a:?}"));
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: {b}, want {a}")),
    }
}

/// A text without what a server makes up: uids, ages, generated names, and versions where a
/// sentence is about one.
fn blurred(text: &str) -> String {
    let text = without_uids(text);
    let is_about_versions = text.contains("current: ") || text.contains("record (");
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = |word: &str| {
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_made_up = core.strip_suffix(['s', 'd']).is_some_and(digits)
            || core.strip_prefix("gen-").is_some_and(|rest| rest.len() == 5)
            || is_about_versions && digits(core) && core.len() < 9
            || word == "<unknown>";
        if is_made_up { "X" } else { word }.to_owned()
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn without_uids(text: &str) -> String {
    const PARTS: [usize; 5] = [8, 4, 4, 4, 12];
    let is_uid = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        parts.iter().map(|part| part.len()).eq(PARTS)
            && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let mut text = text.to_owned();
    let mut at = 0;
    while at < text.len() {
        if text.get(at..at + 36).is_some_and(is_uid) {
            text.replace_range(at..at + 36, "UID");
        }
        at += 1;
    }
    text
}

struct Case {
    recorded: Value,
}

impl Case {
    fn text(&self, pointer: &str) -> &str {
        self.recorded.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn request(&self, client: &Client, ids: &Identities) -> http::Request<Body> {
        let method: Method = self.text("/request/method").parse().unwrap();
        // A watch need not last as long as it did when it was recorded.
        let path = ids
            .live(self.text("/request/path"))
            .replace("timeoutSeconds=5", "timeoutSeconds=1")
            .replace("timeoutSeconds=2", "timeoutSeconds=1");
        let mut request = client.request(method, &path);
        for (name, value) in self.recorded["request"]["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        let body = match (self.recorded["request"].get("raw"), self.recorded["request"].get("body"))
        {
            (Some(raw), _) => ids.live(raw.as_str().unwrap()),
            (None, Some(body)) => ids.live(&body.to_string()),
            (None, None) => String::new(),
        };
        request.body(Body::from(body)).unwrap()
    }
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/kube-apiserver.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| Case { recorded: serde_json::from_str(line).unwrap() }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_request_has_the_recorded_answer() {
    let site = Site::strict().await;
    let (mut ids, mut passed, mut failed) = (Identities::default(), 0, Vec::new());
    for case in cases() {
        let token = if case.recorded["request"]["auth"] == true { ADMIN } else { "" };
        let client = site.client(token);
        let found = match case.recorded["response"].get("events") {
            Some(_) => replay_watch(&case, &client, &ids).await,
            None => replay(&case, &client, &mut ids).await,
        };
        match found.is_empty() {
            true => passed += 1,
            false => failed.push(format!(
                "{} / {}: {found:#?}",
                case.text("/scenario"),
                case.text("/name")
            )),
        }
    }
    println!("{passed} passed, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(passed, 233);
}

async fn replay(case: &Case, client: &Client, ids: &mut Identities) -> Vec<String> {
    let answer = client.send(case.request(client, ids)).await;
    let (recorded, live) = (&case.recorded["response"]["body"], &answer.body);
    ids.learn(recorded, live);
    let mut found = Vec::new();
    let code = json!(answer.code.as_u16());
    differences("code", &case.recorded["response"]["code"], &code, &mut found);
    if counts_by_code(case.text("/name")) {
        return found;
    }
    let live = match recorded {
        Value::String(_) => &json!(answer.text),
        _ => live,
    };
    differences("", recorded, live, &mut found);
    let warned = (
        case.recorded["response"].get("warning").is_some(),
        answer.headers.contains_key("warning"),
    );
    if warned.0 != warned.1 {
        found.push(format!("warned: {}, want {}", warned.1, warned.0));
    }
    found
}

async fn replay_watch(case: &Case, client: &Client, ids: &Identities) -> Vec<String> {
    let request = case.request(client, ids);
    let path = request.uri().path().to_owned();
    let mut lines = client.lines(request).await;
    let mut live = Vec::new();
    if case.text("/name").starts_with("watch from rv") {
        churn(client, &path, case).await;
    }
    while let Some(line) = lines.next().await {
        live.push(line);
    }
    let counts = |event: &&Value| {
        event["type"] != "BOOKMARK" || event.to_string().contains("initial-events-end")
    };
    let recorded = case.recorded["response"]["events"].as_array().unwrap();
    let recorded = Value::Array(recorded.iter().filter(counts).cloned().collect());
    let live = Value::Array(live.iter().filter(counts).cloned().collect());
    let mut found = Vec::new();
    differences("", &recorded, &live, &mut found);
    found
}

/// What happened while the watch was recorded.
async fn churn(client: &Client, path: &str, case: &Case) {
    let added = &case.recorded["response"]["events"][0]["object"];
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
