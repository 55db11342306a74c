//! The worker of one Pod: starts it, follows it, reports its status and deletes its object.
//!
//! `start` has the part before the Pod runs. The worker never polls: it waits for a change of the object,
//! an event of the runtime, a permit or a change of a missing reference. Only failures are retried after
//! a delay.

mod start;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_api::Pod;
use punctual_api::event::PendingEvent;
use punctual_api::pod::PodStatus;
use punctual_client::ApiError;
use punctual_client::resource_version::is_newer;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::WorkerContext;
use super::pod_events::{RecordedEvents, events_of_state, pod_reference, reports_end};
use super::pod_permits::PodPermit;
use super::pod_status::{self, PodView};
use super::start_priority::StartInProgress;
use crate::pod_runtime::{PodHandle, RuntimeEvent};
use crate::pod_state::{ContainerRecord, PodPhase, PodState, ReasonAndMessage};

/// The delay before a failed step is retried.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest grace period of a Pod whose object was deleted, in seconds.
const DELETED_GRACE_SECONDS: u64 = 2;
/// The grace period of a Pod whose own is unknown, in seconds.
const DEFAULT_GRACE_SECONDS: u64 = 30;
/// A program that ends within this time is reported only when it has ended.
const SHORT_RUN: Duration = Duration::from_millis(100);
/// The delay before a supervisor is replaced grows with each exit up to this number.
const EXITS_MAX: u32 = 30;

/// The Pod's object in the API.
#[derive(Clone, Debug)]
pub(super) enum DesiredPod {
    Present(Arc<Pod>),
    Deleted,
}

/// The result of a worker.
#[derive(Debug)]
pub(super) struct WorkerResult {
    pub(super) uid: String,
    pub(super) end: WorkerEnd,
}

/// How a worker ended.
#[derive(Debug)]
pub(super) enum WorkerEnd {
    /// The object is deleted and the data is removed.
    Removed,
    /// Nothing remains to be done for the object with this resourceVersion.
    Settled { resource_version: String },
    /// The worker panicked.
    Unfinished,
}

/// Runs one Pod.
pub(super) struct PodWorker {
    context: Arc<WorkerContext>,
    uid: String,
    desired: watch::Receiver<DesiredPod>,
    permit: Option<PodPermit>,
    /// The latest object; `None` if there was never one, only data.
    pod: Option<Arc<Pod>>,
    /// The status that was written or read last.
    reported: PodStatus,
    /// The resourceVersion of the object with that status.
    reported_version: String,
    recorded: RecordedEvents,
    /// Whether this worker has seen the Pod prepared. If it is no longer prepared, its data was lost.
    was_prepared: bool,
    /// When this worker first saw the Pod that it is to start.
    waiting_since: Option<Timestamp>,
    /// Set while the Pod has a permit and was not started yet.
    start_in_progress: Option<StartInProgress>,
}

/// The first report of a Pod that runs. It is delayed, because many programs end at once, and their end is all
/// that has to be reported.
#[derive(Clone, Copy, Debug)]
enum FirstReport {
    /// The Pod does not run yet.
    Delayed,
    DueAt(Instant),
    Done,
}

impl FirstReport {
    /// When a state is to be reported; `None` for now.
    fn due_at(&mut self, state: &PodState) -> Option<Instant> {
        if matches!(self, FirstReport::Delayed) {
            let is_running = state.containers.iter().any(ContainerRecord::is_running);
            if is_running {
                *self = FirstReport::DueAt(Instant::now() + SHORT_RUN);
            }
        }
        match self {
            FirstReport::DueAt(at) => Some(*at),
            FirstReport::Delayed | FirstReport::Done => None,
        }
    }
}

/// Whether a write to the API succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReportResult {
    Done,
    Retry,
}

impl DesiredPod {
    /// Whether a Pod that has ended needs another worker after one that handled this resourceVersion.
    pub(super) fn needs_worker(&self, resource_version: &str) -> bool {
        match self {
            DesiredPod::Deleted => true,
            DesiredPod::Present(pod) => {
                let meta = &pod.metadata;
                meta.deletion_timestamp.is_some() && meta.resource_version != resource_version
            }
        }
    }
}

