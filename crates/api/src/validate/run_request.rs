//! Validation of RunRequests. They are not a kind of Kubernetes; the messages follow its style.

use std::collections::HashSet;

use serde_json::Value;

use super::{Errors, env, in_range, meta, non_negative, one_of, reasons};
use crate::field::{BadValue, FieldError, FieldPath};
use crate::names;
use crate::run_request::{
    ContainerOverride, PARALLELISM_MAX, RunOrder, RunOverrides, RunRequest, RunRequestSpec,
    RunRequestStatus, RunSelection, SLOTS_MAX,
};
use crate::time::Time;

const SPEC: FieldPath<'static> = FieldPath::root("spec");
const STATUS: FieldPath<'static> = FieldPath::root("status");
const IMMUTABLE: &str = "field is immutable";
const TARGET_KINDS: [&str; 2] = ["CronJob", "ScheduledJob"];
const POLICIES: [&str; 2] = ["Allow", "Replace"];
const NO_RUNS: &str = "must specify one of: `now`, `slots`, or `from` and `to`";
/// A Pod has at most as many containers and init containers in our CustomResourceDefinition.
const CONTAINERS_MAX: usize = 64;
const ARGS_MAX: usize = 1_000;
/// Linux starts no program with a longer argument.
const ARG_LEN_MAX: usize = 131_071;
const VARIABLES_MAX: usize = 1_000;

/// Reports slots without a time, which the typed form cannot have. Reports one only, because there can be
/// thousands.
pub(super) fn absent_slots(object: &Value) -> Errors {
    let items =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let is_absent = |value: Option<&Value>| value.is_none_or(Value::is_null);
    let in_spec = items("/spec/slots").position(|slot| is_absent(Some(slot)));
    let in_status = items("/status/slots").position(|range| is_absent(range.get("slot")));
    let mut errors = Errors::new();
    if let Some(i) = in_spec {
        errors.push(FieldError::required(&SPEC.child("slots").index(i), ""));
    }
    if let Some(i) = in_status {
        errors.push(FieldError::required(&STATUS.child("slots").index(i).child("slot"), ""));
    }
    errors
}

pub(super) fn create(request: &RunRequest) -> Errors {
    let mut errors = Errors::new();
    meta::create(&request.metadata, true, &mut errors);
    spec(&request.spec, &mut errors);
    errors
}

pub(super) fn update(new: &RunRequest, old: &RunRequest) -> Errors {
    let mut errors = Errors::new();
    meta::update(&new.metadata, &old.metadata, &mut errors);
    spec(&new.spec, &mut errors);
    immutable_fields(&new.spec, &old.spec, &mut errors);
    errors
}

pub(super) fn status_update(new: &RunRequest, old: &RunRequest) -> Errors {
    let mut errors = Errors::new();
    meta::update(&new.metadata, &old.metadata, &mut errors);
    counters(&new.status, &mut errors);
    fixed_status(&new.status, &old.status, &mut errors);
    errors
}

fn spec(spec: &RunRequestSpec, errors: &mut Errors) {
    let target = SPEC.child("target");
    optional_word(&spec.target.kind, &TARGET_KINDS, &target.child("kind"), errors);
    meta::required_subdomain(&spec.target.name, &target.child("name"), errors);
    which_runs(spec, errors);
    optional_word(
        &spec.runs,
        &RunSelection::ALL.map(|it| it.as_str()),
        &SPEC.child("runs"),
        errors,
    );
    let policy = SPEC.child("concurrencyPolicy");
    optional_word(&spec.concurrency_policy, &POLICIES, &policy, errors);
    if let Some(parallelism) = spec.parallelism {
        let path = SPEC.child("parallelism");
        in_range(parallelism.into(), 1, PARALLELISM_MAX.into(), &path, errors);
    }
    optional_word(&spec.order, &RunOrder::ALL.map(|it| it.as_str()), &SPEC.child("order"), errors);
    let ttl = SPEC.child("ttlSecondsAfterFinished");
    non_negative(spec.ttl_seconds_after_finished, &ttl, errors);
    if let Some(changes) = &spec.overrides {
        overrides(changes, &SPEC.child("overrides").child("containers"), errors);
    }
}

/// Rejects a text that is neither empty nor one of the supported values.
fn optional_word(word: &str, words: &[&str], path: &FieldPath<'_>, errors: &mut Errors) {
    if !word.is_empty() {
        one_of(word, words, path, errors);
    }
}

/// Requires exactly one of `now`, `slots` and `from` with `to`.
fn which_runs(spec: &RunRequestSpec, errors: &mut Errors) {
    let has_interval = spec.from.is_some() || spec.to.is_some();
    let interval_field = if spec.from.is_some() { "from" } else { "to" };
    let given =
        [("now", spec.now), ("slots", !spec.slots.is_empty()), (interval_field, has_interval)];
    let mut given = given.into_iter().filter_map(|(name, is_given)| is_given.then_some(name));
    match given.next() {
        None => errors.push(FieldError::required(&SPEC, NO_RUNS)),
        Some(first) => errors.extend(given.map(|name| {
            let detail = format!("may not be set together with `{first}`");
            FieldError::forbidden(&SPEC.child(name), detail)
        })),
    }
    slots(&spec.slots, errors);
    interval(spec.from, spec.to, errors);
}

/// Rejects too many slots and duplicates. Reports one duplicate only, because there can be thousands.
fn slots(slots: &[Time], errors: &mut Errors) {
    let path = SPEC.child("slots");
    if slots.len() > SLOTS_MAX {
        errors.push(FieldError::too_many(&path, slots.len(), SLOTS_MAX));
        return;
    }
    let mut seen = HashSet::new();
    if let Some((i, slot)) = slots.iter().enumerate().find(|(_, slot)| !seen.insert(**slot)) {
        errors.push(FieldError::duplicate(&path.index(i), &slot.to_string()));
    }
}

