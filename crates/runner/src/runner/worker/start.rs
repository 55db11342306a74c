//! How a Pod comes to be started: exactly once, in its turn, and only while it is wanted.

use std::io;
use std::sync::Arc;

use punctual_api::Pod;
use tokio::time::sleep;

use super::{Outcome, RETRY, Worker};
use crate::prepare::{self, PrepareError, Unmet};
use crate::runner::created_at;
use crate::runner::events::Note;
use crate::runner::report::View;
use crate::state::{Fault, reasons};

/// What came of an attempt.
enum Attempt {
    Prepared,
    /// It is not wanted any more.
    Unwanted,
    Unmet(Unmet),
    Refused(String),
    Retry,
}

impl Worker {
    /// Prepares the Pod as soon as it may; false if it is not to run.
    pub(super) async fn start(&mut self) -> bool {
        if !self.is_startable().await {
            return false;
        }
        loop {
            if !self.wait_for_turn().await {
                return false;
            }
            match Box::pin(self.attempt()).await {
                Attempt::Prepared => return true,
                Attempt::Unwanted => return false,
                Attempt::Refused(why) => {
                    self.fail(&Fault::new("UnsupportedPod", why)).await;
                    return false;
                }
                Attempt::Unmet(unmet) => self.wait_for(&unmet).await,
                Attempt::Retry => sleep(RETRY).await,
            }
        }
    }

    /// A Pod that was started before and whose folder is lost is not started again.
    async fn is_startable(&mut self) -> bool {
        let Some(pod) = self.wanted() else { return false };
        if pod.status.is_terminal() {
            return false;
        }
        if pod.status.start_time.is_none() && !self.is_begun {
            return true;
        }
        let message = "The Pod was started before, and what became of it is not known";
        self.fail(&Fault::new(reasons::UNKNOWN, message)).await;
        false
    }

    /// The Pod, if it is there and is to stay.
    fn wanted(&mut self) -> Option<Arc<Pod>> {
        let is_known = self.look();
        self.pod.clone().filter(|pod| is_known && pod.metadata.deletion_timestamp.is_none())
    }

    /// Waits until the Pod may run; false if it is not wanted any more.
    async fn wait_for_turn(&mut self) -> bool {
        let Some(pod) = self.wanted() else { return false };
        let mut slot =
            self.slot.take().unwrap_or_else(|| self.context.slots.enter(created_at(&pod)));
        while !slot.is_granted() {
            let message = "as many Pods as may run at a time are running; this one is in line";
            let fault = Fault::new("TooManyPods", message);
            let outcome = self.report(View::Waiting(&fault)).await;
            tokio::select! {
                () = slot.granted() => {}
                Ok(()) = self.desired.changed() => {}
                () = sleep(RETRY), if outcome == Outcome::Retry => {}
            }
            if self.wanted().is_none() {
                return false;
            }
        }
        self.slot = Some(slot);
        true
    }

    async fn attempt(&mut self) -> Attempt {
        let Some(pod) = self.wanted() else { return Attempt::Unwanted };
        let cluster = &self.context.cluster;
        // The watch may lag behind, and a Pod that is gone must not be started.
        match cluster.pod(&pod).await {
            Ok(Some(pod)) if pod.metadata.deletion_timestamp.is_none() => {}
            Ok(_) => return Attempt::Unwanted,
            Err(_) => return Attempt::Retry,
        }
        let Ok(sources) = cluster.sources(&pod).await else { return Attempt::Retry };
        let (folder, context) = (self.folder.clone(), self.context.clone());
        let prepared = tokio::task::spawn_blocking(move || {
            prepare::prepare(&pod, &sources, &folder, &context.settings)
        });
        match prepared.await.unwrap_or_else(|error| Err(io::Error::other(error).into())) {
            Ok(()) => Attempt::Prepared,
            Err(PrepareError::Unmet(unmet)) => Attempt::Unmet(unmet),
            Err(PrepareError::Refused(why)) => Attempt::Refused(why),
            Err(PrepareError::Io(error)) => {
                self.tell(Note::warning("FailedCreatePodSandBox", error.to_string()));
                Attempt::Retry
            }
        }
    }

    /// Waits for what the Pod refers to, and leaves its place to others meanwhile.
    async fn wait_for(&mut self, unmet: &Unmet) {
        self.slot = None;
        let reason = if unmet.reason == reasons::CONFIG_ERROR { "Failed" } else { "FailedMount" };
        self.tell(Note::warning(reason, format!("Error: {}", unmet.message)));
        let fault = Fault::new(unmet.reason, unmet.message.clone());
        let Some(pod) = self.pod.clone() else { return };
        while self.wanted().is_some() {
            let outcome = self.report(View::Waiting(&fault)).await;
            let context = self.context.clone();
            tokio::select! {
                () = context.cluster.changed(&pod.metadata.namespace, unmet) => return,
                Ok(()) = self.desired.changed() => {}
                () = sleep(RETRY), if outcome == Outcome::Retry => {}
            }
        }
    }
}
