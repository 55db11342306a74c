//! Runs the streams of HTTP/2 connections, and resets those whose client accepts no more bytes.
//!
//! A client can close the window of a stream and keep the connection open. hyper then waits and does
//! not poll the body of the response. So the task of the stream watches how long the last bytes of
//! the body have been waiting, and ends the stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::Instant;

/// How much longer than another response a watch may wait for its client.
const LONG_RUNNING_FACTOR: u32 = 10;

tokio::task_local! {
    static PROGRESS: Arc<StreamProgress>;
}

/// Spawns the streams of a connection.
#[derive(Clone, Copy)]
pub(super) struct StreamExecutor {
    pub(super) write_timeout: Duration,
}

/// How far the response of a stream has got.
#[derive(Default)]
pub(super) struct StreamProgress {
    state: Mutex<ProgressState>,
}

#[derive(Clone, Copy, Default)]
struct ProgressState {
    /// When the last bytes were passed to hyper, until it asks for more.
    sending_since: Option<Instant>,
    is_long_running: bool,
}

impl StreamProgress {
    /// Returns the progress of the stream whose task calls this; `None` on HTTP/1.1.
    pub(super) fn current() -> Option<Arc<StreamProgress>> {
        PROGRESS.try_with(Arc::clone).ok()
    }

    /// Records that bytes wait to be sent since a time, or that none do.
    pub(super) fn set_sending(&self, since: Option<Instant>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sending_since = since;
    }

    /// Gives a watch or a followed log more time: it keeps little in memory, and a person may pause
    /// its output.
    pub(super) fn set_long_running(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_long_running = true;
    }

    /// Returns when bytes have been waiting for the whole time limit.
    async fn stalled(&self, timeout: Duration) {
        let mut check_at = Instant::now() + timeout;
        loop {
            tokio::time::sleep_until(check_at).await;
            let state = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let factor = if state.is_long_running { LONG_RUNNING_FACTOR } else { 1 };
            let deadline = state.sending_since.unwrap_or(now) + timeout * factor;
            if deadline <= now {
                return;
            }
            check_at = deadline;
        }
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let timeout = self.write_timeout;
        tokio::spawn(async move {
            let progress = Arc::new(StreamProgress::default());
            tokio::select! {
                biased;
                () = PROGRESS.scope(progress.clone(), stream) => {}
                () = progress.stalled(timeout) => {
                    tracing::debug!("a client accepts no more bytes of a response; stream reset");
                }
            }
        });
    }
}
