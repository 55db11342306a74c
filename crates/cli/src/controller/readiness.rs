//! The readiness check behind /readyz.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use punctual_controller::{Fence, Signals};
use punctual_server::NotReady;

/// The deadline for the request of a standby. The default timeout of a kubelet probe is one second.
const PROBE_TIMEOUT: Duration = Duration::from_millis(900);

/// The inputs of the readiness check.
#[derive(Clone)]
pub(super) struct ReadinessCheck {
    pub(super) client: Client,
    pub(super) fence: Fence,
    pub(super) signals: Signals,
    /// Whether the cluster serves at least one of the requested kinds.
    pub(super) has_started: Arc<AtomicBool>,
}

impl ReadinessCheck {
    /// A leader is ready once its objects are listed. A standby is ready while it reaches the cluster,
    /// because it could then become the leader.
    pub(super) fn check(&self) -> BoxFuture<'static, Result<(), NotReady>> {
        let ReadinessCheck { client, fence, signals, has_started } = self.clone();
        Box::pin(async move {
            if !has_started.load(Ordering::Relaxed) {
                return Err(NotReady::new(
                    "the cluster serves none of the requested kinds yet; see the log",
                ));
            }
            if fence.is_open() {
                if !signals.is_synced() {
                    return Err(NotReady::new("the objects have not been listed yet"));
                }
                return Ok(());
            }
            match tokio::time::timeout(PROBE_TIMEOUT, client.apiserver_version()).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(NotReady(format!("could not reach the cluster: {error}"))),
                Err(_) => {
                    Err(NotReady(format!("the cluster did not respond within {PROBE_TIMEOUT:?}")))
                }
            }
        })
    }
}
