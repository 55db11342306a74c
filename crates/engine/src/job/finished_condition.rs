//! Decides whether a Job has succeeded or failed, and why.
//!
//! Failure is checked before success, and a recorded result never changes. The interim condition
//! (`FailureTarget`, `SuccessCriteriaMet`) is written before any Pod is deleted, and the final one
//! (`Failed`, `Complete`) after the last Pod has finished.

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::{JobCondition, condition};

use super::failure_policy::{self, FailureAction};
use super::job_params::JobParams;
use super::pod_summary::PodSummary;
use super::pod_view::{PodPhase, PodView};
use super::reasons;
use super::success_policy;

/// The condition of a Job that has succeeded or failed.
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
        FinishedCondition {
            has_failed: true,
            reason: reason.to_owned(),
            message: message.into(),
            is_recorded: false,
        }
    }

    fn success(reason: &str, message: impl Into<String>) -> Self {
        FinishedCondition { has_failed: false, ..FinishedCondition::failure(reason, message) }
    }

    fn recorded(condition: &JobCondition, has_failed: bool) -> Self {
        FinishedCondition {
            has_failed,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            is_recorded: true,
        }
    }

    /// The type of the condition that is written first.
    pub(super) fn interim_type(&self) -> &'static str {
        if self.has_failed { condition::FAILURE_TARGET } else { condition::SUCCESS_CRITERIA_MET }
    }

    /// The type of the condition that marks the Job as finished.
    pub(super) fn final_type(&self) -> &'static str {
        if self.has_failed { condition::FAILED } else { condition::COMPLETE }
    }
}

/// Finds the result that follows from the observed Pods, independent of this step's changes.
pub(super) fn find_finished(
    summary: &PodSummary<'_>,
    started_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<FinishedCondition> {
    find_recorded(&summary.params)
        .or_else(|| check_failure_policy(summary))
        .or_else(|| check_backoff_limit(summary))
        .or_else(|| check_deadline(&summary.params, started_at, now))
        .or_else(|| check_failed_indexes(summary))
        .or_else(|| check_success_policy(summary))
}

fn find_recorded(params: &JobParams<'_>) -> Option<FinishedCondition> {
    let find = |condition_type: &str, has_failed: bool| {
        let condition =
            params.job.status.condition(condition_type).filter(|c| c.status == "True")?;
        Some(FinishedCondition::recorded(condition, has_failed))
    };
    find(condition::SUCCESS_CRITERIA_MET, false).or_else(|| find(condition::FAILURE_TARGET, true))
}

fn check_failure_policy(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let params = &summary.params;
    params.job.spec.pod_failure_policy.as_ref()?;
    let failed = summary.pods.iter().filter(|pod| params.has_failed(pod));
    failed.into_iter().find_map(|pod| match params.failure_action(pod) {
        FailureAction::FailJob { rule, matched } => {
            let namespace = &params.job.metadata.namespace;
            let message = failure_policy::failure_message(namespace, pod, rule, &matched);
            Some(FinishedCondition::failure(reasons::POD_FAILURE_POLICY, message))
        }
        _ => None,
    })
}

fn check_backoff_limit(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let limit = summary.params.backoff_limit();
    let is_exceeded = summary.failed > limit || has_too_many_restarts(summary);
    is_exceeded.then(|| {
        let message = "Job has reached the specified backoff limit";
        let message = match latest_failure(summary) {
            Some(failure) => format!("{message}: {failure}"),
            None => message.to_owned(),
        };
        FinishedCondition::failure(reasons::BACKOFF_LIMIT_EXCEEDED, message)
    })
}

/// Why the Pod failed that failed last, as far as the messages of the Pods say.
fn latest_failure<'a>(summary: &PodSummary<'a>) -> Option<&'a str> {
    let with_failure = summary.pods.iter().filter(|pod| pod.failure.is_some());
    let by_time = |a: &&PodView, b: &&PodView| a.finished_at.cmp(&b.finished_at);
    with_failure.max_by(by_time)?.failure.as_deref()
}

/// Whether containers were restarted too often. With `restartPolicy: OnFailure` a failed container is
/// restarted and the Pod does not fail, so restarts count instead.
fn has_too_many_restarts(summary: &PodSummary<'_>) -> bool {
    if summary.params.job.spec.template.spec.restart_policy != "OnFailure" {
        return false;
    }
    let may_restart = |pod: &&PodView| matches!(pod.phase, PodPhase::Pending | PodPhase::Running);
    let pods = summary.pods.iter().filter(may_restart);
    let restarts: i64 = pods.map(|pod| pod.restarts.total).sum();
    restarts >= summary.params.backoff_limit().max(1)
}

fn check_deadline(
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

/// Returns when `activeDeadlineSeconds` ends. A suspended Job has no deadline.
pub(super) fn deadline(params: &JobParams<'_>, started_at: Option<Timestamp>) -> Option<Timestamp> {
    if params.is_suspended() {
        return None;
    }
    let seconds = params.job.spec.active_deadline_seconds?;
    started_at?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn check_failed_indexes(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let failed = summary.failed_indexes.as_ref()?.len();
    let failed_max = summary.params.job.spec.max_failed_indexes;
    if failed_max.is_some_and(|max| failed > u64::from(max.max(0).unsigned_abs())) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(FinishedCondition::failure(reasons::MAX_FAILED_INDEXES_EXCEEDED, message));
    }
    let all_finished = failed + summary.succeeded >= u64::from(summary.params.index_limit());
    (failed > 0 && all_finished)
        .then(|| FinishedCondition::failure(reasons::FAILED_INDEXES, "Job has failed indexes"))
}

fn check_success_policy(summary: &PodSummary<'_>) -> Option<FinishedCondition> {
    let policy = summary.params.job.spec.success_policy.as_ref();
    let limit = summary.params.index_limit();
    let rule = success_policy::find_met_rule(policy, &summary.succeeded_indexes, limit)?;
    let message = format!("Matched rules at index {rule}");
    Some(FinishedCondition::success(reasons::SUCCESS_POLICY, message))
}

/// Returns the condition of a Job that has enough successes and no active Pod left. A work queue needs
/// one success: a Pod succeeds there only if no work is left.
pub(super) fn find_completed(summary: &PodSummary<'_>, active: usize) -> Option<FinishedCondition> {
    let required = summary.params.completions.map_or(1, u64::from);
    (summary.succeeded >= required && active == 0).then(|| {
        let message = "Reached expected number of succeeded pods";
        FinishedCondition::success(reasons::COMPLETIONS_REACHED, message)
    })
}
