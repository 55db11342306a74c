//! Tasks beside the work of a controller, which must not end unnoticed.

use tokio::task::JoinSet;

/// Returns when a task has panicked. A controller whose watch has ended would work on with a picture that
/// never changes; whoever runs it must know.
pub(crate) async fn first_panic(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a watch has ended");
            return;
        }
    }
    std::future::pending().await
}
