//! Reads a history into lives.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::from_slice;

use super::life::{End, Life, NEVER, Pod, Run, Stretch};
use super::objects::{CronJobText, EventText, JobText, PlainText};
use crate::history::{Happened, Record};
use crate::scenario::{Asked, Millis, Scenario};

/// What there was.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) lives: Vec<Life>,
    /// Jobs that no CronJob of the history controls.
    pub(super) strangers: Vec<Run>,
    pub(super) pods: Vec<Pod>,
    pub(super) events: Vec<EventText>,
    /// When which deed was answered, and how; by the place of the deed.
    pub(super) answers: HashMap<usize, (Millis, u16)>,
    /// Objects that could not be read.
    pub(super) unreadable: Vec<(Millis, Arc<str>)>,
}

/// Reads the history as it goes.
#[derive(Default)]
struct Reader {
    facts: Facts,
    /// Every Job, until they are given to their lives.
    runs: Vec<Run>,
    /// What is there, by its key: its place in the list of its kind.
    lives_there: HashMap<Arc<str>, usize>,
    runs_there: HashMap<Arc<str>, usize>,
    pods_there: HashMap<Arc<str>, usize>,
    /// Events by their key, as they were last.
    events: HashMap<Arc<str>, EventText>,
    wants_events: bool,
}

impl Facts {
    /// All Jobs that are not of this life.
    pub(super) fn foreign<'a>(&'a self, life: &'a Life) -> impl Iterator<Item = &'a Run> {
        let others = self.lives.iter().filter(|other| other.uid != life.uid);
        others.flat_map(|other| &other.runs).chain(&self.strangers)
    }

    pub(super) fn read(scenario: &Scenario, history: &[Record]) -> Facts {
        // Events are looked at only where nothing goes wrong.
        let mut reader = Reader { wants_events: scenario.troubles.is_empty(), ..Reader::default() };
        for record in history {
            match &record.what {
                Happened::Written { key, value, .. } => {
                    reader.take(record.at, key, value.as_deref())
                }
                Happened::Told { deed, code } => {
                    reader.facts.answers.insert(*deed, (record.at, *code));
                }
                _ => {}
            }
        }
        reader.finish(scenario)
    }
}

impl Reader {
    fn take(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) {
        let kind = key.split('/').nth(1).unwrap_or_default();
        let read = match kind {
            "cronjobs.batch" | "scheduledjobs.punctual.dev" => self.take_cron_job(at, key, value),
            "jobs.batch" => self.take_job(at, key, value),
            "pods" => self.take_pod(at, key, value),
            "events" if self.wants_events => self.take_event(key, value),
            _ => Some(()),
        };
        if read.is_none() {
            self.facts.unreadable.push((at, key.clone()));
        }
    }

    fn take_cron_job(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        let Some(value) = value else {
            let life = self.lives_there.remove(key).and_then(|n| self.facts.lives.get_mut(n));
            life.into_iter().for_each(|life| life.delete(at));
            return Some(());
        };
        let object: CronJobText = from_slice(value).ok()?;
        let known = self.lives_there.get(key).and_then(|n| self.facts.lives.get_mut(*n));
        if let Some(life) = known.filter(|life| life.uid == object.metadata.uid) {
            life.change(at, object);
            return Some(());
        }
        self.lives_there.insert(key.clone(), self.facts.lives.len());
        self.facts.lives.push(Life::begin(at, key, object));
        Some(())
    }

    fn take_job(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        let Some(value) = value else {
            if let Some(run) = self.runs_there.remove(key).and_then(|n| self.runs.get_mut(n)) {
                run.gone_at = at;
                run.deleted_at = run.deleted_at.min(at);
            }
            return Some(());
        };
        let object: JobText = from_slice(value).ok()?;
        let known = self.runs_there.get(key).and_then(|n| self.runs.get_mut(*n));
        if let Some(run) = known.filter(|run| run.uid == object.metadata.uid) {
            run.change(at, &object);
            return Some(());
        }
        self.runs_there.insert(key.clone(), self.runs.len());
        self.runs.push(Run::begin(at, key, object));
        Some(())
    }

    fn take_pod(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        match value {
            None => {
                let pod = self.pods_there.remove(key).and_then(|n| self.facts.pods.get_mut(n));
                pod.into_iter().for_each(|pod| pod.gone_at = at);
            }
            // What matters of a Pod does not change.
            Some(_) if self.pods_there.contains_key(key) => {}
            Some(value) => {
                let object: PlainText = from_slice(value).ok()?;
                let job = object.metadata.controller().map(str::to_owned);
                self.pods_there.insert(key.clone(), self.facts.pods.len());
                self.facts.pods.push(Pod { key: key.clone(), job, gone_at: NEVER });
            }
        }
        Some(())
    }

