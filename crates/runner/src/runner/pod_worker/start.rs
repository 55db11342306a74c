//! Prepares a Pod: exactly once, when it has a permit, and only while it is wanted.

use std::sync::Arc;

use punctual_api::Pod;
use punctual_api::event::PendingEvent;
use tokio::time::sleep;

use super::{PodWorker, RETRY_DELAY, ReportResult};
use crate::pod_state::{ReasonAndMessage, reasons};
use crate::prepare::{MissingReference, PrepareError};
use crate::runner::created_at;
use crate::runner::pod_status::PodView;

/// The result of one try to prepare a Pod.
enum PrepareResult {
    Prepared,
    /// The Pod was deleted or is being deleted.
    Unwanted,
    MissingReference(MissingReference),
    Unsupported(String),
    /// The Pod may have run, and its data is lost.
    Lost,
    Retry,
}

impl PodWorker {
    /// Prepares the Pod as soon as possible. Returns false if it is not to run.
    pub(super) async fn prepare(&mut self) -> bool {
        if !self.is_startable().await {
            return false;
        }
        loop {
            if !self.wait_for_permit().await {
                return false;
            }
            match Box::pin(self.try_prepare()).await {
                PrepareResult::Prepared => return true,
                PrepareResult::Unwanted => return false,
                PrepareResult::Unsupported(message) => {
                    self.report_failure(&ReasonAndMessage::new("UnsupportedPod", message)).await;
                    return false;
                }
                PrepareResult::Lost => {
                    self.report_lost().await;
                    return false;
                }
                PrepareResult::MissingReference(missing) => self.wait_for_reference(&missing).await,
                PrepareResult::Retry => {
                    self.start_in_progress = None;
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    /// Whether the Pod may be started. A Pod that was started before and whose data is lost must not be
    /// started again; it is reported as failed.
    async fn is_startable(&mut self) -> bool {
        let Some(pod) = self.wanted_pod() else { return false };
        if pod.status.is_terminal() {
            return false;
        }
        if pod.status.start_time.is_none() && !self.was_prepared {
            return true;
        }
        self.report_lost().await;
        false
    }

    async fn report_lost(&mut self) {
        let message = "The Pod was started before, and what became of it is not known";
        self.report_failure(&ReasonAndMessage::new(reasons::UNKNOWN, message)).await;
    }

    /// The Pod; `None` if it was deleted or is being deleted.
    fn wanted_pod(&mut self) -> Option<Arc<Pod>> {
        self.current_pod().filter(|pod| pod.metadata.deletion_timestamp.is_none())
    }

    /// Waits until the Pod may run. Returns false if it is no longer wanted.
    async fn wait_for_permit(&mut self) -> bool {
        let Some(pod) = self.wanted_pod() else { return false };
        let permit = self.permit.take();
        let mut permit = permit.unwrap_or_else(|| self.context.permits.enqueue(created_at(&pod)));
        while !permit.is_granted() {
            let message = "as many Pods as may run at a time are running; this one is in line";
            let cause = ReasonAndMessage::new("TooManyPods", message);
            let reported = self.report(PodView::Waiting(&cause)).await;
            tokio::select! {
                biased;
                () = permit.granted() => {}
                Ok(()) = self.desired.changed() => {}
                () = sleep(RETRY_DELAY), if reported == ReportResult::Retry => {}
            }
            if self.wanted_pod().is_none() {
                return false;
            }
        }
        self.permit = Some(permit);
        self.start_in_progress = Some(self.context.start_priority.begin_start());
        true
    }

    async fn try_prepare(&mut self) -> PrepareResult {
        let Some(pod) = self.wanted_pod() else { return PrepareResult::Unwanted };
        let context = self.context.clone();
        // The watch may lag, and a deleted Pod must not be started.
        match context.api.find(&pod).await {
            Ok(Some(pod)) if pod.metadata.deletion_timestamp.is_none() => {}
            Ok(_) => return PrepareResult::Unwanted,
            Err(_) => return PrepareResult::Retry,
        }
        let Ok(references) = context.api.references(&pod).await else {
            return PrepareResult::Retry;
        };
        match context.runtime.prepare(pod, references).await {
            Ok(()) => PrepareResult::Prepared,
            Err(PrepareError::MissingReference(missing)) => {
                PrepareResult::MissingReference(missing)
            }
            Err(PrepareError::Unsupported(message)) => PrepareResult::Unsupported(message),
            Err(PrepareError::Lost) => PrepareResult::Lost,
            Err(PrepareError::Io(error)) => {
                self.record(PendingEvent::warning("FailedCreatePodSandBox", error.to_string()));
                PrepareResult::Retry
            }
        }
    }

    /// Returns the permit and waits until a missing reference changes.
    async fn wait_for_reference(&mut self, missing: &MissingReference) {
        self.permit = None;
        self.start_in_progress = None;
        let is_env = missing.reason == reasons::CONFIG_ERROR;
        let reason = if is_env { "Failed" } else { "FailedMount" };
        self.record(PendingEvent::warning(reason, format!("Error: {}", missing.message)));
        let cause = ReasonAndMessage::new(missing.reason, missing.message.clone());
        let context = self.context.clone();
        while let Some(pod) = self.wanted_pod() {
            let reported = self.report(PodView::Waiting(&cause)).await;
            tokio::select! {
                biased;
                () = context.api.wait_for_change(&pod.metadata.namespace, missing) => return,
                Ok(()) = self.desired.changed() => {}
                () = sleep(RETRY_DELAY), if reported == ReportResult::Retry => {}
            }
        }
    }
}
