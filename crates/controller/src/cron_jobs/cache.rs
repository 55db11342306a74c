//! What is known of CronJobs and their Jobs, indexed by who belongs to whom.

mod kept;
mod scope;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_api::{CronJob, CronJobKind};
use punctual_client::resource_version::{is_newer, is_older};
use punctual_engine::cronjob::{
    self, Decision, EffectResult, JobView, Observed, Plan, ScheduleError, Timetable,
};
use punctual_queue::Failure;
use punctual_schedule::Zone;

use self::kept::Kept;
pub(super) use self::scope::Scope;
use super::places::Opened;
use super::seen::{CronJobName, JobSeen, Key};
use crate::metrics::Metrics;
use crate::work_queue::WorkQueue;

/// Names of Jobs, and what a live read found.
pub(super) type Live = Vec<(String, Option<JobView>)>;

/// What is known of one CronJob.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) cron_job: Arc<CronJob>,
    pub(super) timetable: Arc<Result<Timetable, ScheduleError>>,
    /// What it was read from.
    kept: Arc<Kept>,
}

/// Effects that were carried out and are not written down yet.
pub(super) struct Acted {
    /// The CronJob that was decided about.
    pub(super) entry: Entry,
    pub(super) plan: Box<Plan>,
    pub(super) outcomes: Vec<EffectResult>,
    /// What keeps it from being done, if something does.
    pub(super) failure: Failure,
    /// Jobs that were in doubt, and were looked up for this.
    pub(super) doubtful: Vec<String>,
}

/// The same, as it waits for a burst to be over: of every CronJob at once, perhaps.
struct Left {
    kept: Arc<Kept>,
    plan: Box<Plan>,
    outcomes: Vec<EffectResult>,
    failure: Failure,
    doubtful: Vec<String>,
}

impl Left {
    fn of(acted: Acted) -> Left {
        let Acted { entry, plan, outcomes, failure, doubtful } = acted;
        Left { kept: entry.kept, plan, outcomes, failure, doubtful }
    }

    fn acted(self) -> Option<Acted> {
        let Left { kept, plan, outcomes, failure, doubtful } = self;
        Some(Acted { entry: kept.entry()?, plan, outcomes, failure, doubtful })
    }
}

/// What one CronJob's turns leave to the next.
#[derive(Default)]
struct Memory {
    /// What a turn in a burst has done and not written down.
    acted: Option<Box<Left>>,
    /// Jobs that may have been created: nobody has heard. Mostly none, which takes no memory.
    doubtful: Vec<String>,
    /// Jobs by name that a live read has shown to have ended, until the watch has too. Without it, a Job that
    /// was counted would look as if it went on, and be counted again.
    ended: BTreeMap<String, JobView>,
}

/// So many Jobs of a CronJob are in doubt at most: there are more only where nothing can be written for hours.
const DOUBTFUL_MAX: usize = 100;

/// So many Jobs of a CronJob end unseen by a watch at most; the oldest are forgotten first.
const ENDED_MAX: usize = 16;

impl Memory {
    /// Jobs that have ended although the watch shows them running. What it does not show at all may be gone.
    fn ahead_of(&self, jobs: &[JobView]) -> impl Iterator<Item = (String, Option<JobView>)> {
        let is_shown = |uid: &str| jobs.iter().any(|job| job.uid == uid);
        let ended = self.ended.iter().filter(move |(_, job)| is_shown(&job.uid));
        ended.map(|(name, job)| (name.clone(), Some(job.clone())))
    }

    /// Takes note of what was read, and forgets what the watch knows by now.
    fn learn(&mut self, live: &Live, jobs: &[JobView]) {
        let found = live.iter().filter_map(|(name, job)| Some((name, job.as_ref()?)));
        let ended = found.filter(|(_, job)| job.result.is_some());
        self.ended.extend(ended.map(|(name, job)| (name.clone(), job.clone())));
        let is_heard = |uid: &str| jobs.iter().any(|job| job.uid == uid && job.result.is_some());
        self.ended.retain(|_, job| !is_heard(&job.uid));
        while self.ended.len() > ENDED_MAX {
            self.ended.pop_first();
        }
    }
}

#[derive(Default)]
struct State {
    cron_jobs: HashMap<Arc<CronJobName>, (Arc<Kept>, Memory)>,
    /// The name of each CronJob by its UID.
    names: HashMap<String, Arc<CronJobName>>,
    /// Jobs by the UID of their controller.
    jobs: HashMap<String, Vec<JobView>>,
    /// The UID of each Job's controller, which can change, and the Job's namespace.
    owners: HashMap<String, (String, String)>,
    /// Jobs with our finalizer, by UID.
    held: HashMap<String, JobSeen>,
    /// CronJobs that a read has shown to be gone, until the watch has too: what it tells of them is old.
    buried: HashMap<String, Arc<CronJobName>>,
    /// Where everything was listed that has to be known, of each kind.
    open: HashMap<CronJobKind, Open>,
    /// CronJobs to be looked at where that is not so yet.
    put_off: BTreeSet<Arc<CronJobName>>,
}

