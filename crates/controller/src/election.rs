//! Leader election: of several processes, only the one that holds a Lease does the work.
//!
//! ```text
//!  elect_loop: Elector ⇄ Lease ──▶ Fence ──▶ terms: the work, started anew in each
//! ```
//!
//! [`punctual_lease`] holds the rules; this module makes the calls. The [fence](crate::Fence) is checked before
//! every write, and limits how long a call may take so that it ends before another process can lead.
//!
//! **The work starts with the term, not before.** A standby with warm caches could take over faster, but its
//! caches may lag behind. If a standby missed that a slot (a scheduled time) was started, recorded and finished and its Job deleted, it
//! would see the slot as pending and the name as free, and would run the slot again: names and resource
//! versions protect writes, not decisions based on the absence of a Job. So each term starts with
//! consistent lists (without `resourceVersion`) that are requested after the Lease was written. The writes of the
//! previous leader are complete by then, so the lists include them. Later changes in the term are our own, and
//! their responses update the cache. Listing ten thousand objects takes less than a second, and a standby
//! costs the server only an occasional read of the Lease.
//!
//! For the same reason no state survives a term. When a term is lost, its work is dropped, and the
//! fence of that term never opens again. The next leader starts as after a crash, even if it is the same process.
//!
//! On an orderly stop the work finishes first, and then the Lease is released so that a successor need
//! not wait. If the work had to be aborted, the Lease is kept until it expires, because the server may still
//! process a call of ours.
//!
//! The fence cannot stop a request that was sent in time and then stays in the network for longer than the
//! slack, after its connection was closed. The name of the Job stops it, unless the slot's Job was
//! created and deleted in between; see `LateCreateWindow`.

mod elect_loop;
mod lease_access;
mod lease_client;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use punctual_api::lease::Lease;
use punctual_api::meta::ObjectReference;
use punctual_client::Fence;
use punctual_client::resources::LEASES;
use punctual_engine::PendingEvent;
use punctual_lease::{ConfigError, ElectionConfig, Elector};
use tokio_util::sync::CancellationToken;

use self::elect_loop::ElectLoop;
pub use self::lease_access::{LeaseAccess, LeaseAccessError};
use self::lease_client::LeaseClient;
use crate::context::Context;
use crate::metrics::Metrics;

/// How long the work may take to finish after a stop.
const FINISH_TIMEOUT: Duration = Duration::from_secs(4);

/// How long releasing the Lease may take.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// The `name` label of the leader metric.
const METRIC_NAME: &str = "punctual";

/// Exports the leader gauge as 0 before the first campaign, so that a count of leaders includes
/// this process from its start.
pub fn export_standby(metrics: &Metrics) {
    metrics.set_leader(METRIC_NAME, false);
}

/// A candidate of a leader election.
#[derive(Clone)]
pub struct Election {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The identity of this process. It must differ from that of an earlier process on the same host.
    pub identity: String,
    /// The durations.
    pub config: ElectionConfig,
    /// A source of random numbers for retry jitter, so that replicas that start together do not retry together.
    pub random: Arc<dyn Fn() -> u32 + Send + Sync>,
    /// Records whether the Lease can be read and written.
    pub access: LeaseAccess,
}

/// Runs `work` in every term in which this process leads, until `stop` is cancelled.
///
/// `work` gets a context whose fence is open for one term, and the stop token. It is dropped when the term is
/// lost. The election opens and closes the fence of `context`, so clones of a [closed](Fence::closed) fence show
/// whether this process leads. A fence that is [always open](Fence::always_open) is replaced by a closed one.
pub async fn run_elected<W, F>(
    context: Context,
    election: Election,
    work: W,
    stop: CancellationToken,
) -> Result<(), ConfigError>
where
    W: Fn(Context, CancellationToken) -> F,
    F: Future<Output = ()>,
{
    let elector = Elector::new(election.config, election.identity.clone())?;
    let fence = if context.fence.is_always_open() {
        Fence::closed(context.clock.clone())
    } else {
        context.fence.clone()
    };
    let context = Context { fence: fence.clone(), ..context };
    let release = CancellationToken::new();
    let elect_loop = ElectLoop {
        elector,
        lease: LeaseClient::new(&context, &election),
        fence: fence.clone(),
        clock: context.clock.clone(),
        election: election.clone(),
    };
    let mut electing = pin!(elect_loop.run(release.clone()));
    let candidate = Candidate { context, election, work };
    let is_finished = tokio::select! {
        biased;
        // The loop ends only after `release` is cancelled.
        () = &mut electing => false,
        is_finished = candidate.run_terms(&stop) => is_finished,
    };
    if is_finished {
        release.cancel();
        // If the release fails, the Lease expires.
        let _ = tokio::time::timeout(RELEASE_TIMEOUT, electing).await;
    }
    fence.set_term_end(None, Duration::ZERO);
    Ok(())
}

