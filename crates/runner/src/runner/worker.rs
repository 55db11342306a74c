//! One Pod's worker: from its first sight to its end.
//!
//! Starting comes first (`start`), then watching over what was started, then the last report. All
//! waits are for something to happen: the object changes, the supervisor writes or ends, a place is
//! free, a config map appears.

mod start;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_api::Pod;
use punctual_api::pod::PodStatus;
use tokio::sync::watch;
use tokio::time::sleep;

use super::Context;
use super::cluster::CallError;
use super::events::{Note, Told, notes};
use super::process::Process;
use super::report::{self, View};
use super::slots::Slot;
use crate::folder::Folder;
use crate::state::{Fault, Phase, PodState};

/// How long to wait before something that failed is tried again.
pub(super) const RETRY: Duration = Duration::from_secs(1);
/// The grace of a Pod whose object is gone.
const FORCED_SECONDS: u64 = 2;
/// After so many deaths of supervisors the wait for the next one grows no more.
const DEATHS_MAX: u32 = 30;
/// How long a supervisor may take from taking the lock to saying who it is.
const SETTLE: Duration = Duration::from_millis(50);

/// What the API says about a Pod.
#[derive(Clone, Debug)]
pub(super) enum Desired {
    Pod(Arc<Pod>),
    /// Its object is gone.
    Gone,
}

/// What a worker leaves behind.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) uid: String,
    pub(super) left: Left,
}

/// What is left of a Pod.
#[derive(Debug)]
pub(super) enum Left {
    Nothing,
    /// All that was to do is done, for the Pod of this version.
    Settled {
        version: String,
    },
    /// More is to do: the worker did not get to its end.
    Unfinished,
}

/// Sees to one Pod.
pub(super) struct Worker {
    context: Arc<Context>,
    folder: Folder,
    desired: watch::Receiver<Desired>,
    slot: Option<Slot>,
    /// The Pod as it was last seen; none if only its folder is there.
    pod: Option<Arc<Pod>>,
    /// The status as it was last written.
    reported: PodStatus,
    told: Told,
    /// Whether the Pod was begun, as far as this worker knows: if its plan is gone, it was lost.
    is_begun: bool,
    /// When the Pod that is to be started was first seen.
    awaited_since: Option<Timestamp>,
}

/// Whether something was done, or has to be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Retry,
}

impl Desired {
    /// Whether there is more to do for a Pod that is over, seen at a version.
    pub(super) fn needs_work(&self, version: &str) -> bool {
        match self {
            Desired::Gone => true,
            Desired::Pod(pod) => {
                let meta = &pod.metadata;
                meta.deletion_timestamp.is_some() && meta.resource_version != version
            }
        }
    }
}

impl Worker {
    pub(super) fn new(
        context: Arc<Context>,
        folder: Folder,
        desired: watch::Receiver<Desired>,
        slot: Option<Slot>,
    ) -> Worker {
        let (pod, reported, told) = (None, PodStatus::default(), Told::default());
        let awaited_since = matches!(folder.has_plan(), Ok(false)).then(crate::clock::now);
        let is_begun = false;
        Worker { context, folder, desired, slot, pod, reported, told, is_begun, awaited_since }
    }

    pub(super) async fn run(mut self, uid: String) -> Done {
        let is_known = self.look();
        if let Some(pod) = self.pod.as_ref().filter(|_| is_known) {
            self.reported = pod.status.clone();
        }
        while let Err(error) = Box::pin(self.work()).await {
            tracing::warn!(%uid, %error, "a Pod's folder cannot be used; trying again");
            sleep(RETRY).await;
        }
        let left = Box::pin(self.leave()).await;
        Done { uid, left }
    }

