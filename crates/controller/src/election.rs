//! One of several processes does the work: whoever holds a Lease.
//!
//! ```text
//!  campaign: Elector ⇄ Lease ──▶ Fence ──▶ terms: the work, begun anew in each
//! ```
//!
//! The rules are those of [`punctual_lease`]; here they are carried out. What that crate leaves to
//! its shell is done by the [fence](crate::Fence): it is asked before every effect, and gives each
//! an end that comes before another may lead.
//!
//! **The work begins with the term, not before.** A standby that watched all the time could take
//! over at once, but with a picture as old as its watches are behind. If it missed that a slot was
//! run, recorded, finished and its Job deleted, it would find the slot due and the name free, and
//! run it again: names and versions guard what is written, not what is decided on the absence of a
//! Job. So a term begins with lists, which are consistent reads (no `resourceVersion`), asked for
//! after the Lease was written. By then the effects of whoever led before are over, so they are in
//! the lists. What happens later in the term is done by us, and goes into the cache with its answer.
//! Ten thousand objects are listed in less than a second, and standbys cost the server a read of the
//! Lease now and then, and no watches.
//!
//! For the same reason nothing is kept from one term to the next: the work of a term that is lost is
//! dropped where it stands, and what is left of it stays outside the fence for good. Whoever leads
//! next, we or another, begins as after a crash.
//!
//! Whoever stops in order ends the work first and gives the Lease back then, so that a successor need
//! not wait. If the work had to be cut off, the Lease is kept until it expires: the server may still be
//! at a call whose answer nobody waits for.
//!
//! What this cannot see is a request that was sent in time and is held up on its way for longer than
//! the whole slack, after its connection was closed. The Job's name stops it, unless the slot was
//! run and its Job removed in between.

mod campaign;
mod lease_calls;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use punctual_api::lease::Lease;
use punctual_api::meta::ObjectReference;
use punctual_engine::Note;
use punctual_lease::{Config, ConfigError, Elector};
use tokio_util::sync::CancellationToken;

use self::campaign::Campaign;
use self::lease_calls::{API_VERSION, KIND, LeaseCalls, lease_path};
use crate::cron_jobs::{CronJobs, run_cron_jobs};
use crate::fence::Fence;
use crate::metrics::Metrics;
use crate::recorder::Recorder;
use crate::tools::Tools;

/// How long the work may take to end in order.
const FINISH_MAX: Duration = Duration::from_secs(4);

/// How long giving the Lease back may take.
const RELEASE_MAX: Duration = Duration::from_secs(1);

/// The name of the election in the counters.
const NAME: &str = "punctual";

/// Says that this process does not lead yet: those who count leaders see one that never comes so far as to
/// stand for election, too.
pub fn stand_by(metrics: &Metrics) {
    metrics.leader(NAME, false);
}

/// Who stands for election, and for what.
#[derive(Clone)]
pub struct Election {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Who we are: this process, and not the one before it under the same name.
    pub identity: String,
    /// The durations.
    pub config: Config,
    /// Chance, so that those who started together do not go on in step.
    pub dice: Arc<dyn Fn() -> u32 + Send + Sync>,
}

/// Looks after CronJobs whenever it leads, until told to stop.
///
/// The fence of the tools is opened and closed as the election goes, so clones of one that is
/// [shut](Fence::shut) tell whether we lead. One that is [open](Fence::open) is not used.
pub async fn run_elected(
    tools: Tools,
    config: CronJobs,
    election: Election,
    stop: CancellationToken,
) -> Result<(), ConfigError> {
    let elector = Elector::new(election.config, election.identity.clone())?;
    let fence = match tools.fence.is_always_open() {
        true => Fence::shut(tools.clock.clone()),
        false => tools.fence.clone(),
    };
    let tools = Tools { fence: fence.clone(), ..tools };
    let release = CancellationToken::new();
    let campaign = Campaign {
        elector,
        lease: LeaseCalls::new(&tools, &election),
        fence: fence.clone(),
        clock: tools.clock.clone(),
        election: election.clone(),
    };
    let mut campaign = pin!(campaign.run(release.clone()));
    let candidate = Candidate { tools, config, election };
    let is_over = tokio::select! {
        biased;
        // It does not end before it is told to.
        () = &mut campaign => false,
        is_over = candidate.serve(&stop) => is_over,
    };
    if is_over {
        release.cancel();
        // A Lease that is not given back expires.
        let _ = tokio::time::timeout(RELEASE_MAX, campaign).await;
    }
    fence.set(None, Duration::ZERO);
    Ok(())
}

/// Who works whenever it leads.
struct Candidate {
    tools: Tools,
    config: CronJobs,
    election: Election,
}

/// How a term ended.
enum End {
    /// The Lease was lost; the work was cut off.
    Lost,
    /// We were told to stop, and the work is over.
    Finished,
    /// We were told to stop, and the work was cut off.
    CutOff,
}

impl Candidate {
    /// Works in every term until told to stop. Whether nothing is under way then for sure.
    async fn serve(&self, stop: &CancellationToken) -> bool {
        let mut is_over = true;
        self.tools.metrics.leader(NAME, false);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return is_over,
                () = self.tools.fence.opened() => {}
            }
            match self.term(stop).await {
                End::Lost => is_over = false,
                End::Finished => return true,
                End::CutOff => return false,
            }
        }
    }

    /// Works for as long as the fence lets it.
    async fn term(&self, stop: &CancellationToken) -> End {
        let Tools { metrics, haste, fence, .. } = &self.tools;
        tracing::info!(identity = self.election.identity, "leads");
        metrics.leader(NAME, true);
        let over = CancellationToken::new();
        let fence = fence.for_work(over.clone());
        let end = {
            let tools = Tools { fence: fence.clone(), ..self.tools.clone() };
            let mut work = Box::pin(self.work(tools, stop));
            // Dropped before the work is: whatever is left of it then is outside already.
            let _over = over.drop_guard();
            tokio::select! {
                biased;
                () = fence.closed() => End::Lost,
                () = &mut work => End::Finished,
                () = too_late(stop) => End::CutOff,
            }
        };
        metrics.leader(NAME, false);
        // What is known of the CronJobs is known no more, and none of them waits for us.
        metrics.cron_jobs(0);
        haste.set(false);
        tracing::info!(identity = self.election.identity, "leads no more");
        end
    }

    async fn work(&self, tools: Tools, stop: &CancellationToken) {
        let working = run_cron_jobs(tools.clone(), self.config.clone(), stop.clone());
        tokio::join!(self.announce(&tools), working);
    }

    /// Tells who leads, with an event about the Lease as Kubernetes' own controllers write it.
    async fn announce(&self, tools: &Tools) {
        let Election { namespace, name, identity, .. } = &self.election;
        let Ok(lease) = tools.calls().get::<Lease>(&lease_path(namespace, name)).await else {
            return;
        };
        let about = ObjectReference {
            kind: KIND.to_owned(),
            namespace: namespace.clone(),
            name: name.clone(),
            uid: lease.metadata.uid,
            api_version: API_VERSION.to_owned(),
            resource_version: lease.metadata.resource_version,
            field_path: String::new(),
        };
        let silence = CancellationToken::new();
        let (recorder, recording) = Recorder::new(tools, "punctual-controller", silence.clone());
        recorder.note(&about, &Note::normal("LeaderElection", format!("{identity} became leader")));
        silence.cancel();
        recording.await;
    }
}

/// Returns when whoever was told to stop has had enough time.
async fn too_late(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(FINISH_MAX).await;
}