    fn take_event(&mut self, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        // An event that has expired was told all the same.
        let Some(value) = value else { return Some(()) };
        self.events.insert(key.clone(), from_slice(value).ok()?);
        Some(())
    }

    fn finish(mut self, scenario: &Scenario) -> Facts {
        self.facts.events = self.events.into_values().collect();
        let by_uid: HashMap<String, usize> =
            self.facts.lives.iter().enumerate().map(|(n, life)| (life.uid.clone(), n)).collect();
        for run in self.runs {
            let owner = run.owner.as_ref().and_then(|uid| by_uid.get(uid));
            match owner.and_then(|n| self.facts.lives.get_mut(*n)) {
                Some(life) => life.runs.push(run),
                None => self.facts.strangers.push(run),
            }
        }
        mark_unwanted(&mut self.facts, scenario);
        self.facts
    }
}

/// Marks the Jobs that users may have deleted: those that went while somebody was asking for it.
fn mark_unwanted(facts: &mut Facts, scenario: &Scenario) {
    for (place, deed) in scenario.deeds.iter().enumerate() {
        let Asked::DeleteJob(n) = deed.what else { continue };
        let name = format!("c{n}");
        let until = facts.answers.get(&place).map_or(NEVER, |(at, _)| *at);
        let lives = facts.lives.iter_mut().filter(|life| life.name == name);
        let stem = format!("/jobs.batch/default/{name}-");
        let named = facts.strangers.iter_mut().filter(|run| run.key.starts_with(&stem));
        for run in lives.flat_map(|life| &mut life.runs).chain(named) {
            run.is_unwanted |= (deed.at..=until).contains(&run.deleted_at);
        }
    }
}

impl Life {
    fn begin(at: Millis, key: &str, object: CronJobText) -> Life {
        let mut parts = key.rsplit('/');
        let name = parts.next().unwrap_or_default().to_owned();
        let namespace = parts.next().unwrap_or_default().to_owned();
        let created = object.metadata.creation_timestamp.map(|at| at.as_second());
        let mut life = Life {
            uid: object.metadata.uid.clone(),
            kind: if key.starts_with("/cronjobs.") { "CronJob" } else { "ScheduledJob" },
            name,
            namespace,
            created_at: at,
            creation: created.unwrap_or(i64::MIN / 4),
            stretches: Vec::new(),
            statuses: Vec::new(),
            deleted_at: NEVER,
            runs: Vec::new(),
        };
        life.change(at, object);
        life
    }

    fn change(&mut self, at: Millis, object: CronJobText) {
        let spec = object.spec();
        self.statuses.push((at, object.status));
        if object.metadata.deletion_timestamp.is_some() {
            self.delete(at);
        }
        let mut scheduled_since = at;
        if let Some(last) = self.stretches.last_mut() {
            if last.spec == spec {
                return;
            }
            last.to = last.to.min(at);
            if last.spec.has_schedule_of(&spec) {
                scheduled_since = last.scheduled_since;
            }
        }
        self.stretches.push(Stretch { from: at, to: self.deleted_at, scheduled_since, spec });
    }

    fn delete(&mut self, at: Millis) {
        self.deleted_at = self.deleted_at.min(at);
        if let Some(last) = self.stretches.last_mut() {
            last.to = last.to.min(at);
        }
    }
}

impl Run {
    fn begin(at: Millis, key: &Arc<str>, object: JobText) -> Run {
        let mut run = Run {
            uid: object.metadata.uid.clone(),
            key: key.clone(),
            owner: object.metadata.controller().map(str::to_owned),
            owner_kind: object.metadata.controller_kind().to_owned(),
            slot: object.metadata.slot(),
            created_at: at,
            started: None,
            end: None,
            counted: (0, 0),
            deleted_at: NEVER,
            gone_at: NEVER,
            is_held: false,
            has_ttl: object.has_ttl(),
            is_unwanted: false,
        };
        run.change(at, &object);
        run
    }

    fn change(&mut self, at: Millis, object: &JobText) {
        self.is_held = object.metadata.is_held();
        self.counted = (object.status.succeeded, object.status.failed);
        self.started = object.status.start_time.or(self.started);
        if object.metadata.deletion_timestamp.is_some() {
            self.deleted_at = self.deleted_at.min(at);
        }
        if let (None, Some(ending)) = (self.end, object.ending()) {
            self.end = Some(End { at, ending, completed: object.status.completion_time });
        }
    }
}
