//! Waits for the signals that stop the process, or that let it read its files again.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::terminal::{self, InheritedTerminals};

/// The exit status that shells use for a program ended by SIGINT.
const INTERRUPTED_STATUS: i32 = 130;
/// Signals this close together count as one request to stop: `timeout` and other programs signal both the
/// process and its process group.
const REPEAT_WINDOW: Duration = Duration::from_millis(250);

/// Returns a token that SIGINT, SIGTERM or SIGHUP cancels.
///
/// A later SIGINT ends the process at once. The store survives that as it survives a power failure.
pub(crate) fn stop_token() -> anyhow::Result<CancellationToken> {
    watch_signals(None)
}

/// Returns a token that SIGINT or SIGTERM cancels. SIGHUP notifies `reload`, unless it says that the terminal was closed.
pub(crate) fn stop_token_with_reload(reload: Arc<Notify>) -> anyhow::Result<CancellationToken> {
    watch_signals(Some(reload))
}

fn watch_signals(reload: Option<Arc<Notify>>) -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let terminals = InheritedTerminals::find();
    let stop_on_signal = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = stopping_hangup(&mut hangup, reload.as_deref(), terminals) => {}
        }
        stop_on_signal.cancel();
        tokio::time::sleep(REPEAT_WINDOW).await;
        // Discards the signals received within the window.
        while interrupt.recv().now_or_never().is_some() {}
        interrupt.recv().await;
        terminal::restore();
        std::process::exit(INTERRUPTED_STATUS);
    });
    Ok(stop)
}

/// Returns at the first SIGHUP that is no request to reload: the terminal was closed or its connection was lost.
async fn stopping_hangup(
    hangup: &mut Signal,
    reload: Option<&Notify>,
    terminals: InheritedTerminals,
) {
    while hangup.recv().await.is_some() {
        match reload {
            Some(reload) if !terminals.are_gone() => reload.notify_one(),
            _ => return,
        }
    }
    std::future::pending().await
}