/// All namespaces, or some of them.
#[derive(Default)]
struct Open {
    everywhere: bool,
    namespaces: BTreeSet<String>,
}

/// What is known.
pub(super) struct Cache {
    state: Mutex<State>,
    zone: Zone,
    queue: Arc<WorkQueue<Key>>,
    metrics: Metrics,
}

impl Cache {
    pub(super) fn new(zone: Zone, queue: Arc<WorkQueue<Key>>, metrics: Metrics) -> Cache {
        Cache { state: Mutex::default(), zone, queue, metrics }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything was listed that has to be known of a kind somewhere. What was put off is looked at.
    pub(super) fn open(&self, opened: &Opened) {
        let mut state = self.state();
        let Open { everywhere, namespaces } = state.open.entry(opened.flavor).or_default();
        match &opened.namespace {
            Some(namespace) => drop(namespaces.insert(namespace.clone())),
            None => *everywhere = true,
        }
        let put_off = std::mem::take(&mut state.put_off);
        let (due, put_off) = put_off.into_iter().partition(|name| state.is_open(name));
        state.put_off = put_off;
        let due: BTreeSet<Arc<CronJobName>> = due;
        due.into_iter().for_each(|name| self.queue.add(&Key::CronJob(name)));
    }

    /// Whether nothing can be decided about a CronJob yet. It is looked at when it can.
    pub(super) fn puts_off(&self, name: &Arc<CronJobName>) -> bool {
        let mut state = self.state();
        let is_early = !state.is_open(name);
        if is_early {
            state.put_off.insert(name.clone());
        }
        is_early
    }

    /// What to do about a CronJob; none if it is gone.
    pub(super) fn decide(
        &self,
        name: &CronJobName,
        live: &Live,
        now: Timestamp,
    ) -> Option<(Entry, Decision)> {
        let mut state = self.state();
        let State { cron_jobs, jobs, .. } = &mut *state;
        let (kept, memory) = cron_jobs.get_mut(name)?;
        let entry = kept.entry()?;
        let jobs = jobs.get(&kept.uid).map_or(&[][..], Vec::as_slice);
        memory.learn(live, jobs);
        let live: Live = live.iter().cloned().chain(memory.ahead_of(jobs)).collect();
        let Entry { cron_job, timetable, .. } = &entry;
        let seen = Observed { cron_job, timetable, jobs, live_jobs: &live };
        let decision = cronjob::decide(&seen, now);
        Some((entry, decision))
    }

    /// The UID of a CronJob.
    pub(super) fn uid(&self, name: &CronJobName) -> Option<String> {
        self.state().cron_jobs.get(name).map(|(kept, _)| kept.uid.clone())
    }

    /// Takes up a CronJob that was read or written by us, if it is known: a watch that is ahead of us may
    /// have shown that it is gone, and only a watch would show that again.
    pub(super) fn refresh(&self, name: &Arc<CronJobName>, cron_job: Arc<CronJob>) {
        let mut state = self.state();
        if state.cron_jobs.contains_key(name) {
            state.put(name.clone(), &cron_job, &self.zone);
        }
    }

    /// A read has shown that a CronJob is gone; the watch may be far behind.
    pub(super) fn bury(&self, name: &Arc<CronJobName>, uid: &str) {
        let mut state = self.state();
        if state.names.contains_key(uid) {
            state.buried.insert(uid.to_owned(), name.clone());
        }
        self.leave(&mut state, name, uid);
    }

    /// A CronJob is gone.
    pub(super) fn forget(&self, name: &Arc<CronJobName>, uid: &str) {
        self.leave(&mut self.state(), name, uid);
    }

    fn leave(&self, state: &mut State, name: &Arc<CronJobName>, uid: &str) {
        if state.remove(name, uid) {
            self.metrics.forget(&name.namespace, &name.name);
            self.metrics.set_cron_jobs(state.cron_jobs.len());
            self.queue.remove(&Key::CronJob(name.clone()));
        }
        let held = state.jobs.get(uid).into_iter().flatten().filter(|job| job.has_finalizer);
        held.for_each(|job| self.wake_held(state, &job.uid));
    }

    /// When the next slot of a CronJob takes effect.
    pub(super) fn next_slot(&self, name: &CronJobName, now: Timestamp) -> Option<Timestamp> {
        let timetable = self.state().cron_jobs.get(name)?.0.timetable();
        timetable.as_ref().as_ref().ok()?.next_effective_time(now)
    }

    /// What a turn left to be written down.
    pub(super) fn take_acted(&self, name: &CronJobName) -> Option<Acted> {
        let left = self.state().cron_jobs.get_mut(name)?.1.acted.take()?;
        left.acted()
    }

    /// Leaves something to be written down by a later turn, unless the CronJob is another by now.
    pub(super) fn leave_acted(&self, name: &CronJobName, acted: Acted) {
        let left = Box::new(Left::of(acted));
        let mut state = self.state();
        if let Some((kept, memory)) = state.cron_jobs.get_mut(name)
            && kept.uid == left.kept.uid
        {
            memory.acted = Some(left);
        }
    }

    /// Jobs that may have been created.
    pub(super) fn doubtful(&self, name: &CronJobName) -> Vec<String> {
        let state = self.state();
        let memory = state.cron_jobs.get(name).map(|(_, memory)| memory);
        memory.map(|memory| memory.doubtful.clone()).unwrap_or_default()
    }

    /// Whether a Job may have been created unheard.
    pub(super) fn doubt(&self, name: &CronJobName, job: &str, is_doubtful: bool) {
        let mut state = self.state();
        let Some((_, memory)) = state.cron_jobs.get_mut(name) else { return };
        memory.doubtful.retain(|doubtful| doubtful != job);
        match is_doubtful {
            true => {
                memory.doubtful.push(job.to_owned());
                let forgotten = memory.doubtful.len().saturating_sub(DOUBTFUL_MAX);
                memory.doubtful.drain(..forgotten);
            }
            false => memory.doubtful.shrink_to_fit(),
        }
    }

    /// Whether a Job with our finalizer belongs to a CronJob that is known.
    pub(super) fn is_owner_known(&self, uid: &str) -> bool {
        self.state().names.contains_key(uid)
    }

    /// Jobs with our finalizer that nobody will ask to be let go.
    fn wake_held(&self, state: &State, uid: &str) {
        let Some(seen) = state.held.get(uid) else { return };
        if !state.names.contains_key(&seen.view.controller_uid) {
            self.queue.add(&Key::Held(seen.name()));
        }
    }
}

impl State {
    /// Whether everything was listed that has to be known to decide about a CronJob.
    fn is_open(&self, name: &CronJobName) -> bool {
        let is_there = |open: &Open| open.everywhere || open.namespaces.contains(&name.namespace);
        self.open.get(&name.flavor).is_some_and(is_there)
    }

