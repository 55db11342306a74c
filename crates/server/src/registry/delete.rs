//! The end of objects: at once, after a grace period, or when nothing holds them any more.

use jiff::{SignedDuration, Timestamp};
use punctual_api::pod::status::phase;
use punctual_api::status::StatusDetails;
use punctual_api::well_known::finalizers;
use punctual_api::{Status, Time};
use punctual_store::{Condition, Entry, Error, Op};
use serde_json::{Map, Value};

use super::{ObjectRef, Place, Registry, TRIES_MAX, store_failed, text};
use crate::request::{DeleteOptions, Propagation};
use crate::resource::{CRON_JOBS, EVENT_LOG, JOBS, NAMESPACES, PODS, SERVICE_ACCOUNTS, View};
use crate::selector::Selector;
use crate::stored::{Stored, encode};

/// Namespaces that every cluster keeps.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// What a delete left behind.
#[derive(Clone, Debug)]
pub(crate) enum Deleted {
    /// The object is gone; some kinds are shown once more.
    Gone(Box<Status>),
    /// The object as it was last, or as it is while something still holds it.
    Shown(Stored),
}

impl Registry {
    /// Deletes an object, or marks it if something holds it.
    pub(crate) async fn delete(
        &self,
        object: &ObjectRef,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let view = object.place.view;
        if view.resource == &NAMESPACES && IMMORTAL.contains(&object.name.as_str()) {
            let why = "this namespace may not be deleted";
            return Err(Status::forbidden(view.name(), &object.name, why));
        }
        for _ in 0..TRIES_MAX {
            let entry = self.store.get(&object.key()).ok_or_else(|| object.not_found())?;
            if let Some(deleted) = self.try_delete(object, options, &entry).await? {
                return Ok(deleted);
            }
        }
        Err(Status::object_modified(object.place.view.name(), &object.name))
    }

    /// Deletes every object of a place that is selected, and gives them as they were.
    pub(crate) async fn delete_collection(
        &self,
        place: &Place,
        selector: &Selector,
        options: &DeleteOptions,
    ) -> Result<(Vec<Stored>, u64), Status> {
        let snapshot = self.store.snapshot();
        let mut deleted = Vec::new();
        for (key, entry) in snapshot.prefix(&place.prefix()) {
            let stored = Stored::of(place.view, entry);
            let tree = stored.tree()?;
            if !selector.matches(&tree) {
                continue;
            }
            let place =
                Place { view: place.view, namespace: text(&tree, "/metadata/namespace").into() };
            let name = key.rsplit('/').next().unwrap_or_default().to_owned();
            match self.delete(&ObjectRef { place, name, below: None }, options).await {
                Ok(_) => deleted.push(stored),
                // Somebody else was faster, which is as well.
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        Ok((deleted, self.store.revision()))
    }

    /// None if somebody else changed the object meanwhile.
    async fn try_delete(
        &self,
        object: &ObjectRef,
        options: &DeleteOptions,
        entry: &Entry,
    ) -> Result<Option<Deleted>, Status> {
        let current = Stored::of(object.place.view, entry);
        let old = current.tree()?;
        check_preconditions(object, options, &old, entry)?;
        let view = object.place.view;
        let mark = Mark::of(&view, &old, options, self.env.now());
        let condition = Condition::At(entry.modified);
        let (op, deleted) = match mark {
            None => (Op::delete(object.key(), condition), gone(object, &old, current)),
            Some(mark) => {
                let value = encode(&mark.on(&view, &old), view.resource);
                if value == entry.value {
                    return Ok(Some(Deleted::Shown(current)));
                }
                let shown = Stored { value: value.clone(), ..current };
                (Op::put(object.key(), value, condition), Deleted::Shown(shown))
            }
        };
        if options.is_dry_run {
            return Ok(Some(deleted));
        }
        match self.store.write(op).await {
            Ok(committed) => Ok(Some(deleted.at(committed.revision))),
            Err(Error::Conflict(_)) => Ok(None),
            Err(other) => Err(store_failed(&other)),
        }
    }
}

impl Deleted {
    fn at(self, revision: u64) -> Deleted {
        match self {
            Deleted::Shown(stored) => Deleted::Shown(Stored { revision, ..stored }),
            gone => gone,
        }
    }
}

fn gone(object: &ObjectRef, old: &Value, last: Stored) -> Deleted {
    let view = object.place.view;
    if [&PODS, &SERVICE_ACCOUNTS, &NAMESPACES].contains(&view.resource) {
        return Deleted::Shown(last);
    }
    Deleted::Gone(Box::new(Status::success(StatusDetails {
        name: object.name.clone(),
        group: view.served.group.to_owned(),
        kind: view.resource.plural.to_owned(),
        uid: text(old, "/metadata/uid").to_owned(),
        ..StatusDetails::default()
    })))
}

fn check_preconditions(
    object: &ObjectRef,
    options: &DeleteOptions,
    old: &Value,
    entry: &Entry,
) -> Result<(), Status> {
    let view = object.place.view;
    let (kind, found) = (view.group_kind(), text(old, "/metadata/uid"));
    let kind = punctual_api::status::GroupResource { group: kind.group, name: kind.kind };
    let conflict = |what: &str, wanted: &str, found: &str| {
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record \
             ({found}). The object might have been {}",
            if what == "UID" { "deleted and then recreated" } else { "modified" }
        );
        Status::conflict(kind, &object.name, &why)
    };
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != found) {
        return Err(conflict("UID", wanted, found));
    }
    let found = entry.modified.to_string();
    match options.version.as_deref().filter(|wanted| *wanted != found) {
        Some(wanted) => Err(conflict("ResourceVersion", wanted, &found)),
        None => Ok(()),
    }
}

