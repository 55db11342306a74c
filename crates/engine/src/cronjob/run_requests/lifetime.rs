//! When a RunRequest ends without its target, and when it is deleted.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_api::RunRequest;
use punctual_api::run_request::condition_reason;

use super::draft::{RequestDraft, RequestKey, RequestUpdate};

/// What to do about the RunRequests of one target.
#[derive(Clone, Debug, Default)]
pub struct RequestPlan {
    /// The statuses to write.
    pub updates: Vec<RequestUpdate>,
    /// The requests to delete, because their time to live has passed.
    pub to_delete: Vec<RequestKey>,
    /// When the next one has to be deleted.
    pub wake_at: Option<Timestamp>,
}

impl RequestPlan {
    /// Adds what drafts have to write, and the ends of requests.
    pub(crate) fn from_drafts(drafts: Vec<RequestDraft>, now: Timestamp) -> RequestPlan {
        let mut plan = RequestPlan::default();
        for draft in drafts {
            plan.add_expiry(&draft.request, now);
            plan.updates.extend(draft.into_update());
        }
        plan
    }

    /// Deletes a finished request when its time to live has passed.
    fn add_expiry(&mut self, request: &RunRequest, now: Timestamp) {
        let Some(completed_at) = request.status.completion_time else { return };
        let metadata = &request.metadata;
        if metadata.deletion_timestamp.is_some() {
            return;
        }
        let ttl = SignedDuration::from_secs(request.spec.ttl_seconds());
        let expires_at = completed_at.timestamp().checked_add(ttl).unwrap_or(Timestamp::MAX);
        if expires_at <= now {
            let name = metadata.name.clone();
            self.to_delete.push(RequestKey { name, uid: metadata.uid.clone() });
        } else {
            self.wake_at = Some(self.wake_at.map_or(expires_at, |wake| wake.min(expires_at)));
        }
    }
}

/// Plans the requests whose target does not exist. Accepted ones end; the others wait for the target.
pub fn plan_without_target(
    requests: &[Arc<RunRequest>],
    is_kind_managed: bool,
    now: Timestamp,
) -> RequestPlan {
    let plan_one = |request: &Arc<RunRequest>| {
        let mut draft = RequestDraft::new(request, now);
        let target = &request.spec.target.name;
        if request.is_finished() {
            return draft;
        }
        if request.is_accepted() {
            draft.finish(condition_reason::TARGET_DELETED, now);
        } else if is_kind_managed {
            let message = format!("there is no CronJob {target:?} of this kind in this namespace");
            draft.refuse(condition_reason::TARGET_NOT_FOUND, &message);
        } else {
            let message = "this controller does not manage CronJobs of this kind; create a Job with \
                           `kubectl create job --from` instead";
            draft.refuse(condition_reason::KIND_NOT_MANAGED, message);
        }
        draft
    };
    RequestPlan::from_drafts(requests.iter().map(plan_one).collect(), now)
}
