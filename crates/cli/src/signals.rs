//! Being asked to stop.

use std::time::Duration;

use futures::FutureExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What shells say of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;
/// Signals so close to one another are one request: `timeout` and others send theirs to us and to
/// our group.
const ONE_REQUEST: Duration = Duration::from_millis(250);

/// A token that is cancelled when somebody wants us to stop. Who presses Ctrl-C after that does not
/// want to wait: the process ends at once, which the store survives as it survives a loss of power.
pub(crate) fn stop_token() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // A terminal that was closed, or a connection that was lost.
    let mut hangup = signal(SignalKind::hangup())?;
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        stopping.cancel();
        tokio::time::sleep(ONE_REQUEST).await;
        while interrupt.recv().now_or_never().is_some() {}
        interrupt.recv().await;
        std::process::exit(INTERRUPTED);
    });
    Ok(stop)
}
