//! The tasks of the process: tasks that run until they are told to stop, and no shorter.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::anyhow;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// How long tasks may take to finish what they are at.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// TaskGroup that stop by the same token.
pub(super) struct TaskGroup {
    stop: CancellationToken,
    running: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

impl TaskGroup {
    pub(super) fn new(stop: CancellationToken) -> TaskGroup {
        TaskGroup { stop, running: JoinSet::new(), names: HashMap::new() }
    }

    /// Starts a part, which is given the token.
    pub(super) fn spawn<F>(&mut self, name: &'static str, part: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let handle = self.running.spawn(part(self.stop.clone()));
        self.names.insert(handle.id(), name);
    }

    /// Returns when somebody wants us to stop, or with an error when a part has ended by itself:
    /// without it the others would be half alive.
    pub(super) async fn wait_for_stop(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Ok(()),
            Some(ended) = self.running.join_next_with_id() => Err(self.failure(ended)),
        }
    }

    fn failure(&self, ended: Result<(Id, ()), JoinError>) -> anyhow::Error {
        let name = |id| self.names.get(&id).copied().unwrap_or("a part");
        match ended {
            Ok((id, ())) => anyhow!("{} ended though nobody told it to", name(id)),
            Err(error) => anyhow!("{} failed: {error}", name(error.id())),
        }
    }

    /// Tells the tasks to stop and waits until they have.
    pub(super) async fn shut_down(mut self) {
        self.stop.cancel();
        let ending = async {
            while let Some(ended) = self.running.join_next_with_id().await {
                if let Err(error) = ended {
                    tracing::error!("{}", self.failure(Err(error)));
                }
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, ending).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parts_last_until_they_are_told_to_stop() {
        let stop = CancellationToken::new();
        let mut tasks = TaskGroup::new(stop.clone());
        tasks.spawn("one", CancellationToken::cancelled_owned);
        tasks.spawn("two", CancellationToken::cancelled_owned);
        stop.cancel();
        assert!(tasks.wait_for_stop().await.is_ok());
        tasks.shut_down().await;
    }

    #[tokio::test]
    async fn a_part_that_ends_or_panics_by_itself_is_a_failure() {
        let mut tasks = TaskGroup::new(CancellationToken::new());
        tasks.spawn("one", CancellationToken::cancelled_owned);
        tasks.spawn("two", |_| async {});
        let failure = tasks.wait_for_stop().await.unwrap_err().to_string();
        assert_eq!(failure, "two ended though nobody told it to");
        tasks.spawn("three", |_| async { panic!("oh") });
        let failure = tasks.wait_for_stop().await.unwrap_err().to_string();
        assert!(failure.starts_with("three failed: ") && failure.contains("oh"), "{failure}");
        tasks.shut_down().await;
    }
}
