//! Reads a history into one record per CronJob, Job and Pod.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::from_slice;

use super::cron_job_history::{CronJobHistory, JobEnd, JobRun, OPEN_END, PodRecord, SpecPeriod};
use super::objects::{
    ServedSlotRecord, StoredCronJob, StoredEvent, StoredJob, StoredPod, StoredRunRequest,
};
use crate::history::{HistoryEvent, HistoryRecord};
use crate::scenario::{ActionKind, Millis, Scenario};

/// What the history contains.
#[derive(Debug, Default)]
pub(super) struct Observations {
    pub(super) cron_jobs: Vec<CronJobHistory>,
    /// Jobs that no CronJob of the history controls.
    pub(super) foreign_jobs: Vec<JobRun>,
    pub(super) pods: Vec<PodRecord>,
    /// The RunRequests in their last states.
    pub(super) requests: Vec<RequestHistory>,
    pub(super) events: Vec<StoredEvent>,
    /// The time and the status code of the response to each action, by its index.
    pub(super) responses: HashMap<usize, (Millis, u16)>,
    /// Whether any status has slot records.
    pub(super) has_slot_records: bool,
    /// The slot records that the server served at the end.
    pub(super) served_records: Vec<ServedSlotRecord>,
    /// Objects that could not be parsed.
    pub(super) unreadable: Vec<(Millis, Arc<str>)>,
}

/// A RunRequest.
#[derive(Debug)]
pub(super) struct RequestHistory {
    pub(super) key: Arc<str>,
    /// The last state.
    pub(super) object: StoredRunRequest,
    pub(super) created_at: Millis,
    /// When it was removed.
    pub(super) deleted_at: Option<Millis>,
}

/// Reads the records in order.
#[derive(Default)]
struct HistoryReader {
    observations: Observations,
    /// All Jobs, until they are assigned to their CronJobs.
    runs: Vec<JobRun>,
    /// The index of each existing object in its list, by storage key.
    cron_jobs_by_key: HashMap<Arc<str>, usize>,
    runs_by_key: HashMap<Arc<str>, usize>,
    pods_by_key: HashMap<Arc<str>, usize>,
    /// The latest version of each event, by storage key.
    events: HashMap<Arc<str>, StoredEvent>,
    reads_events: bool,
}

impl Observations {
    /// All Jobs that this CronJob does not control.
    pub(super) fn jobs_of_others<'a>(
        &'a self,
        cron_job: &'a CronJobHistory,
    ) -> impl Iterator<Item = &'a JobRun> {
        let others = self.cron_jobs.iter().filter(|other| other.uid != cron_job.uid);
        others.flat_map(|other| &other.runs).chain(&self.foreign_jobs)
    }

    pub(super) fn read(scenario: &Scenario, history: &[HistoryRecord]) -> Observations {
        // Events are checked only in scenarios without faults.
        let reads_events = scenario.faults.is_empty();
        let mut reader = HistoryReader { reads_events, ..HistoryReader::default() };
        for record in history {
            match &record.event {
                HistoryEvent::Written { key, value, .. } => {
                    reader.read_write(record.at, key, value.as_deref());
                }
                HistoryEvent::Response { action, code } => {
                    reader.observations.responses.insert(*action, (record.at, *code));
                }
                HistoryEvent::SlotRecord(text) => reader.read_slot_record(record.at, text),
                _ => {}
            }
        }
        reader.finish(scenario)
    }
}

impl HistoryReader {
    fn read_write(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) {
        let resource = key.split('/').nth(1).unwrap_or_default();
        let parsed = match resource {
            "cronjobs.batch" | "scheduledjobs.punctual.dev" => self.read_cron_job(at, key, value),
            "jobs.batch" => self.read_job(at, key, value),
            "runrequests.punctual.dev" => self.read_request(at, key, value),
            "pods" => self.read_pod(at, key, value),
            "events" if self.reads_events => self.read_event(key, value),
            _ => Some(()),
        };
        if parsed.is_none() {
            self.observations.unreadable.push((at, key.clone()));
        }
    }