    async fn work(&mut self) -> io::Result<()> {
        if !self.folder.has_plan()? && !self.start().await {
            self.slot = None;
            return Ok(());
        }
        self.is_begun = true;
        self.remember_what_was_told()?;
        if !self.is_over()? {
            self.watch_over().await?;
        }
        // Nothing of it runs any more; the next one need not wait for the API.
        self.slot = None;
        // Also what ended while no daemon was there to tell.
        self.report_end().await
    }

    // What the API says.

    /// Takes the latest from the API; false if the Pod is gone. Whoever waits for a change is woken
    /// even if it was seen here.
    fn look(&mut self) -> bool {
        match &*self.desired.borrow() {
            Desired::Pod(pod) => {
                self.pod = Some(pod.clone());
                true
            }
            Desired::Gone => false,
        }
    }

    /// How much time the Pod has if it is to stop; none if it is not.
    fn stop_within(&mut self) -> Option<u64> {
        let is_known = self.look();
        let own = self.folder.plan().map_or(30, |plan| plan.grace_seconds);
        match self.pod.as_ref().filter(|_| is_known) {
            // Whoever deletes an object by force does not want to wait for its grace.
            None => Some(own.min(FORCED_SECONDS)),
            Some(pod) => pod.metadata.deletion_timestamp.map(|_| {
                let granted = pod.metadata.deletion_grace_period_seconds;
                granted.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(own)
            }),
        }
    }

    // Watching over a supervisor.

    fn is_over(&self) -> io::Result<bool> {
        Ok(self.folder.state()?.is_some_and(|state| state.phase.is_final()))
    }

    /// Until the Pod is over, and its supervisor gone.
    async fn watch_over(&mut self) -> io::Result<()> {
        let watched = self.context.hub.watch(self.folder.path())?;
        let mut stopping = None;
        let mut process = self.adopt_or_start(&mut stopping).await?;
        let mut deaths = 0;
        loop {
            let state = self.folder.state()?;
            if state.as_ref().is_some_and(|state| state.phase.is_final()) {
                process.gone().await;
                return Ok(());
            }
            let outcome = match &state {
                Some(state) => self.tell_and_report(state).await,
                None => Outcome::Done,
            };
            tokio::select! {
                () = watched.changed() => {}
                Ok(()) = self.desired.changed() => self.heed(&process, &mut stopping).await?,
                () = process.gone() => {
                    // The first is replaced at once; one that keeps dying must not keep us busy.
                    sleep(RETRY * u32::min(deaths, DEATHS_MAX)).await;
                    deaths += 1;
                    process = self.adopt_or_start(&mut stopping).await?;
                }
                () = sleep(RETRY), if outcome == Outcome::Retry => {}
            }
        }
    }

