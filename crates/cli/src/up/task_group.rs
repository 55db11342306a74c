//! A group of named tasks that stop together. A task that ends earlier is an error.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime::Handle;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// How long the tasks may take to finish after they are told to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// Tasks that share one stop token. A task must not end before the token is cancelled.
pub(super) struct TaskGroup {
    stop: CancellationToken,
    running: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

impl TaskGroup {
    pub(super) fn new(stop: CancellationToken) -> TaskGroup {
        TaskGroup { stop, running: JoinSet::new(), names: HashMap::new() }
    }

    /// Spawns a task and passes it the stop token.
    pub(super) fn spawn<F>(&mut self, name: &'static str, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let handle = self.running.spawn(task(self.stop.clone()));
        self.names.insert(handle.id(), name);
    }

    /// Spawns a task on another runtime.
    pub(super) fn spawn_on<F>(
        &mut self,
        name: &'static str,
        runtime: &Handle,
        task: impl FnOnce(CancellationToken) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let handle = self.running.spawn_on(task(self.stop.clone()), runtime);
        self.names.insert(handle.id(), name);
    }

    /// Waits until the stop token is cancelled. Fails if a task ends before that, because the other
    /// tasks depend on it.
    pub(super) async fn wait_for_stop(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Ok(()),
            Some(ended) = self.running.join_next_with_id() => Err(self.task_error(ended)),
        }
    }

    fn task_error(&self, ended: Result<(Id, ()), JoinError>) -> anyhow::Error {
        let name = |id| self.names.get(&id).copied().unwrap_or("a task");
        match ended {
            Ok((id, ())) => anyhow!("{} ended unexpectedly", name(id)),
            Err(error) => anyhow!("{} failed: {error}", name(error.id())),
        }
    }

    /// Cancels the stop token and waits until all tasks have ended.
    pub(super) async fn shut_down(mut self) {
        self.stop.cancel();
        let all_ended = async {
            while let Some(ended) = self.running.join_next_with_id().await {
                if let Err(error) = ended {
                    tracing::error!("{}", self.task_error(Err(error)));
                }
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, all_ended).await.is_err() {
            tracing::warn!(
                "some tasks did not stop within {STOP_TIMEOUT:?}; exiting without waiting for them"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_run_until_the_group_is_stopped() {
        let stop = CancellationToken::new();
        let mut tasks = TaskGroup::new(stop.clone());
        tasks.spawn("one", CancellationToken::cancelled_owned);
        tasks.spawn("two", CancellationToken::cancelled_owned);
        stop.cancel();
        assert!(tasks.wait_for_stop().await.is_ok());
        tasks.shut_down().await;
    }

    #[tokio::test]
    async fn a_task_that_ends_or_panics_early_is_an_error() {
        let mut tasks = TaskGroup::new(CancellationToken::new());
        tasks.spawn("one", CancellationToken::cancelled_owned);
        tasks.spawn("two", |_| async {});
        let error = tasks.wait_for_stop().await.unwrap_err().to_string();
        assert_eq!(error, "two ended unexpectedly");
        tasks.spawn("three", |_| async { panic!("oh") });
        let error = tasks.wait_for_stop().await.unwrap_err().to_string();
        assert!(error.starts_with("three failed: ") && error.contains("oh"), "{error}");
        tasks.shut_down().await;
    }
}
