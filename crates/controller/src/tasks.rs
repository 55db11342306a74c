//! Detects a panic in the background tasks of a controller.

use tokio::task::JoinSet;

/// Returns when a task has panicked. A controller must end then, because its cache is no longer updated.
pub(crate) async fn wait_for_panic(tasks: &mut JoinSet<()>) {
    while let Some(joined) = tasks.join_next().await {
        if let Err(error) = joined {
            tracing::error!(%error, "a watch task panicked; stopping the controller");
            return;
        }
    }
    std::future::pending().await
}
