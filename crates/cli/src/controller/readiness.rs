//! Whether this process can do its work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use punctual_controller::{Fence, Signals};
use punctual_server::NotReady;

/// Kubelets wait a second, unless they are told otherwise; a standby asks its cluster.
const PROBE_TIMEOUT: Duration = Duration::from_millis(900);

/// What has to be looked at.
#[derive(Clone)]
pub(super) struct ReadinessCheck {
    pub(super) client: Client,
    pub(super) fence: Fence,
    pub(super) signals: Signals,
    /// Whether there is anything to look after.
    pub(super) has_started: Arc<AtomicBool>,
}

impl ReadinessCheck {
    /// Who leads is ready when something is listed; who waits when it could lead, for which it must
    /// reach the cluster.
    pub(super) fn check(&self) -> BoxFuture<'static, Result<(), NotReady>> {
        let ReadinessCheck { client, fence, signals, has_started } = self.clone();
        Box::pin(async move {
            if !has_started.load(Ordering::Relaxed) {
                return Err(NotReady::new(
                    "nothing to look after yet; the log says what is missing",
                ));
            }
            match fence.allows() {
                true if signals.is_synced() => Ok(()),
                true => Err(NotReady::new("what there is has not been listed yet")),
                false => {
                    match tokio::time::timeout(PROBE_TIMEOUT, client.apiserver_version()).await {
                        Ok(Ok(_)) => Ok(()),
                        Ok(Err(error)) => {
                            Err(NotReady(format!("the cluster cannot be reached: {error}")))
                        }
                        Err(_) => Err(NotReady::new("the cluster does not answer")),
                    }
                }
            }
        })
    }
}
