//! Keeps the annotation `punctual.dev/schedule-since` ([`EffectiveSchedule`]) up to date on writes: since
//! when the current schedule is in effect.
//!
//! Only for CronJobs with our extensions. Clients send back an old value or omit the annotation, so
//! the server ignores the sent value. The recorded time survives a `kubectl apply` without it.

use jiff::Timestamp;
use serde_json::Value;

use super::{ResourceKind, metadata};
use crate::cronjob::EffectiveSchedule;
use crate::defaults;
use crate::dialect::Dialect;
use crate::validate::ValidationOptions;

/// Records the creation time as the start of the schedule of a new CronJob.
pub(super) fn record_creation(
    kind: ResourceKind,
    object: &mut Value,
    rules: &ValidationOptions,
    now: Timestamp,
) {
    if is_recorded(kind, rules) {
        record(object, now);
    }
}

/// Keeps the recorded time while the schedule is unchanged; records `now` if it changed. Fields set
/// by the server have no field manager, so this must run after ownership tracking.
pub fn update_schedule_annotation(
    kind: ResourceKind,
    object: &mut Value,
    old: &Value,
    rules: &ValidationOptions,
    now: Timestamp,
) {
    if !is_recorded(kind, rules) {
        return;
    }
    if schedule(object) != schedule(old) {
        return record(object, now);
    }
    // An annotation for another schedule is outdated; the controller replaces it.
    let current = annotation(old).filter(|text| {
        let since = EffectiveSchedule::parse(text);
        since.is_some_and(|since| since.schedule == schedule(old))
    });
    if let Some(text) = current {
        annotate(object, text.to_owned());
    }
}

fn is_recorded(kind: ResourceKind, rules: &ValidationOptions) -> bool {
    match kind {
        ResourceKind::CronJob(kind) => rules.dialect.for_kind(kind) == Dialect::Punctual,
        _ => false,
    }
}

fn record(object: &mut Value, now: Timestamp) {
    let since = EffectiveSchedule { since: now, schedule: schedule(object) };
    annotate(object, since.to_annotation());
}

fn annotate(object: &mut Value, text: String) {
    let annotations = defaults::ensure_object_field(metadata(object), "annotations");
    annotations.insert(EffectiveSchedule::ANNOTATION.to_owned(), text.into());
}

fn schedule(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    EffectiveSchedule::schedule_text(
        text("/spec/schedule").unwrap_or_default(),
        text("/spec/timeZone"),
    )
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations.get(EffectiveSchedule::ANNOTATION)?.as_str()
}