impl PodWorker {
    pub(super) fn new(
        context: Arc<WorkerContext>,
        uid: String,
        desired: watch::Receiver<DesiredPod>,
        permit: Option<PodPermit>,
    ) -> PodWorker {
        PodWorker {
            waiting_since: None,
            start_in_progress: None,
            context,
            uid,
            desired,
            permit,
            pod: None,
            reported: PodStatus::default(),
            reported_version: String::new(),
            recorded: RecordedEvents::default(),
            was_prepared: false,
        }
    }

    pub(super) async fn run(mut self) -> WorkerEnd {
        if let Some(pod) = self.current_pod() {
            self.set_reported(&pod);
        }
        if matches!(self.context.runtime.is_prepared(&self.uid).await, Ok(false)) {
            self.waiting_since = Some(self.context.clock.now());
        }
        while let Err(error) = Box::pin(self.run_pod()).await {
            tracing::warn!(uid = self.uid, %error, "could not read or write a Pod's directory; retrying");
            sleep(RETRY_DELAY).await;
        }
        Box::pin(self.finish()).await
    }

    async fn run_pod(&mut self) -> io::Result<()> {
        let is_new = !self.context.runtime.is_prepared(&self.uid).await?;
        if is_new && !self.prepare().await {
            self.start_in_progress = None;
            self.permit = None;
            return Ok(());
        }
        self.was_prepared = true;
        self.skip_recorded_events().await?;
        let ended = if is_new { None } else { self.final_state().await? };
        let ended = match ended {
            Some(state) => Some(state),
            None => self.follow(is_new).await?,
        };
        // Nothing of the Pod runs any more, so the next Pod need not wait for the API.
        self.permit = None;
        if let Some(state) = ended {
            // This also reports Pods that ended while no daemon was running.
            self.report_end(&state).await;
        }
        Ok(())
    }

    // The object in the API.

    /// The latest object; `None` if it was deleted. Does not mark the change as seen, so that a later
    /// wait for a change still returns.
    fn current_pod(&mut self) -> Option<Arc<Pod>> {
        match &*self.desired.borrow() {
            DesiredPod::Present(pod) => {
                self.pod = Some(pod.clone());
                Some(pod.clone())
            }
            DesiredPod::Deleted => None,
        }
    }

    /// The grace period if the Pod is to stop; `None` if it is not.
    async fn stop_within(&mut self) -> Option<u64> {
        let Some(pod) = self.current_pod() else {
            // A user who deletes the object by force does not want to wait for the grace period.
            return Some(self.own_grace_seconds().await.min(DELETED_GRACE_SECONDS));
        };
        pod.metadata.deletion_timestamp?;
        let granted = pod.metadata.deletion_grace_period_seconds;
        match granted.and_then(|seconds| u64::try_from(seconds).ok()) {
            Some(seconds) => Some(seconds),
            None => Some(self.own_grace_seconds().await),
        }
    }

    /// The grace period of the Pod itself.
    async fn own_grace_seconds(&self) -> u64 {
        self.context.runtime.grace_seconds(&self.uid).await.unwrap_or(DEFAULT_GRACE_SECONDS)
    }

    // The running Pod.

    /// The state if the Pod has ended.
    async fn final_state(&self) -> io::Result<Option<PodState>> {
        let state = self.context.runtime.state(&self.uid).await?;
        Ok(state.filter(|state| state.phase.is_final()))
    }

