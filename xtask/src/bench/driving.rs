//! How the asynchronous part of a benchmark or trial is run.

use anyhow::bail;
use tokio::signal::unix::{SignalKind, signal};

/// Runs work on this thread alone, so that the machine is left to the server. Being asked to stop ends
/// it as an error would: whatever was started is ended, and its files go.
pub(crate) fn drive<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
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