    /// Returns none if the object cannot be parsed, like the functions below.
    fn read_cron_job(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        let cron_jobs = &mut self.observations.cron_jobs;
        let Some(value) = value else {
            let removed = self.cron_jobs_by_key.remove(key).and_then(|n| cron_jobs.get_mut(n));
            if let Some(cron_job) = removed {
                cron_job.delete(at);
            }
            return Some(());
        };
        let object: StoredCronJob = from_slice(value).ok()?;
        self.observations.has_slot_records |= !object.status.slots.is_empty();
        let cron_jobs = &mut self.observations.cron_jobs;
        let existing = self.cron_jobs_by_key.get(key).and_then(|n| cron_jobs.get_mut(*n));
        if let Some(cron_job) = existing
            && cron_job.uid == object.metadata.uid
        {
            cron_job.update(at, object);
            return Some(());
        }
        self.cron_jobs_by_key.insert(key.clone(), cron_jobs.len());
        cron_jobs.push(CronJobHistory::new(at, key, object));
        Some(())
    }

    fn read_job(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        let Some(value) = value else {
            if let Some(run) = self.runs_by_key.remove(key).and_then(|n| self.runs.get_mut(n)) {
                run.removed_at = at;
                run.deleted_at = run.deleted_at.min(at);
            }
            return Some(());
        };
        let object: StoredJob = from_slice(value).ok()?;
        let existing = self.runs_by_key.get(key).and_then(|n| self.runs.get_mut(*n));
        if let Some(run) = existing
            && run.uid == object.metadata.uid
        {
            run.update(at, &object);
            return Some(());
        }
        self.runs_by_key.insert(key.clone(), self.runs.len());
        self.runs.push(JobRun::new(at, key, &object));
        Some(())
    }

    fn read_pod(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        let pods = &mut self.observations.pods;
        let Some(value) = value else {
            if let Some(pod) = self.pods_by_key.remove(key).and_then(|n| pods.get_mut(n)) {
                pod.removed_at = at;
                pod.deleted_at = pod.deleted_at.min(at);
            }
            return Some(());
        };
        let object: StoredPod = from_slice(value).ok()?;
        let existing = self.pods_by_key.get(key).and_then(|n| pods.get_mut(*n));
        if let Some(pod) = existing
            && pod.uid == object.metadata.uid
        {
            pod.update(at, &object);
            return Some(());
        }
        self.pods_by_key.insert(key.clone(), pods.len());
        pods.push(PodRecord::new(at, key, &object));
        Some(())
    }

    fn read_request(&mut self, at: Millis, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        let requests = &mut self.observations.requests;
        let existing = requests.iter_mut().rfind(|request| request.key == *key);
        let Some(value) = value else {
            if let Some(request) = existing {
                request.deleted_at = Some(at);
            }
            return Some(());
        };
        let object: StoredRunRequest = from_slice(value).ok()?;
        match existing {
            Some(request) if request.object.metadata.uid == object.metadata.uid => {
                request.object = object;
            }
            _ => {
                let key = key.clone();
                let request = RequestHistory { key, object, created_at: at, deleted_at: None };
                requests.push(request);
            }
        }
        Some(())
    }

    fn read_slot_record(&mut self, at: Millis, text: &Arc<str>) {
        match serde_json::from_str(text) {
            Ok(record) => self.observations.served_records.push(record),
            Err(_) => self.observations.unreadable.push((at, text.clone())),
        }
    }

    fn read_event(&mut self, key: &Arc<str>, value: Option<&[u8]>) -> Option<()> {
        // An event that has expired was recorded all the same.
        let Some(value) = value else { return Some(()) };
        self.events.insert(key.clone(), from_slice(value).ok()?);
        Some(())
    }

    fn finish(mut self, scenario: &Scenario) -> Observations {
        let observations = &mut self.observations;
        observations.events = self.events.into_values().collect();
        let cron_jobs = observations.cron_jobs.iter().enumerate();
        let by_uid: HashMap<String, usize> =
            cron_jobs.map(|(n, cron_job)| (cron_job.uid.clone(), n)).collect();
        for run in self.runs {
            let owner = run.owner.as_ref().and_then(|uid| by_uid.get(uid));
            match owner.and_then(|n| observations.cron_jobs.get_mut(*n)) {
                Some(cron_job) => cron_job.runs.push(run),
                None => observations.foreign_jobs.push(run),
            }
        }
        mark_deleted_by_user(observations, scenario);
        self.observations
    }
}

