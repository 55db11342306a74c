//! The stream of a watch on its way from the server to a process: as late and as short as it comes.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::Response;
use tower::BoxError;

use crate::scenario::{Fault, Millis, Process, Trouble};
use crate::stage::Stage;

/// A watch on its way.
pub(crate) struct Watched {
    stage: Arc<Stage>,
    process: Process,
    pieces: BodyDataStream,
    is_over: bool,
    opened: Millis,
    /// How much of a [`Fault::Lag`] is this watch's, in thousandths: no two are behind by the same.
    share: Millis,
    /// What has left the server, and when it may arrive.
    waiting: VecDeque<(Millis, Piece)>,
}

/// Some are as far behind as may be, and some are not behind at all.
const SHARES: [Millis; 5] = [0, 0, 300, 1000, 1000];

type Piece = Result<Bytes, BoxError>;

impl Watched {
    /// The answer to a watch of a process, with what happens to it on the way.
    pub(crate) fn of(
        stage: &Arc<Stage>,
        process: Process,
        answer: Response<Body>,
    ) -> Response<Body> {
        if !stage.scenario.troubles.iter().any(|trouble| concerns(trouble, process)) {
            return answer;
        }
        let stage = stage.clone();
        answer.map(|body| {
            let watch = Watched {
                pieces: body.into_data_stream(),
                is_over: false,
                opened: stage.now(),
                share: stage.dice.pick(&SHARES).unwrap_or_default(),
                waiting: VecDeque::new(),
                stage,
                process,
            };
            Body::from_stream(stream::unfold(Some(watch), |watch| async move {
                let mut watch = watch?;
                let piece = watch.next().await?;
                let rest = piece.is_ok().then_some(watch);
                Some((piece, rest))
            }))
        })
    }

    /// The next piece that arrives, or that the connection is cut.
    async fn next(&mut self) -> Option<Piece> {
        let cut_at = self.next_cut();
        loop {
            let now = self.stage.now();
            let due = self.waiting.front().map(|(due, _)| *due);
            match due.map(|_| self.open_at(now)) {
                None if self.is_over => return None,
                Some(at) if due <= Some(now) && at <= now => {
                    return self.waiting.pop_front().map(|(_, piece)| piece);
                }
                Some(at) if due <= Some(now) => self.put_off(at),
                _ => {}
            }
            // Who is slow to read leaves the rest with the server; what lags is on its way.
            let takes_more = self.waiting.is_empty() || self.lag(now).is_some();
            let next_due = self.waiting.front().map(|(due, _)| *due);
            let stage = &self.stage;
            tokio::select! {
                biased;
                () = until(stage, cut_at) => return Some(Err("connection reset".into())),
                piece = self.pieces.next(), if takes_more && !self.is_over => self.take(piece),
                () = until(stage, next_due) => {}
            }
        }
    }

    fn put_off(&mut self, at: Millis) {
        if let Some((due, _)) = self.waiting.front_mut() {
            *due = at;
        }
    }

    fn take(&mut self, piece: Option<Result<Bytes, axum::Error>>) {
        let Some(piece) = piece else {
            self.is_over = true;
            return;
        };
        let now = self.stage.now();
        let due = self.lag(now).unwrap_or(now);
        self.waiting.push_back((due, piece.map_err(BoxError::from)));
    }

    /// When something arrives that leaves the server now, if this watch lags.
    fn lag(&self, now: Millis) -> Option<Millis> {
        let mine = self.stage.troubles_at(now).filter(|trouble| concerns(trouble, self.process));
        let lags = mine.filter_map(|trouble| match trouble.what {
            Fault::Lag(_, most) => Some((now + most * self.share / 1000).min(trouble.to)),
            _ => None,
        });
        lags.max()
    }

    /// When the connection is cut.
    fn next_cut(&self) -> Option<Millis> {
        let troubles = self.stage.scenario.troubles.iter();
        let mine = troubles.filter(|trouble| concerns(trouble, self.process));
        let later = mine.filter(|trouble| trouble.to > self.opened);
        let cuts = later.filter_map(|trouble| match trouble.what {
            Fault::Cut(_) => Some(trouble.to),
            Fault::CutWatches(_, every) => {
                let passed = self.opened.max(trouble.from) - trouble.from;
                let next = trouble.from + (passed / every + 1) * every;
                (next <= trouble.to).then_some(next)
            }
            _ => None,
        });
        cuts.min()
    }

    /// When something that comes now is let through.
    fn open_at(&self, now: Millis) -> Millis {
        let mine = self.stage.troubles_at(now).filter(|trouble| concerns(trouble, self.process));
        let gates = mine.map(|trouble| match trouble.what {
            Fault::Pause(_) | Fault::Cut(_) => trouble.to,
            // In heaps: the oldest of a heap is that late.
            Fault::Stale(_, lag) => {
                let passed = now - trouble.from;
                let next = trouble.from + (passed + lag - 1) / lag * lag;
                next.clamp(now, trouble.to)
            }
            _ => now,
        });
        gates.max().unwrap_or(now)
    }
}

async fn until(stage: &Stage, at: Option<Millis>) {
    match at {
        Some(at) => stage.until(at).await,
        None => std::future::pending().await,
    }
}

/// Whether a trouble has to do with the watches of a process.
fn concerns(trouble: &Trouble, process: Process) -> bool {
    match trouble.what {
        Fault::Pause(whose)
        | Fault::Cut(whose)
        | Fault::Stale(whose, _)
        | Fault::Lag(whose, _)
        | Fault::CutWatches(whose, _) => whose == process,
        _ => false,
    }
}
