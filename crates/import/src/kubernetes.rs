//! Objects dumped with `kubectl get -o yaml`: removes what the server wrote, and converts between
//! CronJob and ScheduledJob.

use punctual_api::{ConcurrencyPolicy, CronJobKind, well_known::annotations};
use serde_json::{Map, Value};

use crate::{
    ImportItem,
    calendar_fields::ConvertedSchedule,
    importer::{ImportedObject, Importer, SourceLine},
};

/// Fields of the metadata that the server writes.
const SERVER_METADATA: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Annotations that clients and controllers write.
const WRITTEN_ANNOTATIONS: [&str; 7] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "deprecated.daemonset.template.generation",
    annotations::MISSED,
    annotations::SKIPPED,
    annotations::SCHEDULE_SINCE,
    annotations::PROBE,
];

/// Kinds that a controller or the cluster creates.
const GENERATED_KINDS: [&str; 4] = ["Event", "Node", "Lease", "Pod"];

impl Importer {
    /// Imports a dumped object. `file` and `line` say where it begins.
    pub fn import_object(&mut self, file: &str, line: usize, object: Value) {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let kind = text("/kind").to_owned();
        let api_version = text("/apiVersion").to_owned();
        let name = text("/metadata/name").to_owned();
        let text = format!("{kind} {name}");
        let source = SourceLine { file: file.into(), line, text };
        if kind.is_empty() || api_version.is_empty() {
            return self.reject(source, "the document has no apiVersion or kind".into());
        }
        if GENERATED_KINDS.contains(&kind.as_str()) {
            return self.reject(source, format!("a {kind} is created by a controller"));
        }
        let Value::Object(mut object) = object else { return };
        if let Some(owner) = controller_of(&object) {
            return self.reject(source, format!("it is created by its owner, {owner}"));
        }
        let mut warnings = Vec::new();
        clean(&mut object, &mut warnings);
        self.set_namespace(&mut object);
        let mut schedule = None;
        if let Some(from) = CronJobKind::from_gvk(&api_version, &kind) {
            self.convert_cron_job(from, &mut object, &mut warnings);
            schedule = schedule_text(&object).map(ConvertedSchedule::new);
        }
        let objects = vec![ImportedObject { manifest: object.into(), schedule }];
        self.push(ImportItem { source, objects, warnings });
    }

    fn set_namespace(&self, object: &mut Map<String, Value>) {
        if let Some(namespace) = &self.options.namespace
            && let Some(Value::Object(metadata)) = object.get_mut("metadata")
            && metadata.contains_key("namespace")
        {
            metadata.insert("namespace".into(), namespace.as_str().into());
        }
    }

    fn convert_cron_job(
        &self,
        from: CronJobKind,
        object: &mut Map<String, Value>,
        warnings: &mut Vec<String>,
    ) {
        let to = self.options.kind;
        object.insert("apiVersion".into(), to.api_version().into());
        object.insert("kind".into(), to.kind().into());
        self.convert_zone(object, warnings);
        match to {
            CronJobKind::ScheduledJob => to_scheduled_job(object),
            CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => to_cron_job(object, warnings),
        }
        if (from == CronJobKind::ScheduledJob) != (to == CronJobKind::ScheduledJob) {
            warnings.push(format!(
                "the new object is another one than the {} of the same name: suspend or delete that \
                 one, or both run",
                from.kind()
            ));
        }
    }

    /// Moves a zone from the schedule into its field, and warns about a missing zone.
    fn convert_zone(&self, object: &mut Map<String, Value>, warnings: &mut Vec<String>) {
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
        let schedule = spec.get("schedule").and_then(Value::as_str).unwrap_or_default().to_owned();
        let prefixed = schedule.strip_prefix("CRON_TZ=").or_else(|| schedule.strip_prefix("TZ="));
        if let Some((zone, rest)) = prefixed.and_then(|prefixed| prefixed.split_once(' ')) {
            spec.insert("timeZone".into(), zone.into());
            spec.insert("schedule".into(), rest.trim().into());
            warnings.push(format!("the zone {zone} is moved from the schedule into timeZone"));
        }
        let has_zone =
            spec.get("timeZone").and_then(Value::as_str).is_some_and(|zone| !zone.is_empty());
        if has_zone {
            return;
        }
        spec.remove("timeZone");
        if self.options.is_zone_explicit {
            spec.insert("timeZone".into(), self.options.zone.name().into());
        } else {
            warnings.push(
                "it has no timeZone, so it runs in the zone of the controller: on a cluster usually \
                 UTC, in `punctual up` the zone of the machine; set one with --time-zone"
                    .into(),
            );
        }
    }
}