/// Marks the Jobs that a user may have deleted: those that were deleted while a user's request was
/// pending.
fn mark_deleted_by_user(observations: &mut Observations, scenario: &Scenario) {
    for (index, action) in scenario.actions.iter().enumerate() {
        let ActionKind::DeleteJob(n) = action.kind else { continue };
        let name = format!("c{n}");
        let answered = observations.responses.get(&index).map_or(OPEN_END, |(at, _)| *at);
        let cron_jobs = observations.cron_jobs.iter_mut();
        let own = cron_jobs.filter(|cron_job| cron_job.name == name);
        let prefix = format!("/jobs.batch/default/{name}-");
        let foreign = observations.foreign_jobs.iter_mut();
        let foreign = foreign.filter(|run| run.key.starts_with(&prefix));
        for run in own.flat_map(|cron_job| &mut cron_job.runs).chain(foreign) {
            run.is_deleted_by_user |= (action.at..=answered).contains(&run.deleted_at);
        }
    }
}

impl CronJobHistory {
    fn new(at: Millis, key: &str, object: StoredCronJob) -> CronJobHistory {
        let mut segments = key.rsplit('/');
        let name = segments.next().unwrap_or_default().to_owned();
        let namespace = segments.next().unwrap_or_default().to_owned();
        let created = object.metadata.creation_timestamp.map(|at| at.as_second());
        let mut cron_job = CronJobHistory {
            uid: object.metadata.uid.clone(),
            kind: if key.starts_with("/cronjobs.") { "CronJob" } else { "ScheduledJob" },
            name,
            namespace,
            created_at: at,
            creation: created.unwrap_or(i64::MIN / 4),
            periods: Vec::new(),
            statuses: Vec::new(),
            deleted_at: OPEN_END,
            runs: Vec::new(),
        };
        cron_job.update(at, object);
        cron_job
    }

    fn update(&mut self, at: Millis, object: StoredCronJob) {
        let spec = object.spec();
        self.statuses.push((at, object.status));
        if object.metadata.deletion_timestamp.is_some() {
            self.delete(at);
        }
        let mut scheduled_since = at;
        if let Some(last) = self.periods.last_mut() {
            if last.spec == spec {
                return;
            }
            last.to = last.to.min(at);
            if last.spec.has_schedule_of(&spec) {
                scheduled_since = last.scheduled_since;
            }
        }
        self.periods.push(SpecPeriod { from: at, to: self.deleted_at, scheduled_since, spec });
    }

    fn delete(&mut self, at: Millis) {
        self.deleted_at = self.deleted_at.min(at);
        if let Some(last) = self.periods.last_mut() {
            last.to = last.to.min(at);
        }
    }
}

impl PodRecord {
    fn new(at: Millis, key: &Arc<str>, object: &StoredPod) -> PodRecord {
        let mut pod = PodRecord {
            uid: object.metadata.uid.clone(),
            key: key.clone(),
            job: object.metadata.controller().map(str::to_owned),
            created_at: at,
            deleted_at: OPEN_END,
            grace: 0,
            removed_at: OPEN_END,
            results: Vec::new(),
        };
        pod.update(at, object);
        pod
    }

    fn update(&mut self, at: Millis, object: &StoredPod) {
        if object.metadata.deletion_timestamp.is_some() && self.deleted_at == OPEN_END {
            self.deleted_at = at;
            self.grace = object.metadata.deletion_grace_period_seconds.unwrap_or_default() * 1000;
        }
        let result = object.result();
        if self.results.last().map(|(_, last)| last) != Some(&result) {
            self.results.push((at, result));
        }
    }
}

impl JobRun {
    fn new(at: Millis, key: &Arc<str>, object: &StoredJob) -> JobRun {
        let request = object.metadata.request();
        let mut run = JobRun {
            uid: object.metadata.uid.clone(),
            key: key.clone(),
            owner: object.metadata.controller().map(str::to_owned),
            owner_kind: object.metadata.controller_kind().to_owned(),
            slot: if request.is_none() { object.metadata.slot() } else { None },
            request,
            created_at: at,
            started: None,
            end: None,
            counted: (0, 0),
            deleted_at: OPEN_END,
            removed_at: OPEN_END,
            has_finalizer: false,
            has_ttl: object.has_ttl(),
            is_deleted_by_user: false,
        };
        run.update(at, object);
        run
    }

    fn update(&mut self, at: Millis, object: &StoredJob) {
        self.has_finalizer = object.metadata.has_finalizer();
        self.counted = (object.status.succeeded, object.status.failed);
        self.started = object.status.start_time.or(self.started);
        if object.metadata.deletion_timestamp.is_some() {
            self.deleted_at = self.deleted_at.min(at);
        }
        if let (None, Some(result)) = (self.end, object.result()) {
            self.end = Some(JobEnd { at, result, completed: object.status.completion_time });
        }
    }
}