fn interval(from: Option<Time>, to: Option<Time>, errors: &mut Errors) {
    match (from, to) {
        (None, None) => {}
        (Some(_), None) => {
            errors
                .push(FieldError::required(&SPEC.child("to"), "must be set together with `from`"));
        }
        (None, Some(_)) => {
            errors
                .push(FieldError::required(&SPEC.child("from"), "must be set together with `to`"));
        }
        (Some(from), Some(to)) if from >= to => {
            let detail = "must be later than `from`";
            errors.push(FieldError::invalid(&SPEC.child("to"), &to.to_string(), detail));
        }
        (Some(_), Some(_)) => {}
    }
}

fn overrides(changes: &RunOverrides, path: &FieldPath<'_>, errors: &mut Errors) {
    if changes.containers.len() > CONTAINERS_MAX {
        errors.push(FieldError::too_many(path, changes.containers.len(), CONTAINERS_MAX));
        return;
    }
    let mut seen = HashSet::new();
    for (i, container) in changes.containers.iter().enumerate() {
        let path = path.index(i);
        let name = path.child("name");
        if container.name.is_empty() {
            errors.push(FieldError::required(&name, ""));
        } else if !seen.insert(&container.name) {
            errors.push(FieldError::duplicate(&name, &container.name));
        } else {
            reasons(names::check_dns_label(&container.name), &container.name, &name, errors);
        }
        arguments(container.args.as_deref().unwrap_or_default(), &path.child("args"), errors);
        variables(container, &path.child("env"), errors);
    }
}

fn arguments(args: &[String], path: &FieldPath<'_>, errors: &mut Errors) {
    if args.len() > ARGS_MAX {
        errors.push(FieldError::too_many(path, args.len(), ARGS_MAX));
    }
    let too_long = args.iter().enumerate().find(|(_, arg)| arg.len() > ARG_LEN_MAX);
    if let Some((i, _)) = too_long {
        errors.push(FieldError::too_long(&path.index(i), ARG_LEN_MAX));
    }
}

/// Validates variables as those of a container. A name may occur once, because overrides replace by name.
fn variables(container: &ContainerOverride, path: &FieldPath<'_>, errors: &mut Errors) {
    if container.env.len() > VARIABLES_MAX {
        errors.push(FieldError::too_many(path, container.env.len(), VARIABLES_MAX));
        return;
    }
    env::variables(&container.env, path, errors);
    let mut seen = HashSet::new();
    for (i, variable) in container.env.iter().enumerate() {
        if !seen.insert(&variable.name) && !variable.name.is_empty() {
            errors.push(FieldError::duplicate(&path.index(i).child("name"), &variable.name));
        }
    }
}

/// Rejects changes of what the controller resolves once, when it accepts the request.
fn immutable_fields(new: &RunRequestSpec, old: &RunRequestSpec, errors: &mut Errors) {
    for (name, is_changed) in [
        ("target", new.target != old.target),
        ("now", new.now != old.now),
        ("slots", new.slots != old.slots),
        ("from", new.from != old.from),
        ("to", new.to != old.to),
        ("runs", new.runs != old.runs),
        ("concurrencyPolicy", new.concurrency_policy != old.concurrency_policy),
        ("order", new.order != old.order),
        ("overrides", new.overrides != old.overrides),
    ] {
        if is_changed {
            errors.push(FieldError::invalid(&SPEC.child(name), BadValue::OMITTED, IMMUTABLE));
        }
    }
}

fn counters(status: &RunRequestStatus, errors: &mut Errors) {
    let slots_max = i64::try_from(SLOTS_MAX).unwrap_or(i64::MAX);
    for (name, count) in [
        ("total", status.total),
        ("started", status.started),
        ("succeeded", status.succeeded),
        ("failed", status.failed),
        ("skipped", status.skipped),
    ] {
        in_range(count, 0, slots_max, &STATUS.child(name), errors);
    }
    let has_more = |part: i64, other: i64, whole: i64| part.saturating_add(other) > whole;
    if has_more(status.started, status.skipped, status.total) {
        let detail = "`started` and `skipped` may not exceed `total`";
        errors.push(FieldError::invalid(&STATUS.child("started"), status.started, detail));
    }
    if has_more(status.succeeded, status.failed, status.started) {
        let detail = "`succeeded` and `failed` may not exceed `started`";
        errors.push(FieldError::invalid(&STATUS.child("succeeded"), status.succeeded, detail));
    }
    if status.slots.len() > SLOTS_MAX {
        errors.push(FieldError::too_many(&STATUS.child("slots"), status.slots.len(), SLOTS_MAX));
    }
    let active_max = usize::try_from(PARALLELISM_MAX).unwrap_or(usize::MAX);
    if status.active.len() > active_max {
        errors.push(FieldError::too_many(&STATUS.child("active"), status.active.len(), active_max));
    }
}

/// Rejects changes of what is decided once: the target and the number of runs of an accepted request, and its
/// completion.
fn fixed_status(new: &RunRequestStatus, old: &RunRequestStatus, errors: &mut Errors) {
    let is_accepted = old.accepted_time.is_some();
    for (name, is_changed) in [
        ("targetUID", is_accepted && new.target_uid != old.target_uid),
        ("acceptedTime", is_accepted && new.accepted_time != old.accepted_time),
        ("total", is_accepted && new.total != old.total),
        (
            "completionTime",
            old.completion_time.is_some() && new.completion_time != old.completion_time,
        ),
    ] {
        if is_changed {
            errors.push(FieldError::invalid(&STATUS.child(name), BadValue::OMITTED, IMMUTABLE));
        }
    }
}