/// What is written on an object that is to go but not at once.
struct Mark {
    finalizers: Vec<String>,
    grace_seconds: i64,
    deleted_at: Timestamp,
}

impl Mark {
    /// None if the object goes at once.
    fn of(view: &View, old: &Value, options: &DeleteOptions, now: Timestamp) -> Option<Mark> {
        let finalizers = held_by(view, old, options);
        let already = old.pointer("/metadata/deletionTimestamp").is_some();
        let before = old.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
        let asked = grace_seconds(view, old, options);
        // Who is already going may go faster, not slower.
        let grace_seconds = match (already, options.grace_seconds) {
            (true, None) => before.unwrap_or(0),
            (true, Some(_)) => asked.min(before.unwrap_or(0)),
            (false, _) => asked,
        };
        let is_held = view.resource == &NAMESPACES
            && old
                .pointer("/spec/finalizers")
                .and_then(Value::as_array)
                .is_some_and(|f| !f.is_empty());
        let stays = !finalizers.is_empty() || grace_seconds > 0 || is_held;
        let deleted_at =
            now.saturating_add(SignedDuration::from_secs(grace_seconds)).unwrap_or(now);
        stays.then_some(Mark { finalizers, grace_seconds, deleted_at })
    }

    /// The object with the mark.
    fn on(&self, view: &View, old: &Value) -> Value {
        let mut object = old.clone();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            self.write(view, metadata);
        }
        if view.resource == &NAMESPACES
            && let Some(Value::Object(status)) = object.get_mut("status")
        {
            status.insert("phase".to_owned(), "Terminating".into());
        }
        object
    }

    fn write(&self, view: &View, metadata: &mut Map<String, Value>) {
        let is_new = !metadata.contains_key("deletionTimestamp");
        let before = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        if is_new || before != Some(self.grace_seconds) && view.resource != &NAMESPACES {
            let at = Time::new(self.deleted_at).to_string();
            metadata.insert("deletionTimestamp".to_owned(), at.into());
            if view.resource != &NAMESPACES {
                let grace = self.grace_seconds.into();
                metadata.insert("deletionGracePeriodSeconds".to_owned(), grace);
            }
        }
        if let Some(generation) =
            metadata.get("generation").and_then(Value::as_i64).filter(|_| is_new)
        {
            metadata.insert("generation".to_owned(), (generation + 1).into());
        }
        match self.finalizers.is_empty() {
            true => metadata.remove("finalizers"),
            false => metadata.insert("finalizers".to_owned(), self.finalizers.clone().into()),
        };
    }
}

/// The finalizers that a delete leaves on an object.
fn held_by(view: &View, old: &Value, options: &DeleteOptions) -> Vec<String> {
    let old = old.pointer("/metadata/finalizers").and_then(Value::as_array);
    let old: Vec<&str> = old.into_iter().flatten().filter_map(Value::as_str).collect();
    let is_ours =
        |name: &&str| [finalizers::ORPHAN, finalizers::FOREGROUND_DELETION].contains(name);
    let chosen = match options.propagation {
        _ if view.resource == &EVENT_LOG => None,
        Some(Propagation::Background) => None,
        Some(Propagation::Orphan) => Some(finalizers::ORPHAN),
        Some(Propagation::Foreground) => Some(finalizers::FOREGROUND_DELETION),
        None => old.iter().copied().find(is_ours).or_else(|| usual(view)),
    };
    let others = old.iter().copied().filter(|name| !is_ours(name));
    others.chain(chosen).map(str::to_owned).collect()
}

/// What old clients expect where they say nothing: Jobs leave their Pods behind.
fn usual(view: &View) -> Option<&'static str> {
    let is_old =
        view.resource == &JOBS || (view.resource == &CRON_JOBS && view.served.version == "v1beta1");
    is_old.then_some(finalizers::ORPHAN)
}

/// Only Pods that may be running are given time to end.
fn grace_seconds(view: &View, old: &Value, options: &DeleteOptions) -> i64 {
    let is_finished = [phase::SUCCEEDED, phase::FAILED].contains(&text(old, "/status/phase"));
    if view.resource != &PODS || text(old, "/spec/nodeName").is_empty() || is_finished {
        return 0;
    }
    let own = old.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    match options.grace_seconds.or(own).unwrap_or(30) {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}