    /// Whether that was news.
    fn put(&mut self, name: Arc<CronJobName>, cron_job: &CronJob, zone: &Zone) -> bool {
        let meta = &cron_job.metadata;
        if let Some((known, _)) = self.cron_jobs.get_mut(&name) {
            if !is_newer(&meta.resource_version, &known.resource_version) {
                return false;
            }
            if known.uid == meta.uid {
                *known = Arc::new(known.renewed(cron_job, zone));
                return true;
            }
            self.names.remove(&known.uid);
        }
        self.names.insert(meta.uid.clone(), name.clone());
        self.cron_jobs.insert(name, (Arc::new(Kept::new(cron_job, zone)), Memory::default()));
        true
    }

    fn remove(&mut self, name: &CronJobName, uid: &str) -> bool {
        self.names.remove(uid);
        let is_same = |(kept, _): &(Arc<Kept>, Memory)| kept.uid == uid;
        let found = self.cron_jobs.get(name).is_some_and(is_same);
        if found {
            self.cron_jobs.remove(name);
        }
        found
    }

    /// Whom that is news for.
    fn put_job(&mut self, seen: &JobSeen) -> Vec<Key> {
        let view = &seen.view;
        match view.has_finalizer {
            true => drop(self.held.insert(view.uid.clone(), seen.clone())),
            false => drop(self.held.remove(&view.uid)),
        }
        let owner = seen.owner.as_ref().map(|_| &view.controller_uid);
        let left = match self.owners.get(&view.uid).map(|(owner, _)| owner) {
            before if before == owner => None,
            _ => self.unlink_job(&view.uid),
        };
        let is_news = owner.is_some_and(|owner| self.link_job(owner, seen));
        let owner = owner.filter(|_| is_news).and_then(|owner| self.owner_key(owner));
        left.into_iter().chain(owner).collect()
    }

    /// Whether that was news.
    fn link_job(&mut self, owner: &str, seen: &JobSeen) -> bool {
        let view = &seen.view;
        let jobs = self.jobs.entry(owner.to_owned()).or_default();
        match jobs.iter_mut().find(|job| job.uid == view.uid) {
            Some(known) if !is_older(&view.resource_version, &known.resource_version) => {
                let before = std::mem::replace(known, view.clone());
                *known != JobView { resource_version: view.resource_version.clone(), ..before }
            }
            Some(_) => false,
            None => {
                // Mostly there are few, and of CronJobs there are many.
                jobs.reserve_exact(1);
                jobs.push(view.clone());
                let namespace = seen.namespace.clone();
                self.owners.insert(view.uid.clone(), (owner.to_owned(), namespace));
                true
            }
        }
    }

    /// Takes a Job from its owner; whom that is news for.
    fn unlink_job(&mut self, uid: &str) -> Option<Key> {
        let (owner, _) = self.owners.remove(uid)?;
        if let Some(jobs) = self.jobs.get_mut(&owner) {
            jobs.retain(|job| job.uid != uid);
            if jobs.is_empty() {
                self.jobs.remove(&owner);
            }
        }
        self.owner_key(&owner)
    }

    fn remove_job(&mut self, uid: &str) -> Option<Key> {
        self.held.remove(uid);
        self.unlink_job(uid)
    }

    fn owner_key(&self, uid: &str) -> Option<Key> {
        self.names.get(uid).cloned().map(Key::CronJob)
    }
}