fn schedule_text(object: &Map<String, Value>) -> Option<String> {
    object.get("spec")?.get("schedule")?.as_str().map(String::from)
}

/// Returns the owner that manages an object.
fn controller_of(object: &Map<String, Value>) -> Option<String> {
    let owners = object.get("metadata")?.get("ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(format!("{} {}", text("kind"), text("name")))
}

/// Removes what the server, clients and controllers wrote.
fn clean(object: &mut Map<String, Value>, warnings: &mut Vec<String>) {
    object.remove("status");
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for key in ["ownerReferences", "finalizers"] {
            if metadata.remove(key).is_some() {
                warnings.push(format!("metadata.{key} refers to other objects and is removed"));
            }
        }
    }
    clean_metadata(object);
    // Only these have templates with metadata of their own.
    let templates = ["/spec/jobTemplate", "/spec/jobTemplate/spec/template", "/spec/template"];
    let mut value = Value::Object(std::mem::take(object));
    for path in templates {
        if let Some(Value::Object(template)) = value.pointer_mut(path) {
            clean_metadata(template);
        }
    }
    if let Value::Object(cleaned) = value {
        *object = cleaned;
    }
}

fn clean_metadata(object: &mut Map<String, Value>) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    metadata.retain(|key, _| !SERVER_METADATA.contains(&key.as_str()));
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|key, _| !WRITTEN_ANNOTATIONS.contains(&key.as_str()));
    }
    remove_if_empty(metadata, "annotations");
    remove_if_empty(metadata, "labels");
    remove_if_empty(object, "metadata");
}

fn remove_if_empty(object: &mut Map<String, Value>, key: &str) {
    if object.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
        object.remove(key);
    }
}

/// Moves the annotations that stand for fields of a ScheduledJob into these fields.
fn to_scheduled_job(object: &mut Map<String, Value>) {
    if let Some(policy) = take_annotation(object, annotations::CONCURRENCY_POLICY) {
        set_spec(object, "concurrencyPolicy", policy.into());
    }
    let jitter = take_annotation(object, annotations::JITTER);
    if let Some(jitter) = jitter.and_then(|jitter| jitter.trim().parse::<i64>().ok()) {
        set_spec(object, "jitter", jitter.into());
    }
}

/// Moves the fields that only a ScheduledJob has into annotations.
fn to_cron_job(object: &mut Map<String, Value>, warnings: &mut Vec<String>) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let jitter = spec.remove("jitter").and_then(|jitter| jitter.as_i64());
    let catch_up = ConcurrencyPolicy::CatchUp.as_str();
    let is_catch_up = spec.get("concurrencyPolicy").and_then(Value::as_str) == Some(catch_up);
    if spec.get("schedule").and_then(Value::as_str).is_some_and(|text| text.starts_with("@at ")) {
        warnings.push(
            "a CronJob of a Kubernetes cluster cannot have the schedule @at; `punctual up` accepts it"
                .into(),
        );
    }
    if let Some(jitter) = jitter {
        set_annotation(object, annotations::JITTER, &jitter.to_string());
        warnings
            .push("jitter becomes an annotation, which only Punctual's controller reads".into());
    }
    if is_catch_up {
        set_spec(object, "concurrencyPolicy", ConcurrencyPolicy::Forbid.as_str().into());
        set_annotation(object, annotations::CONCURRENCY_POLICY, catch_up);
        warnings.push(
            "CatchUp becomes an annotation, which only Punctual's controller reads; other \
             controllers apply Forbid"
                .into(),
        );
    }
}

fn set_spec(object: &mut Map<String, Value>, key: &str, value: Value) {
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        spec.insert(key.into(), value);
    }
}

fn take_annotation(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return None };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else { return None };
    let taken = annotations.remove(key);
    remove_if_empty(metadata, "annotations");
    taken.and_then(|value| value.as_str().map(String::from))
}

fn set_annotation(object: &mut Map<String, Value>, key: &str, value: &str) {
    let metadata = object.entry("metadata").or_insert_with(|| Map::new().into());
    let Value::Object(metadata) = metadata else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Map::new().into());
    if let Value::Object(annotations) = annotations {
        annotations.insert(key.into(), value.into());
    }
}