    /// Reports the Pod until it has ended and its supervisor has exited. Returns its final state; `None` if that
    /// was lost after it was reported. `is_new` means that this worker has just prepared the Pod.
    async fn follow(&mut self, is_new: bool) -> io::Result<Option<PodState>> {
        let mut stopping = None;
        let found = if is_new {
            let started = self.start(&mut stopping).await;
            self.start_in_progress = None;
            Some(started?)
        } else {
            self.attach_or_start(&mut stopping).await?
        };
        let Some(mut handle) = found else { return Ok(None) };
        let mut exits = 0;
        let mut first_report = if is_new { FirstReport::Delayed } else { FirstReport::Done };
        loop {
            let state = self.context.runtime.state(&self.uid).await?;
            if state.as_ref().is_some_and(|state| state.phase.is_final()) {
                while handle.next_event().await != RuntimeEvent::Exited {}
                return Ok(state);
            }
            let report_at = state.as_ref().and_then(|state| first_report.due_at(state));
            let reported = match &state {
                Some(state) if report_at.is_none() => {
                    self.context.start_priority.yield_to_starts().await;
                    self.report_state(state).await
                }
                _ => ReportResult::Done,
            };
            tokio::select! {
                biased;
                Ok(()) = self.desired.changed() => {
                    self.apply_stop(&mut *handle, &mut stopping).await?;
                }
                event = handle.next_event() => {
                    if event == RuntimeEvent::Exited {
                        // The first dead supervisor is replaced at once, the others after a delay.
                        sleep(RETRY_DELAY * u32::min(exits, EXITS_MAX)).await;
                        exits += 1;
                        match self.attach_or_start(&mut stopping).await? {
                            Some(found) => handle = found,
                            None => return Ok(None),
                        }
                    }
                }
                () = sleep_until(report_at.unwrap_or_else(Instant::now)), if report_at.is_some() => {
                    first_report = FirstReport::Done;
                }
                () = sleep(RETRY_DELAY), if reported == ReportResult::Retry => {}
            }
        }
    }

    /// Attaches to the Pod if it runs, or starts it. A Pod that is to stop is started too: its
    /// supervisor terminates the remains of an earlier one. Returns `None` if the API has the end of the Pod
    /// already: the machine has lost power, and with it the final state.
    async fn attach_or_start(
        &mut self,
        stopping: &mut Option<u64>,
    ) -> io::Result<Option<Box<dyn PodHandle>>> {
        let context = self.context.clone();
        if let Some(mut handle) = context.runtime.attach(&self.uid).await? {
            self.apply_stop(&mut *handle, stopping).await?;
            return Ok(Some(handle));
        }
        if self.current_pod().is_some_and(|pod| pod.status.is_terminal()) {
            return Ok(None);
        }
        self.start(stopping).await.map(Some)
    }

    /// Starts the Pod, which is not running.
    async fn start(&mut self, stopping: &mut Option<u64>) -> io::Result<Box<dyn PodHandle>> {
        let stop_within = self.stop_within().await;
        if stop_within.is_some() {
            *stopping = stop_within;
        }
        self.context.runtime.start(&self.uid, stop_within).await
    }

    /// Stops the Pod if it is to stop, or shortens the grace period of a stop in progress.
    async fn apply_stop(
        &mut self,
        handle: &mut dyn PodHandle,
        stopping: &mut Option<u64>,
    ) -> io::Result<()> {
        let Some(grace_seconds) = self.stop_within().await else { return Ok(()) };
        if stopping.is_some_and(|before| before <= grace_seconds) {
            return Ok(());
        }
        if stopping.replace(grace_seconds).is_none() {
            self.record(PendingEvent::normal("Killing", "Stopping the Pod's containers"));
        }
        handle.stop(grace_seconds).await
    }

    // Reports.

    /// Marks the Events as recorded that an earlier daemon has recorded: those of a state that the API
    /// shows.
    async fn skip_recorded_events(&mut self) -> io::Result<()> {
        if self.reported.container_statuses.is_empty() {
            return Ok(());
        }
        if let Some(state) = self.context.runtime.state(&self.uid).await? {
            for event in events_of_state(&state).iter().filter(|event| !reports_end(event)) {
                self.recorded.insert(event);
            }
        }
        Ok(())
    }

