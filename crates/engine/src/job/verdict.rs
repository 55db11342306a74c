//! Whether a Job has come to its end, and which. Failure is looked for before success, and what was
//! once recorded stands: the interim condition (`FailureTarget`, `SuccessCriteriaMet`) is
//! written before any Pod goes, the final one (`Failed`, `Complete`) when the last is gone.

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::{JobCondition, condition};

use super::census::Census;
use super::failure_policy::{self, Meaning};
use super::success_policy;
use super::terms::Terms;
use super::view::Phase;
use super::{reasons, view};

/// The end of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) has_failed: bool,
    pub(super) reason: String,
    pub(super) message: String,
    /// Whether the interim condition is in the status already.
    pub(super) is_recorded: bool,
}

impl Verdict {
    fn failure(reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        Verdict { has_failed: true, reason, message, is_recorded: false }
    }

    fn success(reason: &str, message: impl Into<String>) -> Self {
        Verdict { has_failed: false, ..Verdict::failure(reason, message) }
    }

    fn recorded(condition: &JobCondition, has_failed: bool) -> Self {
        let (reason, message) = (condition.reason.clone(), condition.message.clone());
        Verdict { has_failed, reason, message, is_recorded: true }
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
    census: &Census<'_>,
    started_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<Verdict> {
    recorded(&census.terms)
        .or_else(|| by_failure_policy(census))
        .or_else(|| by_backoff_limit(census))
        .or_else(|| by_deadline(&census.terms, started_at, now))
        .or_else(|| by_failed_indexes(census))
        .or_else(|| by_success_policy(census))
}

fn recorded(terms: &Terms<'_>) -> Option<Verdict> {
    let find = |kind: &str, has_failed: bool| {
        let condition = terms.job.status.condition(kind).filter(|c| c.status == "True")?;
        Some(Verdict::recorded(condition, has_failed))
    };
    find(condition::SUCCESS_CRITERIA_MET, false).or_else(|| find(condition::FAILURE_TARGET, true))
}

fn by_failure_policy(census: &Census<'_>) -> Option<Verdict> {
    let terms = &census.terms;
    terms.job.spec.pod_failure_policy.as_ref()?;
    let failed = census.pods.iter().filter(|pod| terms.has_failed(pod));
    failed.into_iter().find_map(|pod| match terms.failure_of(pod) {
        Meaning::JobFailed { rule, cause } => {
            let namespace = &terms.job.metadata.namespace;
            let message = failure_policy::message(namespace, pod, rule, &cause);
            Some(Verdict::failure(reasons::POD_FAILURE_POLICY, message))
        }
        _ => None,
    })
}

fn by_backoff_limit(census: &Census<'_>) -> Option<Verdict> {
    let limit = census.terms.backoff_limit();
    let is_exceeded = census.failed > limit || restarted_too_often(census);
    is_exceeded.then(|| {
        let message = "Job has reached the specified backoff limit";
        Verdict::failure(reasons::BACKOFF_LIMIT_EXCEEDED, message)
    })
}

/// With `restartPolicy: OnFailure`, a restart of a container is a failure that no Pod shows.
fn restarted_too_often(census: &Census<'_>) -> bool {
    if census.terms.job.spec.template.spec.restart_policy != "OnFailure" {
        return false;
    }
    let may_restart = |pod: &&view::PodView| matches!(pod.phase, Phase::Pending | Phase::Running);
    let pods = census.pods.iter().filter(may_restart);
    let restarts: i64 = pods.map(|pod| pod.restarts.total).sum();
    restarts >= census.terms.backoff_limit().max(1)
}

fn by_deadline(
    terms: &Terms<'_>,
    started_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<Verdict> {
    let ends_at = deadline(terms, started_at)?;
    (now >= ends_at).then(|| {
        let message = "Job was active longer than specified deadline";
        Verdict::failure(reasons::DEADLINE_EXCEEDED, message)
    })
}

/// Until when the Job may be active; while it is suspended, that is not limited.
pub(super) fn deadline(terms: &Terms<'_>, started_at: Option<Timestamp>) -> Option<Timestamp> {
    let seconds = terms.job.spec.active_deadline_seconds.filter(|_| !terms.is_suspended())?;
    started_at?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn by_failed_indexes(census: &Census<'_>) -> Option<Verdict> {
    let failed = census.failed_indexes.as_ref()?.len();
    let failed_max = census.terms.job.spec.max_failed_indexes;
    if failed_max.is_some_and(|max| failed > u64::from(max.max(0).unsigned_abs())) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Verdict::failure(reasons::MAX_FAILED_INDEXES_EXCEEDED, message));
    }
    let all_ended = failed + census.succeeded >= u64::from(census.terms.index_limit());
    (failed > 0 && all_ended)
        .then(|| Verdict::failure(reasons::FAILED_INDEXES, "Job has failed indexes"))
}

fn by_success_policy(census: &Census<'_>) -> Option<Verdict> {
    let policy = census.terms.job.spec.success_policy.as_ref();
    let limit = census.terms.index_limit();
    let rule = success_policy::rule_met(policy, &census.succeeded_indexes, limit)?;
    let message = format!("Matched rules at index {rule}");
    Some(Verdict::success(reasons::SUCCESS_POLICY, message))
}

/// The end of a Job that has had its successes, once no Pod is left active. A work queue needs one:
/// the Pod that succeeded knew that there is no more work.
pub(super) fn completed(census: &Census<'_>, active: usize) -> Option<Verdict> {
    let wanted = census.terms.completions.map_or(1, u64::from);
    (census.succeeded >= wanted && active == 0).then(|| {
        let message = "Reached expected number of succeeded pods";
        Verdict::success(reasons::COMPLETIONS_REACHED, message)
    })
}
