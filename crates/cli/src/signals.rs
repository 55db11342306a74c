//! Waits for the signals that stop the process.

use std::time::Duration;

use futures::FutureExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit status that shells use for a program ended by SIGINT.
const INTERRUPTED_STATUS: i32 = 130;
/// Signals this close together count as one request to stop: `timeout` and other programs signal both the
/// process and its process group.
const REPEAT_WINDOW: Duration = Duration::from_millis(250);

/// Returns a token that SIGINT, SIGTERM or SIGHUP cancels.
///
/// A later SIGINT ends the process at once. The store survives that as it survives a power failure.
pub(crate) fn stop_token() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // The terminal was closed or its connection was lost.
    let mut hangup = signal(SignalKind::hangup())?;
    let stop_on_signal = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        stop_on_signal.cancel();
        tokio::time::sleep(REPEAT_WINDOW).await;
        // Discards the signals received within the window.
        while interrupt.recv().now_or_never().is_some() {}
        interrupt.recv().await;
        std::process::exit(INTERRUPTED_STATUS);
    });
    Ok(stop)
}
