//! Whether a Job has come to its end, and which. Failure is looked for before success, and what was
//! once recorded stands: the interim condition (`FailureTarget`, `SuccessCriteriaMet`) is
//! written before any Pod goes, the final one (`Failed`, `Complete`) when the last is gone.

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::{JobCondition, condition};

use super::failure_policy::{self, FailureAction};
use super::job_params::JobParams;
use super::pod_summary::PodSummary;
use super::pod_view::{PodPhase, PodView};
use super::reasons;
use super::success_policy;

/// The end of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FinishedCondition {
    pub(super) has_failed: bool,
    pub(super) reason: String,
    pub(super) message: String,
    /// Whether the interim condition is in the status already.
    pub(super) is_recorded: bool,
}

impl FinishedCondition {
    fn failure(reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        FinishedCondition { has_failed: true, reason, message, is_recorded: false }
    }

    fn success(reason: &str, message: impl Into<String>) -> Self {
        FinishedCondition { has_failed: false, ..FinishedCondition::failure(reason, message) }
    }

    fn recorded(condition: &JobCondition, has_failed: bool) -> Self {
        let (reason, message) = (condition.reason.clone(), condition.message.clone());
        FinishedCondition { has_failed, reason, message, is_recorded: true }
    }

    /// Type of the condition that is written first.
    pub(super) fn interim(&self) -> &'static str {
        if self.has_failed { condition::FAILURE_TARGET } else { condition::SUCCESS_CRITERIA_MET }
    }

    /// Type of the condition that ends it.
    pub(super) fn terminal(&self) -> &'static str {
        if self.has_failed { condition::FAILED } else { condition::COMPLETE }
    }
}

/// The end that can be told from the Pods that are there, whatever is done about them.
pub(super) fn reached(
    summary: &PodSummary<'_>,
    started_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<FinishedCondition> {
    recorded(&summary.params)
        .or_else(|| by_failure_policy(summary))
        .or_else(|| by_backoff_limit(summary))
        .or_else(|| by_deadline(&summary.params, started_at, now))
        .or_else(|| by_failed_indexes(summary))
        .or_else(|| by_success_policy(summary))
}

fn recorded(params: &JobParams<'_>) -> Option<FinishedCondition> {
    let find = |kind: &str, has_failed: bool| {
        let condition = params.job.status.condition(kind).filter(|c| c.status == "True")?;
        Some(FinishedCondition::recorded(condition, has_failed))
    };
    find(condition::SUCCESS_CRITERIA_MET, false).or_else(|| find(condition::FAILURE_TARGET, true))
}

fn by_failure_policy(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let params = &summary.params;
    params.job.spec.pod_failure_policy.as_ref()?;
    let failed = summary.pods.iter().filter(|pod| params.has_failed(pod));
    failed.into_iter().find_map(|pod| match params.failure_of(pod) {
        FailureAction::FailJob { rule, cause } => {
            let namespace = &params.job.metadata.namespace;
            let message = failure_policy::message(namespace, pod, rule, &cause);
            Some(FinishedCondition::failure(reasons::POD_FAILURE_POLICY, message))
        }
        _ => None,
    })
}

fn by_backoff_limit(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let limit = summary.params.backoff_limit();
    let is_exceeded = summary.failed > limit || restarted_too_often(summary);
    is_exceeded.then(|| {
        let message = "Job has reached the specified backoff limit";
        FinishedCondition::failure(reasons::BACKOFF_LIMIT_EXCEEDED, message)
    })
}

/// With `restartPolicy: OnFailure`, a restart of a container is a failure that no Pod shows.
fn restarted_too_often(summary: &PodSummary<'_>) -> bool {
    if summary.params.job.spec.template.spec.restart_policy != "OnFailure" {
        return false;
    }
    let may_restart = |pod: &&PodView| matches!(pod.phase, PodPhase::Pending | PodPhase::Running);
    let pods = summary.pods.iter().filter(may_restart);
    let restarts: i64 = pods.map(|pod| pod.restarts.total).sum();
    restarts >= summary.params.backoff_limit().max(1)
}

fn by_deadline(
    params: &JobParams<'_>,
    started_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<FinishedCondition> {
    let ends_at = deadline(params, started_at)?;
    (now >= ends_at).then(|| {
        let message = "Job was active longer than specified deadline";
        FinishedCondition::failure(reasons::DEADLINE_EXCEEDED, message)
    })
}

/// Until when the Job may be active; while it is suspended, that is not limited.
pub(super) fn deadline(params: &JobParams<'_>, started_at: Option<Timestamp>) -> Option<Timestamp> {
    let seconds = params.job.spec.active_deadline_seconds.filter(|_| !params.is_suspended())?;
    started_at?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn by_failed_indexes(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let failed = summary.failed_indexes.as_ref()?.len();
    let failed_max = summary.params.job.spec.max_failed_indexes;
    if failed_max.is_some_and(|max| failed > u64::from(max.max(0).unsigned_abs())) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(FinishedCondition::failure(reasons::MAX_FAILED_INDEXES_EXCEEDED, message));
    }
    let all_ended = failed + summary.succeeded >= u64::from(summary.params.index_limit());
    (failed > 0 && all_ended)
        .then(|| FinishedCondition::failure(reasons::FAILED_INDEXES, "Job has failed indexes"))
}

fn by_success_policy(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let policy = summary.params.job.spec.success_policy.as_ref();
    let limit = summary.params.index_limit();
    let rule = success_policy::rule_met(policy, &summary.succeeded_indexes, limit)?;
    let message = format!("Matched rules at index {rule}");
    Some(FinishedCondition::success(reasons::SUCCESS_POLICY, message))
}

/// The end of a Job that has had its successes, once no Pod is left active. A work queue needs one:
/// the Pod that succeeded knew that there is no more work.
pub(super) fn completed(summary: &PodSummary<'_>, active: usize) -> Option<FinishedCondition> {
    let wanted = summary.params.completions.map_or(1, u64::from);
    (summary.succeeded >= wanted && active == 0).then(|| {
        let message = "Reached expected number of succeeded pods";
        FinishedCondition::success(reasons::COMPLETIONS_REACHED, message)
    })
}
