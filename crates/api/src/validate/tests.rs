//! Tests of validation. Each starts with a valid object, changes some fields and compares the
//! errors.

use serde_json::{Value, json};

use super::*;
use crate::defaults;

mod core_v1;
mod cronjob;
mod job;
mod pod;
mod run_request;

/// Sets the value at a JSON pointer and creates the objects and lists on its path.
pub(crate) fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut target = object;
    for step in pointer.trim_start_matches('/').split('/') {
        let step = step.replace("~1", "/");
        target = match step.parse::<usize>() {
            Ok(i) => {
                if !target.is_array() {
                    *target = json!([]);
                }
                let items = target.as_array_mut().unwrap();
                items.resize(items.len().max(i + 1), json!({}));
                &mut items[i]
            }
            Err(_) => &mut target[step],
        };
    }
    *target = value;
}

/// Returns an object with values set at pointers; `null` removes a value.
pub(crate) fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        set(&mut object, pointer, value.clone());
    }
    object
}

pub(crate) fn cron_job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}}}},
    })
}

pub(crate) fn job() -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}},
    });
    defaults::generate_selector(&mut job, "u");
    job
}

pub(crate) fn read_cron_job(mut object: Value) -> CronJob {
    defaults::cron_job(&mut object);
    serde_json::from_value(object).unwrap()
}

pub(crate) fn read_job(mut object: Value) -> Job {
    defaults::job(&mut object);
    serde_json::from_value(object).unwrap()
}

pub(crate) fn rules(dialect: Dialect) -> ValidationOptions {
    ValidationOptions { zones: Zones::bundled(), dialect }
}

#[track_caller]
pub(crate) fn check(errors: Vec<FieldError>, want: &[&str]) {
    let got: Vec<_> = errors.iter().map(FieldError::to_string).collect();
    assert_eq!(got, want);
}
