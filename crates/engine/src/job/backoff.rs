//! The delay before a Job replaces a failed Pod: 10 s, doubled with each failure since the last
//! success, at most 10 min.
//!
//! Most failed Pods still exist and have the time of their failure. Deleted Pods do not, so the
//! controller keeps a [`Backoff`] for each Job between two calls. A crash loses only the delay
//! after deleted Pods.

use jiff::{SignedDuration, Timestamp};

use super::job_params::JobParams;
use super::pod_view::{PodPhase, PodView};

const FIRST_SECS: i64 = 10;
const MAX_SECS: i64 = 600;

/// The delay does not grow after this many failures: 10 s doubled six times is over 10 min.
const FAILURES_MAX: usize = 7;

/// The latest failures of a Job. Its size is bounded, because older failures do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    last_success_at: Option<Timestamp>,
    /// The failures since the last success, oldest first.
    failures: Vec<PodFailure>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PodFailure {
    uid: String,
    at: Timestamp,
}

impl Backoff {
    /// Returns the backoff with the results of these Pods. Adding a Pod again changes nothing.
    pub(super) fn with_pods(
        &self,
        params: &JobParams<'_>,
        pods: &[PodView],
        now: Timestamp,
    ) -> Self {
        let counted = pods.iter().filter(|pod| params.is_countable(pod));
        let succeeded = counted.clone().filter(|pod| pod.phase == PodPhase::Succeeded);
        let successes = succeeded.map(|pod| pod.finished_at).chain(self.last_success_at);
        // A node with a fast clock, or a clock that was set back, must not prolong the delay.
        let last_success_at = successes.map(|at| at.min(now)).max();

        let new = counted
            .filter(|pod| is_failure(params, pod))
            .filter(|pod| self.failures.iter().all(|known| known.uid != pod.uid))
            .map(|pod| PodFailure { uid: pod.uid.clone(), at: pod.finished_at });
        let known = self.failures.iter().cloned();
        let mut failures: Vec<PodFailure> = (known.chain(new))
            .map(|failure| PodFailure { at: failure.at.min(now), ..failure })
            .collect();
        failures.retain(|failure| last_success_at.is_none_or(|success| failure.at > success));
        failures.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.uid.cmp(&b.uid)));
        failures.drain(..failures.len().saturating_sub(FAILURES_MAX));
        Backoff { last_success_at, failures }
    }

    /// Returns when the next Pod may be created; `None` if there is no delay.
    pub(super) fn next_create_at(&self) -> Option<Timestamp> {
        let last = self.failures.last()?;
        end_of_delay(self.failures.len(), last.at)
    }
}

/// Returns when a Pod may be created that replaces this one of the same index.
pub(super) fn next_index_create_at(pod: &PodView) -> Option<Timestamp> {
    end_of_delay(pod.index_failures.total() as usize + 1, pod.finished_at)
}

fn end_of_delay(failures: usize, last_at: Timestamp) -> Option<Timestamp> {
    last_at.checked_add(delay(failures)).ok()
}

fn delay(failures: usize) -> SignedDuration {
    let doublings = failures.clamp(1, FAILURES_MAX) - 1;
    SignedDuration::from_secs((FIRST_SECS << doublings).min(MAX_SECS))
}

/// Whether a Pod is a failure that delays the next one. An untracked Pod that is being deleted was
/// removed by us, or was added while it was tracked.
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
    fn the_delay_doubles_from_ten_seconds_to_ten_minutes() {
        let delays: Vec<i64> = (1..=9).map(|failures| delay(failures).as_secs()).collect();
        assert_eq!(delays, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
        assert_eq!(delay(usize::MAX).as_secs(), 600);
    }

    /// Checks when the next Pod may be created after Pods given as `(uid, S or F, finished)`.
    fn check(pods: &[(&str, &str, i64)], now: i64, due: Option<i64>) {
        let job = Job::default();
        let now = at(now);
        let params = JobParams::from_job(&job).unwrap();
        let view = |(uid, phase, finished): &(&str, &str, i64)| {
            let phase = if *phase == "S" { "Succeeded" } else { "Failed" };
            pod(uid, phase, *finished)
        };
        let views: Vec<PodView> = pods.iter().map(view).collect();
        let together = Backoff::default().with_pods(&params, &views, now);
        let one_by_one = views.iter().fold(Backoff::default(), |known, pod| {
            known.with_pods(&params, std::slice::from_ref(pod), now)
        });
        assert_eq!(together.next_create_at(), due.map(at), "{pods:?}");
        assert_eq!(together, one_by_one, "adding Pods one by one changes nothing");
        assert_eq!(
            together,
            together.with_pods(&params, &views, now),
            "adding Pods again changes nothing"
        );
    }

    #[test]
    fn failures_since_the_last_success_delay_the_next_pod() {
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
    fn a_fast_clock_of_a_node_does_not_prolong_the_delay() {
        check(&[("a", "F", 5000)], 100, Some(110));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_prolong_the_delay() {
        let job = Job::default();
        let params = JobParams::from_job(&job).unwrap();
        let known = Backoff::default().with_pods(&params, &[pod("a", "Failed", 5000)], at(5001));
        let after = known.with_pods(&params, &[], at(100));
        assert_eq!(after.next_create_at(), Some(at(110)));
        assert_eq!(after.with_pods(&params, &[], at(105)).next_create_at(), Some(at(110)));
    }

    #[test]
    fn only_the_newest_failures_are_kept() {
        let job = Job::default();
        let now = at(1000);
        let params = JobParams::from_job(&job).unwrap();
        let views: Vec<PodView> = (0..50).map(|n| pod(&format!("uid-{n}"), "Failed", n)).collect();
        let known = Backoff::default().with_pods(&params, &views, now);
        assert_eq!(known.failures.len(), FAILURES_MAX);
        assert_eq!(known.next_create_at(), Some(at(49 + 600)));
    }

    #[test]
    fn the_delay_of_an_index_depends_on_its_own_failures() {
        let mut last = pod("a", "Failed", 5);
        assert_eq!(next_index_create_at(&last), Some(at(15)));
        last.index_failures.counted = 1;
        assert_eq!(next_index_create_at(&last), Some(at(25)));
        last.index_failures.ignored = 1;
        assert_eq!(next_index_create_at(&last), Some(at(45)));
    }
}
