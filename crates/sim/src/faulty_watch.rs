//! The stream of a watch on its way from the server to a process, with delays and disconnects.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::Response;
use punctual_testing::scenario::{Fault, FaultWindow, Millis, ProcessId};
use tower::BoxError;

use crate::environment::SimulationEnv;

/// An open watch.
pub(crate) struct FaultyWatch {
    env: Arc<SimulationEnv>,
    process: ProcessId,
    chunks: BodyDataStream,
    has_ended: bool,
    opened_at: Millis,
    /// The share of a [`Fault::DelayWatches`] that applies to this watch, in thousandths.
    delay_share: Millis,
    /// What the server has sent, and when it may arrive.
    in_flight: VecDeque<(Millis, Chunk)>,
}

/// The choices for `delay_share`: some watches have the full delay and some have none.
const DELAY_SHARES: [Millis; 5] = [0, 0, 300, 1000, 1000];

type Chunk = Result<Bytes, BoxError>;

impl FaultyWatch {
    /// Wraps the response to a watch of a process.
    pub(crate) fn wrap(
        env: &Arc<SimulationEnv>,
        process: ProcessId,
        response: Response<Body>,
    ) -> Response<Body> {
        if !env.scenario.faults.iter().any(|window| affects_watches(window, process)) {
            return response;
        }
        let env = env.clone();
        response.map(|body| {
            let watch = FaultyWatch {
                chunks: body.into_data_stream(),
                has_ended: false,
                opened_at: env.now(),
                delay_share: env.random.pick(&DELAY_SHARES).unwrap_or_default(),
                in_flight: VecDeque::new(),
                env,
                process,
            };
            Body::from_stream(stream::unfold(Some(watch), |watch| async move {
                let mut watch = watch?;
                let chunk = watch.next().await?;
                let remaining = chunk.is_ok().then_some(watch);
                Some((chunk, remaining))
            }))
        })
    }

    /// The next chunk that arrives, or a connection error.
    async fn next(&mut self) -> Option<Chunk> {
        let closed_at = self.next_close();
        loop {
            let now = self.env.now();
            let due = self.in_flight.front().map(|(due, _)| *due);
            match due.map(|_| self.deliverable_at(now)) {
                None if self.has_ended => return None,
                Some(at) if due <= Some(now) && at <= now => {
                    return self.in_flight.pop_front().map(|(_, chunk)| chunk);
                }
                Some(at) if due <= Some(now) => self.postpone_first(at),
                _ => {}
            }
            // A slow reader leaves the rest with the server; delayed chunks are already in flight.
            let reads_more = self.in_flight.is_empty() || self.delayed_until(now).is_some();
            let next_due = self.in_flight.front().map(|(due, _)| *due);
            let env = &self.env;
            tokio::select! {
                biased;
                () = sleep_until(env, closed_at) => return Some(Err("connection reset".into())),
                chunk = self.chunks.next(), if reads_more && !self.has_ended => self.receive(chunk),
                () = sleep_until(env, next_due) => {}
            }
        }
    }

    fn postpone_first(&mut self, at: Millis) {
        if let Some((due, _)) = self.in_flight.front_mut() {
            *due = at;
        }
    }

    fn receive(&mut self, chunk: Option<Result<Bytes, axum::Error>>) {
        let Some(chunk) = chunk else {
            self.has_ended = true;
            return;
        };
        let now = self.env.now();
        let due = self.delayed_until(now).unwrap_or(now);
        self.in_flight.push_back((due, chunk.map_err(BoxError::from)));
    }

    fn faults_at(&self, now: Millis) -> impl Iterator<Item = &FaultWindow> {
        self.env.faults_at(now).filter(|window| affects_watches(window, self.process))
    }

    /// When a chunk that is sent now arrives, if this watch is delayed.
    fn delayed_until(&self, now: Millis) -> Option<Millis> {
        let delays = self.faults_at(now).filter_map(|window| match window.fault {
            Fault::DelayWatches(_, most) => {
                Some((now + most * self.delay_share / 1000).min(window.to))
            }
            _ => None,
        });
        delays.max()
    }

    /// When the connection is closed.
    fn next_close(&self) -> Option<Millis> {
        let windows = self.env.scenario.faults.iter();
        let affecting = windows.filter(|window| affects_watches(window, self.process));
        let later = affecting.filter(|window| window.to > self.opened_at);
        let closes = later.filter_map(|window| match window.fault {
            Fault::Disconnect(_) => Some(window.to),
            Fault::CloseWatches(_, every) => {
                let passed = self.opened_at.max(window.from) - window.from;
                let next = window.from + (passed / every + 1) * every;
                (next <= window.to).then_some(next)
            }
            _ => None,
        });
        closes.min()
    }

    /// When a chunk that is due now can be delivered.
    fn deliverable_at(&self, now: Millis) -> Millis {
        let times = self.faults_at(now).map(|window| match window.fault {
            Fault::Pause(_) | Fault::Disconnect(_) => window.to,
            // At the end of each interval.
            Fault::BatchWatches(_, interval) => {
                let passed = now - window.from;
                let next = window.from + (passed + interval - 1) / interval * interval;
                next.clamp(now, window.to)
            }
            _ => now,
        });
        times.max().unwrap_or(now)
    }
}

async fn sleep_until(env: &SimulationEnv, at: Option<Millis>) {
    match at {
        Some(at) => env.sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Whether a fault affects the watches of a process.
fn affects_watches(window: &FaultWindow, process: ProcessId) -> bool {
    match window.fault {
        Fault::Pause(affected)
        | Fault::Disconnect(affected)
        | Fault::BatchWatches(affected, _)
        | Fault::DelayWatches(affected, _)
        | Fault::CloseWatches(affected, _) => affected == process,
        _ => false,
    }
}
