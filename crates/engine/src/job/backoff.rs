//! How long a Job waits before it replaces a Pod that failed: 10 s, doubled with each failure
//! since the last success, 10 min at most.
//!
//! Failed Pods are mostly still there and tell when they failed. A Pod that was deleted is not, so
//! the shell keeps a [`Backoff`] for each Job between two calls; if it is lost in a crash, only
//! the wait after such Pods is lost with it.

use jiff::{SignedDuration, Timestamp};

use super::job_params::JobParams;
use super::pod_view::{PodPhase, PodView};

const FIRST_SECS: i64 = 10;
const MAX_SECS: i64 = 600;

/// From this many failures on, the wait grows no more: 10 s doubled six times is over 10 min.
const FAILURES_KEPT_MAX: usize = 7;

/// What is remembered of a Job's failures. Bounded: the newest few are all that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    last_success_at: Option<Timestamp>,
    /// Since the last success, oldest first.
    failures: Vec<Failure>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    uid: String,
    at: Timestamp,
}

impl Backoff {
    /// What is remembered after these Pods were observed. Seeing a Pod twice changes nothing.
    pub(super) fn seeing(&self, params: &JobParams<'_>, pods: &[PodView], now: Timestamp) -> Self {
        let counted = pods.iter().filter(|pod| params.admits(pod));
        let ended_well = counted.clone().filter(|pod| pod.phase == PodPhase::Succeeded);
        let successes = ended_well.map(|pod| pod.finished_at).chain(self.last_success_at);
        // A node whose clock is ahead, or a clock that was set back, must not prolong the wait.
        let last_success_at = successes.map(|at| at.min(now)).max();

        let fresh = counted
            .filter(|pod| is_failure(params, pod))
            .filter(|pod| self.failures.iter().all(|known| known.uid != pod.uid))
            .map(|pod| Failure { uid: pod.uid.clone(), at: pod.finished_at });
        let known = self.failures.iter().cloned();
        let mut failures: Vec<Failure> = (known.chain(fresh))
            .map(|failure| Failure { at: failure.at.min(now), ..failure })
            .collect();
        failures.retain(|failure| last_success_at.is_none_or(|success| failure.at > success));
        failures.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.uid.cmp(&b.uid)));
        failures.drain(..failures.len().saturating_sub(FAILURES_KEPT_MAX));
        Backoff { last_success_at, failures }
    }

    /// From when on the next Pod may be created; absent when nothing holds it back.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        let last = self.failures.last()?;
        due_at(self.failures.len(), last.at)
    }
}

/// From when on a Pod may replace this one of the same index.
pub(super) fn index_due_at(pod: &PodView) -> Option<Timestamp> {
    due_at(pod.index_failures.total() as usize + 1, pod.finished_at)
}

fn due_at(failures: usize, last_at: Timestamp) -> Option<Timestamp> {
    last_at.checked_add(delay(failures)).ok()
}

fn delay(failures: usize) -> SignedDuration {
    let doublings = failures.clamp(1, FAILURES_KEPT_MAX) - 1;
    SignedDuration::from_secs((FIRST_SECS << doublings).min(MAX_SECS))
}

/// Whether a Pod is a failure to wait after. A Pod that is not tracked and is being deleted was
/// removed by us, or is remembered from when it was tracked.
fn is_failure(params: &JobParams<'_>, pod: &PodView) -> bool {
    params.has_failed(pod) && (pod.is_tracked || !pod.is_deleting)
}

#[cfg(test)]
mod tests {
    use punctual_api::{Job, Pod};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn pod(uid: &str, phase: &str, finished: i64) -> PodView {
        let text = format!(
            r#"{{"metadata":{{"uid":"{uid}","finalizers":["batch.kubernetes.io/job-tracking"]}},
                "status":{{"phase":"{phase}","containerStatuses":[{{"name":"c","state":
                {{"terminated":{{"exitCode":1,"finishedAt":"{}"}}}}}}]}}}}"#,
            at(finished)
        );
        PodView::from_pod(&serde_json::from_str::<Pod>(&text).unwrap())
    }

    #[test]
    fn the_wait_doubles_from_ten_seconds_to_ten_minutes() {
        let waits: Vec<i64> = (1..=9).map(|failures| delay(failures).as_secs()).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
        assert_eq!(delay(usize::MAX).as_secs(), 600);
    }

    /// Pods as `(uid, S or F, when)`, what time it is, and when the next may come.
    fn check(pods: &[(&str, &str, i64)], now: i64, due: Option<i64>) {
        let (job, now) = (Job::default(), at(now));
        let params = JobParams::from_job(&job).unwrap();
        let view = |(uid, phase, finished): &(&str, &str, i64)| {
            let phase = if *phase == "S" { "Succeeded" } else { "Failed" };
            pod(uid, phase, *finished)
        };
        let views: Vec<PodView> = pods.iter().map(view).collect();
        let at_once = Backoff::default().seeing(&params, &views, now);
        let one_by_one = views.iter().fold(Backoff::default(), |known, pod| {
            known.seeing(&params, std::slice::from_ref(pod), now)
        });
        assert_eq!(at_once.due_at(), due.map(at), "{pods:?}");
        assert_eq!(at_once, one_by_one, "the order in which Pods are seen changes nothing");
        assert_eq!(at_once, at_once.seeing(&params, &views, now), "nor does seeing them again");
    }

    #[test]
    fn failures_since_the_last_success_are_waited_for() {
        check(&[], 100, None);
        check(&[("a", "S", 5)], 100, None);
        check(&[("a", "F", 5)], 100, Some(15));
        check(&[("a", "F", 5), ("b", "F", 30)], 100, Some(50));
        check(&[("a", "F", 5), ("b", "S", 7)], 100, None);
        check(&[("a", "F", 5), ("b", "S", 5)], 100, None);
        check(&[("a", "F", 5), ("b", "S", 7), ("c", "F", 9)], 100, Some(19));
        check(&[("a", "F", 5), ("b", "F", 6), ("c", "F", 7), ("d", "F", 8)], 100, Some(88));
    }

    #[test]
    fn a_clock_that_is_ahead_does_not_prolong_the_wait() {
        check(&[("a", "F", 5000)], 100, Some(110));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_prolong_the_wait() {
        let job = Job::default();
        let params = JobParams::from_job(&job).unwrap();
        let known = Backoff::default().seeing(&params, &[pod("a", "Failed", 5000)], at(5001));
        let after = known.seeing(&params, &[], at(100));
        assert_eq!(after.due_at(), Some(at(110)));
        assert_eq!(after.seeing(&params, &[], at(105)).due_at(), Some(at(110)));
    }

    #[test]
    fn only_the_newest_failures_are_kept() {
        let (job, now) = (Job::default(), at(1000));
        let params = JobParams::from_job(&job).unwrap();
        let views: Vec<PodView> = (0..50).map(|n| pod(&format!("uid-{n}"), "Failed", n)).collect();
        let known = Backoff::default().seeing(&params, &views, now);
        assert_eq!(known.failures.len(), FAILURES_KEPT_MAX);
        assert_eq!(known.due_at(), Some(at(49 + 600)));
    }

    #[test]
    fn an_index_waits_for_its_own_failures() {
        let mut last = pod("a", "Failed", 5);
        assert_eq!(index_due_at(&last), Some(at(15)));
        last.index_failures.counted = 1;
        assert_eq!(index_due_at(&last), Some(at(25)));
        last.index_failures.ignored = 1;
        assert_eq!(index_due_at(&last), Some(at(45)));
    }
}
