//! Pods are created: a few at a time, and each only once.

use std::time::Duration;

use futures::future::join_all;
use punctual_api::Pod;
use punctual_client::ApiError;
use punctual_client::resources::PODS;
use punctual_engine::job::CreatePod;
use punctual_queue::Failure;

use super::known::KnownPod;
use super::{CALLS_MAX, Case, Controller};

/// Not all Pods could be created.
#[derive(Debug, Default)]
pub(super) struct Unmade {
    /// Whether trying again may help.
    has_hope: bool,
    retry_after: Option<Duration>,
}

impl Unmade {
    /// How the look at the Job has ended.
    pub(super) fn into_result(self) -> Result<(), Failure> {
        let Unmade { has_hope, retry_after } = self;
        if has_hope { Err(Failure { retry_after, ..Failure::default() }) } else { Ok(()) }
    }

    fn add(&mut self, refused: &ApiError) {
        // In a namespace that goes nothing will ever be created; the Job goes with it.
        if !refused.is_namespace_terminating() && !refused.is_not_found() {
            self.has_hope = true;
            self.retry_after = self.retry_after.max(refused.to_failure().retry_after);
        }
    }
}

impl Controller {
    /// Creates Pods. One first, then twice as many each time: where one is refused because of a
    /// quota, hundreds would be.
    pub(super) async fn create_pods(&self, case: &Case, pods: &[CreatePod]) -> Result<(), Unmade> {
        let (mut rest, mut size) = (pods, 1);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(size.min(rest.len()));
            let created = join_all(now.iter().map(|pod| self.create_and_tell(case, pod))).await;
            let refused: Vec<ApiError> = created.into_iter().filter_map(Result::err).collect();
            if !refused.is_empty() {
                let mut unmade = Unmade::default();
                refused.iter().for_each(|refused| unmade.add(refused));
                return Err(unmade);
            }
            (rest, size) = (later, (size * 2).min(CALLS_MAX));
        }
        Ok(())
    }

    async fn create_and_tell(&self, case: &Case, create: &CreatePod) -> Result<(), ApiError> {
        let created = self.create_once(case, create).await;
        match &created {
            Ok(name) => {
                let mut create = create.clone();
                create.pod.metadata.name.clone_from(name);
                self.tell(&case.job, &create.created_event());
            }
            Err(refused) if refused.is_namespace_terminating() || refused.is_not_found() => {}
            Err(refused) => self.tell(&case.job, &create.create_failed_event(refused.message())),
        }
        created.map(drop)
    }

    /// Creates a Pod and gives its name. Where the name is taken by a Pod of the Job, that is the
    /// Pod: it was created before, and nobody heard the answer.
    async fn create_once(&self, case: &Case, create: &CreatePod) -> Result<String, ApiError> {
        let refused = match self.create(case, &create.pod).await {
            Err(refused) if refused.is_conflict() => refused,
            created => return created,
        };
        match self.calls.get::<Pod>(&case.pod_path(&create.pod.metadata.name)).await {
            Ok(found) if found.metadata.is_controlled_by(&case.uid) => Ok(self.keep(found)),
            Ok(_) => {
                let mut pod = create.pod.clone();
                pod.metadata.name.clear();
                self.create(case, &pod).await
            }
            // It has gone since; the next try will have the name.
            Err(why) if why.is_not_found() => Err(refused),
            Err(why) => Err(why),
        }
    }

    async fn create(&self, case: &Case, pod: &Pod) -> Result<String, ApiError> {
        let text =
            serde_json::to_string(pod).map_err(|why| ApiError::UnknownOutcome(why.to_string()))?;
        let created = self
            .calls
            .create::<Pod>(&PODS.collection_path(&case.job.metadata.namespace), text)
            .await?;
        Ok(self.keep(created))
    }

    fn keep(&self, pod: Pod) -> String {
        let (name, now) = (pod.metadata.name.clone(), self.clock.now());
        self.change(|cache| cache.answer_new_pod(KnownPod::from(pod), now));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str, retry_after: Option<Duration>) -> ApiError {
        ApiError::Status { code, message: message.to_owned(), retry_after }
    }

    #[test]
    fn in_a_namespace_that_goes_nothing_is_tried_again() {
        let mut unmade = Unmade::default();
        let why = "pods \"p\" is forbidden: unable to create new content in namespace n because it is \
                   being terminated";
        unmade.add(&refused(403, why, None));
        unmade.add(&refused(404, "namespaces \"n\" not found", None));
        assert_eq!(unmade.into_result(), Ok(()));
    }

    #[test]
    fn of_several_wishes_to_be_left_alone_the_longest_is_granted() {
        let mut unmade = Unmade::default();
        for seconds in [1, 3, 2] {
            unmade.add(&refused(429, "slow down", Some(Duration::from_secs(seconds))));
        }
        unmade.add(&ApiError::UnknownOutcome("no answer in time".to_owned()));
        let failure = Failure { retry_after: Some(Duration::from_secs(3)), ..Failure::default() };
        assert_eq!(unmade.into_result(), Err(failure));
    }
}
