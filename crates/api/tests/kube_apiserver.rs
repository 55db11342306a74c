//! Replays recorded requests to kube-apiserver and compares every response: code, message, causes,
//! warnings, and the object with all its defaults.
//!
//! The requests of a scenario build on each other, so a map replaces the store of a server. Patches
//! are applied in the simplest way that these requests need.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

use std::collections::BTreeMap;

use punctual_api::decode::{self, ExpectedKind, FieldValidation, UnknownFields};
use punctual_api::status::GroupResource;
use punctual_api::validate::ValidationOptions;
use punctual_api::write_rules::{self, AdmittedObject, CreateContext, ResourceKind};
use punctual_api::{CronJobKind, Dialect, Status};
use punctual_schedule::Zones;
use serde::Deserialize;
use serde_json::Value;

/// Cases that depend on the HTTP request itself.
const ABOUT_HTTP: [(&str, &str); 1] =
    [("bad dryRun value", "an error in a query parameter, not in an object")];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedRequest {
    scenario: String,
    name: String,
    method: String,
    path: String,
    content_type: String,
    body: Option<String>,
    code: u16,
    answer: Value,
    warning: Option<String>,
}

#[test]
fn responses_equal_those_of_kube_apiserver() {
    let text = include_str!("../testdata/kube-apiserver.jsonl");
    let requests: Vec<RecordedRequest> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut store = ObjectStore::default();
    let mut failures = Vec::new();
    let mut compared = 0;
    for request in &requests {
        if ABOUT_HTTP.iter().any(|(name, _)| *name == request.name) {
            continue;
        }
        compared += 1;
        let differences = differences(request, store.respond(request));
        if !differences.is_empty() {
            let differences = differences.join("\n    ");
            failures.push(format!("{} / {}:\n    {differences}", request.scenario, request.name));
        }
    }
    println!("{compared} responses compared, {} are about HTTP only", ABOUT_HTTP.len());
    assert_eq!(compared + ABOUT_HTTP.len(), 95);
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

type Response = Result<(u16, AdmittedObject), Status>;

/// The stored objects by path.
#[derive(Default)]
struct ObjectStore {
    objects: BTreeMap<String, Value>,
}

/// The target of a request.
struct RequestTarget<'a> {
    namespace: &'a str,
    kind: ResourceKind,
    resource: GroupResource<'static>,
    name: &'a str,
    is_status: bool,
    is_dry_run: bool,
    validation: FieldValidation,
}

impl<'a> RequestTarget<'a> {
    fn parse(path: &'a str) -> RequestTarget<'a> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<_> =
            path.trim_start_matches("/apis/batch/v1/namespaces/").split('/').collect();
        let (kind, name) = match parts[1] {
            "jobs" => (ResourceKind::Job, "jobs"),
            _ => (ResourceKind::CronJob(CronJobKind::BatchV1), "cronjobs"),
        };
        RequestTarget {
            namespace: parts[0],
            kind,
            resource: GroupResource { group: "batch", name },
            name: parts.get(2).copied().unwrap_or_default(),
            is_status: parts.get(3) == Some(&"status"),
            is_dry_run: query == "dryRun=All",
            validation: match query {
                "fieldValidation=Strict" => FieldValidation::Strict,
                "fieldValidation=Ignore" => FieldValidation::Ignore,
                _ => FieldValidation::Warn,
            },
        }
    }

    fn key(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.namespace, self.resource.name)
    }

    fn expected(&self) -> ExpectedKind<'static> {
        let kind = if self.kind == ResourceKind::Job { "Job" } else { "CronJob" };
        ExpectedKind { api_version: "batch/v1", kind }
    }
}

