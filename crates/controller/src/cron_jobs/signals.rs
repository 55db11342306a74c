//! What the CronJob controller reports to the process that runs it: whether it is synced, and
//! whether a competing controller was seen.

use tokio::sync::watch;

use crate::competing_controller::CompetingController;

/// State of a CronJob controller for readiness checks and supervision. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    synced: watch::Sender<bool>,
    competing_controller: watch::Sender<Option<CompetingController>>,
}

impl Signals {
    /// Whether at least one scope finished its first list, so that its CronJobs are reconciled.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until a competing controller writes the status of a CronJob that we reconcile.
    pub async fn competing_controller(&self) -> CompetingController {
        let mut receiver = self.competing_controller.subscribe();
        loop {
            if let Some(controller) = &*receiver.borrow_and_update() {
                return controller.clone();
            }
            // The channel cannot close because `self` holds a sender.
            let _ = receiver.changed().await;
        }
    }

    /// Reports the controller as synced until the guard is dropped.
    pub(super) fn set_synced(&self) -> SyncedGuard {
        self.synced.send_replace(true);
        SyncedGuard(self.synced.clone())
    }

    pub(super) fn report_competing_controller(&self, controller: CompetingController) {
        self.competing_controller.send_replace(Some(controller));
    }
}

/// Reports the controller as not synced when it is dropped, even if its work is cancelled.
pub(super) struct SyncedGuard(watch::Sender<bool>);

impl Drop for SyncedGuard {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}
