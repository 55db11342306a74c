//! A connection that loses requests and responses, and whose watches lag behind.

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
use punctual_testing::TestRng;
use tokio::sync::watch;
use tower::Service;

type BoxError = Box<dyn Error + Send + Sync>;
type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// The faults of a connection.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionFaults {
    pub(crate) rng: Arc<TestRng>,
    /// One in this many writes loses its request, and one its response. 0 disables the faults.
    pub(crate) one_in: u64,
    /// Whether all creates fail.
    pub(crate) refuse_creates: Arc<AtomicBool>,
    /// How many of the next creates lose their response.
    pub(crate) create_responses_to_lose: Arc<AtomicU64>,
    /// Watches whose path contains this text show no new events.
    pub(crate) lagging_path: watch::Sender<Option<&'static str>>,
}

/// What happens to a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestFate {
    RequestLost,
    ResponseLost,
    Delivered,
}

impl ConnectionFaults {
    pub(crate) fn new(rng: Arc<TestRng>, one_in: u64) -> ConnectionFaults {
        ConnectionFaults {
            rng,
            one_in,
            refuse_creates: Arc::default(),
            create_responses_to_lose: Arc::default(),
            lagging_path: watch::Sender::new(None),
        }
    }

    /// Whether the response of a create is to be lost.
    fn take_lost_response(&self) -> bool {
        let count = &self.create_responses_to_lose;
        let decrement = |count: u64| count.checked_sub(1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, decrement).is_ok()
    }

    fn fate(&self, method: &Method) -> RequestFate {
        if method == Method::POST && self.refuse_creates.load(Ordering::Relaxed) {
            return RequestFate::RequestLost;
        }
        if method == Method::POST && self.take_lost_response() {
            return RequestFate::ResponseLost;
        }
        if method == Method::GET || self.one_in == 0 {
            return RequestFate::Delivered;
        }
        match self.rng.below(self.one_in) {
            0 => RequestFate::RequestLost,
            1 => RequestFate::ResponseLost,
            _ => RequestFate::Delivered,
        }
    }
}

/// A service behind a connection with faults.
#[derive(Clone)]
pub(crate) struct FlakyService<S> {
    pub(crate) inner: S,
    pub(crate) faults: ConnectionFaults,
}

impl<S, B> Service<Request<Body>> for FlakyService<S>
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
        let lagging_path = is_watch.then(|| (self.faults.lagging_path.subscribe(), path));
        let response = self.inner.call(request);
        Box::pin(async move {
            if fate == RequestFate::RequestLost {
                return Err("the request was lost".into());
            }
            let response = response.await.map_err(Into::into)?.map(any_body);
            match (fate, lagging_path) {
                (RequestFate::ResponseLost, _) => Err("the response was lost".into()),
                (_, Some((lagging_path, path))) => {
                    Ok(response.map(|body| with_lag(body, lagging_path, path)))
                }
                (_, None) => Ok(response),
            }
        })
    }
}

/// A body that delivers frames only while its path does not lag.
fn with_lag(
    body: AnyBody,
    lagging_path: watch::Receiver<Option<&'static str>>,
    path: String,
) -> AnyBody {
    let frames = futures::stream::unfold(
        (body, lagging_path, path),
        |(mut body, mut lagging_path, path)| async {
            let frame = body.frame().await?;
            let _ =
                lagging_path.wait_for(|part| !part.is_some_and(|part| path.contains(part))).await;
            Some((frame, (body, lagging_path, path)))
        },
    );
    any_body(StreamBody::new(frames))
}

fn any_body<B>(body: B) -> AnyBody
where
    B: BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}