fn rules() -> ValidationOptions {
    ValidationOptions { zones: Zones::bundled(), dialect: Dialect::Kubernetes }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl ObjectStore {
    fn respond(&mut self, request: &RecordedRequest) -> Response {
        let target = RequestTarget::parse(&request.path);
        if target.namespace != "golden" {
            let namespaces = GroupResource { group: "", name: "namespaces" };
            return Err(Status::not_found(namespaces, target.namespace));
        }
        match request.method.as_str() {
            "GET" => self.get(&target).map(|object| (200, without_warnings(object))),
            "POST" => self.create(request, &target).map(|admitted| (201, admitted)),
            "PUT" => self.put(request, &target).map(|admitted| (200, admitted)),
            _ => self.patch(request, &target).map(|admitted| (200, admitted)),
        }
    }

    fn get(&self, target: &RequestTarget<'_>) -> Result<Value, Status> {
        let found = self.objects.get(&target.key(target.name)).cloned();
        found.ok_or_else(|| Status::not_found(target.resource, target.name))
    }

    fn create(
        &mut self,
        request: &RecordedRequest,
        target: &RequestTarget<'_>,
    ) -> Result<AdmittedObject, Status> {
        let (object, field_warnings) = decoded(request, target)?;
        // Uses the generated values of the recording.
        let generated = text(&request.answer, "/metadata/name");
        let suffix = generated.trim_start_matches(text(&request.answer, "/metadata/generateName"));
        let uid = match text(&request.answer, "/metadata/uid") {
            "" => "11111111-1111-1111-1111-111111111111",
            uid => uid,
        };
        let now = "2026-11-15T07:35:33Z".parse().unwrap();
        let birth = CreateContext { namespace: target.namespace, uid, suffix, now };
        let mut admitted = write_rules::create(target.kind, object, &birth, &rules())?;
        admitted.warnings.splice(0..0, field_warnings);
        let name = text(&admitted.object, "/metadata/name").to_owned();
        if self.objects.contains_key(&target.key(&name)) {
            return Err(Status::already_exists(target.resource, &name));
        }
        if !target.is_dry_run {
            self.store_object(target, &name, request, &admitted.object);
        }
        Ok(admitted)
    }

    /// Stores an object with the resource version of the recording.
    fn store_object(
        &mut self,
        target: &RequestTarget<'_>,
        name: &str,
        request: &RecordedRequest,
        object: &Value,
    ) {
        let mut object = object.clone();
        let version = text(&request.answer, "/metadata/resourceVersion");
        object["metadata"]["resourceVersion"] = version.into();
        self.objects.insert(target.key(name), object);
    }

    fn put(
        &mut self,
        request: &RecordedRequest,
        target: &RequestTarget<'_>,
    ) -> Result<AdmittedObject, Status> {
        let (object, _) = decoded(request, target)?;
        write_rules::check_name(&object, target.name)?;
        self.write(request, target, object)
    }

    fn patch(
        &mut self,
        request: &RecordedRequest,
        target: &RequestTarget<'_>,
    ) -> Result<AdmittedObject, Status> {
        let mut object = self.get(target)?;
        let merges_lists = request.content_type.contains("strategic");
        let patch = serde_json::from_str(request.body.as_deref().unwrap()).unwrap();
        merge(&mut object, &patch, merges_lists);
        self.write(request, target, object)
    }

    fn write(
        &mut self,
        request: &RecordedRequest,
        target: &RequestTarget<'_>,
        object: Value,
    ) -> Result<AdmittedObject, Status> {
        let old = self.get(target)?;
        let uid = text(&object, "/metadata/uid");
        let old_uid = text(&old, "/metadata/uid");
        if !uid.is_empty() && uid != old_uid {
            let RequestTarget { resource, namespace, name, .. } = *target;
            return Err(Status::uid_mismatch(resource, namespace, name, uid, old_uid));
        }
        let version = text(&object, "/metadata/resourceVersion");
        if !version.is_empty() {
            write_rules::parse_resource_version(version)?;
            if version != text(&old, "/metadata/resourceVersion") {
                return Err(Status::object_modified(target.resource, target.name));
            }
        }
        let now = "2026-11-15T07:40:00Z".parse().unwrap();
        let admitted = if target.is_status {
            write_rules::update_status(target.kind, object, &old)?
        } else {
            write_rules::update(target.kind, object, &old, &rules(), now)?
        };
        self.store_object(target, target.name, request, &admitted.object);
        Ok(admitted)
    }
}

fn without_warnings(object: Value) -> AdmittedObject {
    AdmittedObject { object, warnings: Vec::new() }
}

fn decoded(
    request: &RecordedRequest,
    target: &RequestTarget<'_>,
) -> Result<(Value, Vec<String>), Status> {
    let body = request.body.as_deref().unwrap_or_default();
    let expected = target.expected();
    decode::decode_json(body.as_bytes(), &expected, Dialect::Kubernetes, UnknownFields::Drop)?
        .accept(target.validation, &expected)
}

/// Applies a merge patch. A strategic one matches objects in lists by name.
fn merge(target: &mut Value, patch: &Value, merges_lists: bool) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (name, patch) in patch {
                merge(target.entry(name.as_str()).or_insert(Value::Null), patch, merges_lists);
            }
        }
        (Value::Array(items), Value::Array(patches)) if merges_lists => {
            for patch in patches {
                match items.iter_mut().find(|item| item["name"] == patch["name"]) {
                    Some(item) => merge(item, patch, merges_lists),
                    None => items.push(patch.clone()),
                }
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

fn differences(request: &RecordedRequest, answer: Response) -> Vec<String> {
    let mut found = Vec::new();
    let (code, mut got, warnings) = match answer {
        Ok((code, admitted)) => (code, admitted.object, admitted.warnings),
        Err(status) => (status.code, serde_json::to_value(status).unwrap(), Vec::new()),
    };
    if code != request.code {
        found.push(format!("code {code}, want {}", request.code));
    }
    let warning = warnings.first().map(|text| format!("299 - {text:?}"));
    if warning != request.warning {
        found.push(format!("warning {warning:?}, want {:?}", request.warning));
    }
    let mut want = request.answer.clone();
    for value in [&mut got, &mut want] {
        if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
            metadata.remove("resourceVersion");
            metadata.remove("creationTimestamp");
        }
        mask_uids(value);
    }
    compare(&got, &want, "", &mut found);
    found
}

/// Replaces the UIDs in messages, because those of the recording are unknown here.
fn mask_uids(value: &mut Value) {
    match value {
        Value::String(text) => {
            let is_uid = |word: &str| {
                word.len() == 36 && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
            };
            let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            let masked = words.map(|word| {
                let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
                if is_uid(end) { word.replace(end, "UID") } else { word.to_owned() }
            });
            *text = masked.collect();
        }
        Value::Array(items) => items.iter_mut().for_each(mask_uids),
        Value::Object(fields) => fields.values_mut().for_each(mask_uids),
        _ => {}
    }
}

fn compare(got: &Value, want: &Value, path: &str, found: &mut Vec<String>) {
    if let (Value::Object(got), Value::Object(want)) = (got, want) {
        let names: std::collections::BTreeSet<_> = got.keys().chain(want.keys()).collect();
        for name in names {
            let got = got.get(name);
            let want = want.get(name);
            let absent = Value::Null;
            compare(
                got.unwrap_or(&absent),
                want.unwrap_or(&absent),
                &format!("{path}.{name}"),
                found,
            );
        }
    } else if got != want {
        found.push(format!("{path}: {got}\n      want {want}"));
    }
}
