//! Runs the asynchronous part of a benchmark or soak test.

use anyhow::bail;
use tokio::signal::unix::{SignalKind, signal};

/// Runs a future on this thread only, so that the server has the other processors. SIGINT and SIGTERM
/// end it with an error, so that child processes are killed and temporary files deleted.
pub fn run_async<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            result = work => result,
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
            _ = terminate.recv() => bail!("terminated"),
        }
    })
}