/// Runs the work whenever this process leads.
struct Candidate<W> {
    context: Context,
    election: Election,
    work: W,
}

/// How a term ended.
enum TermEnd {
    /// The Lease was lost and the work was aborted.
    Lost,
    /// A stop was requested and the work finished.
    Finished,
    /// A stop was requested and the work was aborted because it took too long.
    Aborted,
}

impl<W, F> Candidate<W>
where
    W: Fn(Context, CancellationToken) -> F,
    F: Future<Output = ()>,
{
    /// Runs the work in every term until a stop is requested. Returns whether all work has finished, so that
    /// no call is under way.
    async fn run_terms(&self, stop: &CancellationToken) -> bool {
        let mut is_finished = true;
        self.context.metrics.set_leader(METRIC_NAME, false);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return is_finished,
                () = self.context.fence.wait_open() => {}
            }
            match self.run_term(stop).await {
                TermEnd::Lost => is_finished = false,
                TermEnd::Finished => return true,
                TermEnd::Aborted => return false,
            }
        }
    }

    /// Runs the work until it ends or the fence closes.
    async fn run_term(&self, stop: &CancellationToken) -> TermEnd {
        let Election { namespace, name: lease, identity, .. } = &self.election;
        let metrics = &self.context.metrics;
        tracing::info!(namespace, lease, identity, "became leader");
        metrics.set_leader(METRIC_NAME, true);
        let over = CancellationToken::new();
        let fence = self.context.fence.for_current_term(over.clone());
        let end = {
            let context = Context { fence: fence.clone(), ..self.context.clone() };
            let mut work = Box::pin(self.announce_and_work(context, stop));
            // Dropped before the work, so that calls the work makes while it is dropped are refused.
            let _over = over.drop_guard();
            tokio::select! {
                biased;
                () = fence.wait_closed() => TermEnd::Lost,
                () = &mut work => TermEnd::Finished,
                () = finish_timeout(stop) => TermEnd::Aborted,
            }
        };
        metrics.set_leader(METRIC_NAME, false);
        match end {
            TermEnd::Lost => {
                tracing::warn!(
                    namespace,
                    lease,
                    identity,
                    "lost leader election; another replica takes over; trying to lead again"
                );
            }
            TermEnd::Finished => tracing::info!(namespace, lease, identity, "stopped leading"),
            TermEnd::Aborted => {
                tracing::warn!(
                    namespace,
                    lease,
                    identity,
                    "stopped leading with work unfinished; the next leader waits until the Lease expires"
                );
            }
        }
        end
    }

    async fn announce_and_work(&self, context: Context, stop: &CancellationToken) {
        let work = (self.work)(context.clone(), stop.clone());
        tokio::join!(self.announce(&context), work);
    }

    /// Records the same event about the Lease as Kubernetes' own controllers do.
    async fn announce(&self, context: &Context) {
        let Election { namespace, name, identity, .. } = &self.election;
        let path = LEASES.object_path(namespace, name);
        let Ok(lease) = context.api_client().get::<Lease>(&path).await else { return };
        let about = ObjectReference {
            kind: LEASES.kind.to_owned(),
            namespace: namespace.clone(),
            name: name.clone(),
            uid: lease.metadata.uid,
            api_version: LEASES.api_version(),
            resource_version: lease.metadata.resource_version,
            field_path: String::new(),
        };
        let stop_recording = CancellationToken::new();
        let (recorder, recording) = context.recorder("punctual-controller", stop_recording.clone());
        recorder.record(
            &about,
            &PendingEvent::normal("LeaderElection", format!("{identity} became leader")),
        );
        stop_recording.cancel();
        recording.await;
    }
}

/// Returns [`FINISH_TIMEOUT`] after a stop was requested.
async fn finish_timeout(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(FINISH_TIMEOUT).await;
}