    /// Reports the final state, until that succeeds.
    async fn report_end(&mut self, state: &PodState) {
        self.context.start_priority.yield_to_starts().await;
        while self.report_state(state).await == ReportResult::Retry {
            sleep(RETRY_DELAY).await;
        }
    }

    async fn report_state(&mut self, state: &PodState) -> ReportResult {
        if state.phase != PodPhase::Pending
            && let Some(since) = self.waiting_since.take()
            && let Some(on_pod_started) = &self.context.on_pod_started
        {
            let waited = state.started_at.duration_since(since);
            on_pod_started(waited.try_into().unwrap_or_default());
        }
        let result = self.report(PodView::Started(state)).await;
        for event in events_of_state(state) {
            self.record(event);
        }
        result
    }

    /// Writes the status if it has changed.
    async fn report(&mut self, view: PodView<'_>) -> ReportResult {
        let Some(pod) = self.current_pod() else { return ReportResult::Done };
        if is_newer(&pod.metadata.resource_version, &self.reported_version) {
            self.reported_version = pod.metadata.resource_version.clone();
            pod_status::merge_conditions(&mut self.reported, &pod.status);
        }
        let mut result = self.write_status(&pod, view).await;
        // Another program has changed the Pod, or an earlier write succeeded without a response.
        if result.as_ref().is_err_and(ApiError::is_conflict) {
            result = match self.context.api.find(&pod).await {
                Ok(Some(found)) => {
                    self.set_reported(&found);
                    self.write_status(&found, view).await
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
        }
        match result {
            Ok(()) => ReportResult::Done,
            Err(error) => {
                let name = &pod.metadata.name;
                let namespace = &pod.metadata.namespace;
                tracing::warn!(namespace, name, %error, "could not write a Pod's status; retrying");
                ReportResult::Retry
            }
        }
    }

    fn set_reported(&mut self, pod: &Pod) {
        self.reported = pod.status.clone();
        self.reported_version = pod.metadata.resource_version.clone();
    }

    /// Writes the status if it differs from the one that was written or read last.
    async fn write_status(&mut self, pod: &Pod, view: PodView<'_>) -> Result<(), ApiError> {
        let now = self.context.clock.now();
        let status = pod_status::pod_status(pod, &self.reported, view, now);
        let Some(status) = status.filter(|status| *status != self.reported) else { return Ok(()) };
        let api = &self.context.api;
        let written =
            api.write_status(pod, &self.reported_version, &self.reported, &status).await?;
        self.reported = status;
        if let Some(version) = written {
            self.reported_version = version;
        }
        Ok(())
    }

    /// Reports that the Pod has failed without running.
    async fn report_failure(&mut self, cause: &ReasonAndMessage) {
        self.record(PendingEvent::warning("Failed", cause.message.clone()));
        while self.report(PodView::Failed(cause)).await == ReportResult::Retry {
            sleep(RETRY_DELAY).await;
        }
    }

    /// Records an Event unless this worker has recorded it already.
    fn record(&mut self, event: PendingEvent) {
        let Some(pod) = &self.pod else { return };
        if self.recorded.insert(&event) {
            self.context.recorder.record(&pod_reference(pod), &event);
        }
    }

    // The end.

    /// Deletes the object if it is to be deleted, and the data if the object is deleted.
    async fn finish(&mut self) -> WorkerEnd {
        let Some(pod) = self.current_pod() else {
            if let Err(error) = self.context.runtime.remove(&self.uid).await {
                tracing::warn!(uid = self.uid, %error, "could not remove the data of a deleted Pod");
            }
            return WorkerEnd::Removed;
        };
        if pod.metadata.deletion_timestamp.is_some() {
            while let Err(error) = self.context.api.delete(&pod).await {
                let name = &pod.metadata.name;
                let namespace = &pod.metadata.namespace;
                tracing::warn!(namespace, name, %error, "could not delete a Pod; retrying");
                sleep(RETRY_DELAY).await;
            }
        }
        WorkerEnd::Settled { resource_version: pod.metadata.resource_version.clone() }
    }
}
