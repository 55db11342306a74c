//! Creates the Pods of a plan, in growing batches and each Pod only once.

use std::time::Duration;

use futures::future::join_all;
use punctual_api::job::JobCondition;
use punctual_api::job::condition::SUSPENDED;
use punctual_api::{Job, Pod};
use punctual_client::ApiError;
use punctual_client::resources::PODS;
use punctual_engine::job::CreatePod;
use punctual_queue::Failure;

use super::cached_objects::CachedPod;
use super::{CONCURRENT_CALLS_MAX, JobController, JobSnapshot};

/// The errors of a batch in which not all Pods could be created.
#[derive(Debug, Default)]
pub(super) struct CreateFailures {
    /// Whether a retry may succeed.
    is_retryable: bool,
    retry_after: Option<Duration>,
}

impl CreateFailures {
    /// The result of the reconcile.
    pub(super) fn into_result(self) -> Result<(), Failure> {
        let CreateFailures { is_retryable, retry_after } = self;
        if is_retryable { Err(Failure { retry_after, ..Failure::default() }) } else { Ok(()) }
    }

    fn add(&mut self, error: &ApiError) {
        if !is_namespace_deleted(error) {
            self.is_retryable = true;
            self.retry_after = self.retry_after.max(error.to_failure().retry_after);
        }
    }
}

/// Whether the namespace is deleted or being deleted. Then nothing can be created, and the Job will be deleted too.
fn is_namespace_deleted(error: &ApiError) -> bool {
    error.is_namespace_terminating() || error.is_not_found()
}

impl JobController {
    /// Creates Pods in batches: one Pod first, then twice as many each time. If a quota refuses one Pod, it
    /// would refuse hundreds.
    pub(super) async fn create_pods(
        &self,
        snapshot: &JobSnapshot,
        pods: &[CreatePod],
    ) -> Result<(), CreateFailures> {
        let mut remaining = pods;
        let mut batch_size = 1;
        while !remaining.is_empty() {
            let (batch, later) = remaining.split_at(batch_size.min(remaining.len()));
            let creates = batch.iter().map(|pod| self.create_and_record(snapshot, pod));
            let results = join_all(creates).await;
            let errors: Vec<ApiError> = results.into_iter().filter_map(Result::err).collect();
            self.log_create_error(snapshot, errors.first());
            if !errors.is_empty() {
                let mut failures = CreateFailures::default();
                for error in &errors {
                    failures.add(error);
                }
                return Err(failures);
            }
            if batch_size == 1 {
                self.observe_first_pod(snapshot);
            }
            remaining = later;
            batch_size = (batch_size * 2).min(CONCURRENT_CALLS_MAX);
        }
        Ok(())
    }

    /// Observes how long after the creation of a Job its first Pod is created. A Job that was suspended does not
    /// count, because its Pods waited for a user.
    fn observe_first_pod(&self, snapshot: &JobSnapshot) {
        let Job { metadata, status, .. } = &snapshot.job;
        let had_pods = !snapshot.pods.is_empty()
            || status.active > 0
            || status.succeeded > 0
            || status.failed > 0;
        let is_suspended = |condition: &JobCondition| condition.condition_type == SUSPENDED;
        if had_pods || status.conditions.iter().any(is_suspended) {
            return;
        }
        let Some(created) = metadata.creation_timestamp else { return };
        // Creation times have whole seconds.
        let seconds = self.clock.now().as_second() - created.timestamp().as_second();
        let seconds = u64::try_from(seconds).unwrap_or_default();
        self.metrics.observe_pod_creation(Duration::from_secs(seconds));
    }

    /// Logs why a Pod could not be created, unless the previous create of a Pod of the same Job failed too.
    fn log_create_error(&self, snapshot: &JobSnapshot, error: Option<&ApiError>) {
        let error = error.filter(|error| !is_namespace_deleted(error));
        let is_new = self.cache().set_create_error(&snapshot.uid, error.is_some());
        if is_new && let Some(error) = error {
            let metadata = &snapshot.job.metadata;
            tracing::warn!(
                namespace = metadata.namespace,
                name = metadata.name,
                uid = metadata.uid,
                kind = "Job",
                reason = "FailedCreate",
                error = error.message(),
                "could not create a Pod of a Job; retrying with backoff"
            );
        }
    }

    async fn create_and_record(
        &self,
        snapshot: &JobSnapshot,
        create: &CreatePod,
    ) -> Result<(), ApiError> {
        let created = self.create_once(snapshot, create).await;
        match &created {
            Ok(name) => {
                let mut create = create.clone();
                create.pod.metadata.name.clone_from(name);
                self.record_event(&snapshot.job, &create.created_event());
            }
            Err(error) if is_namespace_deleted(error) => {}
            Err(error) => {
                self.record_event(&snapshot.job, &create.create_failed_event(error.message()));
            }
        }
        created.map(drop)
    }

    /// Creates a Pod and returns its name. If a Pod of the Job has the name already, that Pod was created
    /// before and its response was lost. If another Pod has the name, the server generates one.
    async fn create_once(
        &self,
        snapshot: &JobSnapshot,
        create: &CreatePod,
    ) -> Result<String, ApiError> {
        let conflict = match self.create_pod(snapshot, &create.pod).await {
            Err(error) if error.is_conflict() => error,
            created => return created,
        };
        match self.api.get::<Pod>(&snapshot.pod_path(&create.pod.metadata.name)).await {
            Ok(found) if found.metadata.is_controlled_by(&snapshot.uid) => {
                Ok(self.apply_created_pod(found))
            }
            Ok(_) => {
                let mut pod = create.pod.clone();
                pod.metadata.name.clear();
                self.create_pod(snapshot, &pod).await
            }
            // The other Pod was deleted in between, so a retry can use the name.
            Err(error) if error.is_not_found() => Err(conflict),
            Err(error) => Err(error),
        }
    }

    async fn create_pod(&self, snapshot: &JobSnapshot, pod: &Pod) -> Result<String, ApiError> {
        let text = serde_json::to_string(pod);
        let text = text.map_err(|error| ApiError::UnknownOutcome(error.to_string()))?;
        let path = PODS.collection_path(&snapshot.job.metadata.namespace);
        let created = self.api.create::<Pod>(&path, text).await?;
        Ok(self.apply_created_pod(created))
    }

    /// Adds a new Pod to the cache and returns its name.
    fn apply_created_pod(&self, pod: Pod) -> String {
        let name = pod.metadata.name.clone();
        let now = self.clock.now();
        self.update_cache(|cache| cache.apply_created_pod(CachedPod::from(pod), now));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, message: &str, retry_after: Option<Duration>) -> ApiError {
        ApiError::Status { code, message: message.to_owned(), retry_after }
    }

    #[test]
    fn creates_in_a_terminating_namespace_are_not_retried() {
        let mut failures = CreateFailures::default();
        let message = "pods \"p\" is forbidden: unable to create new content in namespace n because it is \
                   being terminated";
        failures.add(&status(403, message, None));
        failures.add(&status(404, "namespaces \"n\" not found", None));
        assert_eq!(failures.into_result(), Ok(()));
    }

    #[test]
    fn the_longest_retry_after_wins() {
        let mut failures = CreateFailures::default();
        for seconds in [1, 3, 2] {
            failures.add(&status(429, "slow down", Some(Duration::from_secs(seconds))));
        }
        failures.add(&ApiError::UnknownOutcome("timed out".to_owned()));
        let failure = Failure { retry_after: Some(Duration::from_secs(3)), ..Failure::default() };
        assert_eq!(failures.into_result(), Err(failure));
    }
}
