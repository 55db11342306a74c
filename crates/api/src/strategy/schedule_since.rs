//! When a schedule was edited is known to whoever takes the edit: the server writes it down.
//!
//! Only where our fields are spoken. What clients send is not believed, since they send back what
//! they once read, or nothing at all; so the moment survives a `kubectl apply` without it.

use jiff::Timestamp;
use serde_json::Value;

use super::{ResourceKind, metadata};
use crate::cronjob::ScheduleSince;
use crate::defaults;
use crate::dialect::Dialect;
use crate::validate::ValidationOptions;

/// A new CronJob has its schedule since it was created.
pub(super) fn begin(
    kind: ResourceKind,
    object: &mut Value,
    rules: &ValidationOptions,
    now: Timestamp,
) {
    if is_remembered(kind, rules) {
        remember(object, now);
    }
}

/// Carries over since when the schedule of a CronJob holds, or says that it is since now. Of what
/// the server says itself nobody is the manager, so this comes after the managers were settled.
pub fn update_schedule_since(
    kind: ResourceKind,
    object: &mut Value,
    old: &Value,
    rules: &ValidationOptions,
    now: Timestamp,
) {
    if !is_remembered(kind, rules) {
        return;
    }
    if schedule(object) != schedule(old) {
        return remember(object, now);
    }
    // One that is about another schedule was written where nobody kept it up to date; then it is
    // the controller's to say.
    let known = annotation(old).filter(|text| {
        let known = ScheduleSince::parse(text);
        known.is_some_and(|known| known.schedule == schedule(old))
    });
    if let Some(text) = known {
        annotate(object, text.to_owned());
    }
}

fn is_remembered(kind: ResourceKind, rules: &ValidationOptions) -> bool {
    match kind {
        ResourceKind::CronJob(flavor) => rules.dialect.for_kind(flavor) == Dialect::Punctual,
        _ => false,
    }
}

fn remember(object: &mut Value, now: Timestamp) {
    let since = ScheduleSince { since: now, schedule: schedule(object) };
    annotate(object, since.to_annotation());
}

fn annotate(object: &mut Value, text: String) {
    let annotations = defaults::section_of(metadata(object), "annotations");
    annotations.insert(ScheduleSince::ANNOTATION.to_owned(), text.into());
}

fn schedule(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    ScheduleSince::schedule_text(text("/spec/schedule").unwrap_or_default(), text("/spec/timeZone"))
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations.get(ScheduleSince::ANNOTATION)?.as_str()
}
