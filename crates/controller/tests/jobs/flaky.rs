//! A connection that loses requests and answers, and watches that lag behind.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use kube::client::Body;
use tokio::sync::watch;
use tower::Service;

type BoxError = Box<dyn Error + Send + Sync>;
type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// Random numbers (SplitMix64): the same seed, the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Dice(Arc<AtomicU64>);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(Arc::new(AtomicU64::new(seed)))
    }

    /// A number below the limit.
    pub(crate) fn below(&self, limit: u64) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// What is wrong with a connection.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    pub(crate) dice: Dice,
    /// Of so many requests that write, one is lost, and one answer. None if it is 0.
    pub(crate) one_in: u64,
    /// Nothing can be created.
    pub(crate) refuses: Arc<AtomicBool>,
    /// The answers to so many creates are lost.
    pub(crate) loses: Arc<AtomicU64>,
    /// Watches whose path contains this show nothing new.
    pub(crate) lags: watch::Sender<Option<&'static str>>,
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    RequestLost,
    AnswerLost,
    Answered,
}

impl Faults {
    pub(crate) fn new(dice: Dice, one_in: u64) -> Faults {
        let (refuses, loses) = (Arc::default(), Arc::default());
        Faults { dice, one_in, refuses, loses, lags: watch::Sender::new(None) }
    }

    fn fate(&self, method: &Method) -> Fate {
        if method == Method::POST && self.refuses.load(Ordering::Relaxed) {
            return Fate::RequestLost;
        }
        let one_less = |loses: u64| loses.checked_sub(1);
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        if method == Method::POST && self.loses.fetch_update(set, get, one_less).is_ok() {
            return Fate::AnswerLost;
        }
        if method == Method::GET || self.one_in == 0 {
            return Fate::Answered;
        }
        match self.dice.below(self.one_in) {
            0 => Fate::RequestLost,
            1 => Fate::AnswerLost,
            _ => Fate::Answered,
        }
    }
}

/// A service behind such a connection.
#[derive(Clone)]
pub(crate) struct Flaky<S> {
    pub(crate) inner: S,
    pub(crate) faults: Faults,
}

impl<S, B> Service<Request<Body>> for Flaky<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnyBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let fate = self.faults.fate(request.method());
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let path = request.uri().path().to_owned();
        let lags = is_watch.then(|| (self.faults.lags.subscribe(), path));
        let answer = self.inner.call(request);
        Box::pin(async move {
            if fate == Fate::RequestLost {
                return Err("the request was lost".into());
            }
            let answer = answer.await.map_err(Into::into)?.map(any_body);
            match (fate, lags) {
                (Fate::AnswerLost, _) => Err("the answer was lost".into()),
                (_, Some((lags, path))) => Ok(answer.map(|body| held_back(body, lags, path))),
                (_, None) => Ok(answer),
            }
        })
    }
}

/// A body that goes on only while there is no lag.
fn held_back(body: AnyBody, lags: watch::Receiver<Option<&'static str>>, path: String) -> AnyBody {
    let frames = futures::stream::unfold((body, lags, path), |(mut body, mut lags, path)| async {
        let frame = body.frame().await?;
        let _ = lags.wait_for(|part| !part.is_some_and(|part| path.contains(part))).await;
        Some((frame, (body, lags, path)))
    });
    any_body(StreamBody::new(frames))
}

fn any_body<B>(body: B) -> AnyBody
where
    B: BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}