    /// The supervisor that is there, or another one: it knows how to go on. Without a plan it would
    /// not, and there will be none again.
    async fn adopt_or_start(&mut self, stopping: &mut Option<u64>) -> io::Result<Process> {
        loop {
            let found = Process::find(&self.folder);
            if !matches!(found, Ok(Some(_))) && !self.folder.has_plan()? {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the plan is gone"));
            }
            match found {
                Ok(Some(process)) => {
                    self.heed(&process, stopping).await?;
                    return Ok(process);
                }
                Ok(None) => return self.start_supervisor(stopping),
                Err(error) if error.kind() == io::ErrorKind::NotFound => sleep(SETTLE).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// A Pod that is to stop gets a supervisor too, which then only ends what is left.
    fn start_supervisor(&mut self, stopping: &mut Option<u64>) -> io::Result<Process> {
        if let Some(grace_seconds) = self.stop_within() {
            *stopping = Some(grace_seconds);
            self.folder.write_stop(&crate::folder::Stop { grace_seconds })?;
        }
        Process::start(&self.context.program, &self.folder)
    }

    /// Stops the Pod if it is to stop, or sooner than it was told before.
    async fn heed(&mut self, process: &Process, stopping: &mut Option<u64>) -> io::Result<()> {
        let Some(grace_seconds) = self.stop_within() else { return Ok(()) };
        if stopping.is_some_and(|before| before <= grace_seconds) {
            return Ok(());
        }
        if stopping.replace(grace_seconds).is_none() {
            self.tell(Note::normal("Killing", "Stopping the Pod's containers"));
        }
        process.stop(&self.folder, grace_seconds)
    }

    // What is told.

    /// What the API shows already was told by a daemon before this one.
    fn remember_what_was_told(&mut self) -> io::Result<()> {
        let is_reported = !self.reported.container_statuses.is_empty();
        if let Some(state) = self.folder.state()?.filter(|_| is_reported) {
            for note in notes(&state).iter().filter(|note| !note.is_about_an_end()) {
                self.told.is_new(note);
            }
        }
        Ok(())
    }

    /// The last report, which must not be lost.
    async fn report_end(&mut self) -> io::Result<()> {
        let Some(state) = self.folder.state()? else { return Ok(()) };
        while self.tell_and_report(&state).await == Outcome::Retry {
            sleep(RETRY).await;
        }
        Ok(())
    }

    async fn tell_and_report(&mut self, state: &PodState) -> Outcome {
        if let Some(since) = self.awaited_since.take_if(|_| state.phase != Phase::Pending) {
            let waited = state.started_at.duration_since(since).try_into().unwrap_or_default();
            self.context.started.iter().for_each(|started| started(waited));
        }
        let outcome = self.report(View::Known(state)).await;
        for note in notes(state) {
            self.tell(note);
        }
        outcome
    }

    /// Writes the status if it changed.
    async fn report(&mut self, view: View<'_>) -> Outcome {
        if !self.look() {
            return Outcome::Done;
        }
        let Some(pod) = self.pod.clone() else { return Outcome::Done };
        let now = crate::clock::now();
        report::merge_conditions(&mut self.reported, &pod.status);
        let status = report::status(&pod, &self.reported, view, now);
        let Some(status) = status.filter(|status| *status != self.reported) else {
            return Outcome::Done;
        };
        match self.context.cluster.write_status(&pod, &self.reported, &status).await {
            Ok(()) | Err(CallError::Gone) => {
                self.reported = status;
                Outcome::Done
            }
            Err(error) => {
                let name = &pod.metadata.name;
                tracing::warn!(pod = %name, %error, "a status cannot be written; trying again");
                Outcome::Retry
            }
        }
    }

    /// Reports that the Pod has failed without being run.
    async fn fail(&mut self, fault: &Fault) {
        self.tell(Note::warning("Failed", fault.message.clone()));
        while self.report(View::Failed(fault)).await == Outcome::Retry {
            sleep(RETRY).await;
        }
    }

    /// Records an event once, in its own time.
    fn tell(&mut self, note: Note) {
        let Some(pod) = self.pod.clone().filter(|_| self.told.is_new(&note)) else { return };
        let context = self.context.clone();
        tokio::spawn(async move {
            let event = note.event(&pod, &context.node_name, crate::clock::now());
            let Some(event) = event else { return };
            if let Err(error) = context.cluster.record(&pod.metadata.namespace, &event).await {
                tracing::debug!(%error, "an event cannot be written");
            }
        });
    }

    // How it leaves.

    /// Lets the object go if it waits for that.
    async fn leave(&mut self) -> Left {
        let is_known = self.look();
        let Some(pod) = self.pod.clone().filter(|_| is_known) else {
            if let Err(error) = self.folder.remove() {
                tracing::warn!(folder = %self.folder.path().display(), %error, "cannot be removed");
            }
            return Left::Nothing;
        };
        if pod.metadata.deletion_timestamp.is_some() {
            while let Err(error) = self.context.cluster.delete(&pod).await {
                tracing::warn!(pod = %pod.metadata.name, %error, "cannot be deleted; trying again");
                sleep(RETRY).await;
            }
        }
        Left::Settled { version: pod.metadata.resource_version.clone() }
    }
}
