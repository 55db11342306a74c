//! Tests of the event recorder: repeated Events, their order, a full queue, and a server that
//! fails.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::service_fn;

use super::event_queue::CAPACITY;
use super::*;

/// A clock that advances by a second whenever it is read.
#[derive(Default)]
struct SteppingClock(AtomicUsize);

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        let second = self.0.fetch_add(1, Ordering::Relaxed) as i64;
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_700_000_000 + second)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed) as u64)
    }
}

/// Counts dropped Events.
#[derive(Default)]
struct DropCounter(AtomicU64);

impl ClientMetrics for DropCounter {
    fn call_failed(&self, _method: &str, _code: Option<u16>) {}

    fn events_dropped(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

/// A recorder that is not running yet.
struct TestRecorder<W> {
    recorder: EventRecorder,
    work: W,
    stop: CancellationToken,
    dropped: Arc<DropCounter>,
}

fn recorder(client: Client) -> TestRecorder<impl Future<Output = ()> + Send> {
    let dropped: Arc<DropCounter> = Arc::default();
    let api = ApiClient::new(client, dropped.clone());
    let source = EventSource { component: "cronjob-controller".to_owned(), host: String::new() };
    let stop = CancellationToken::new();
    let clock = Arc::new(SteppingClock::default());
    let (recorder, work) = EventRecorder::new(api, clock, source, stop.clone());
    TestRecorder { recorder, work, stop, dropped }
}

fn object(name: &str) -> ObjectReference {
    ObjectReference {
        kind: "CronJob".to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        api_version: "batch/v1".to_owned(),
        ..ObjectReference::default()
    }
}

/// A server and its store.
struct TestServer {
    client: Client,
    store: Store,
    _folder: TempDir,
}

impl TestServer {
    async fn start() -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(Config::new(store.clone())).await.unwrap();
        let client = Client::new(server.local_router(User::new("test", ADMIN_GROUP)), "default");
        TestServer { client, store, _folder: folder }
    }

    /// Records Events and waits until they are written.
    async fn record(&self, record: impl FnOnce(&EventRecorder)) {
        let TestRecorder { recorder, work, stop, .. } = recorder(self.client.clone());
        record(&recorder);
        stop.cancel();
        work.await;
    }

    /// The Events in the order of their last writes.
    fn events(&self) -> Vec<Value> {
        let snapshot = self.store.snapshot();
        let mut entries: Vec<_> = snapshot.prefix("/events/").map(|(_, entry)| entry).collect();
        entries.sort_by_key(|entry| entry.modified);
        entries.iter().map(|entry| serde_json::from_slice(&entry.value).unwrap()).collect()
    }
}

/// A server that sends these responses one after the other, and then the last one for ever. Returns a
/// client and the methods of the requests.
fn scripted_server(responses: Vec<(u16, Value)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let received = requests.clone();
    let service = service_fn(move |request: Request<Body>| {
        let mut requests = requests.lock().unwrap();
        let (code, body) = &responses[requests.len().min(responses.len() - 1)];
        requests.push(request.method().to_string());
        let response = Response::builder().status(*code);
        let response = response.body(Body::from(body.to_string().into_bytes())).unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    (Client::new(service, "default"), received)
}

fn status(code: u16, message: &str) -> (u16, Value) {
    let reason = if code == 404 { "NotFound" } else { "Because" };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message});
    (code, status)
}

/// Records one Event against a scripted server. Returns the methods of the requests and the number of
/// dropped Events.
async fn record_one(responses: Vec<(u16, Value)>) -> (Vec<String>, u64) {
    let (client, requests) = scripted_server(responses);
    let TestRecorder { recorder, work, stop, dropped } = recorder(client);
    recorder.record(&object("a"), &PendingEvent::normal("Why", "x"));
    let work = tokio::spawn(work);
    // Longer than all tries together; the paused time advances automatically.
    tokio::time::sleep(Duration::from_secs(600)).await;
    stop.cancel();
    work.await.unwrap();
    let methods = requests.lock().unwrap().clone();
    (methods, dropped.0.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_repeated_event_is_written_once_with_a_count() {
    let server = TestServer::start().await;
    server
        .record(|recorder| {
            let created = PendingEvent::normal("SuccessfulCreate", "Created job a-1");
            recorder.record(&object("a"), &created);
            recorder.record(&object("a"), &PendingEvent::warning("UnparseableSchedule", "no"));
            recorder.record(&object("a"), &created);
        })
        .await;
    let events = server.events();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["reason"], "UnparseableSchedule");
    let counted = &events[1];
    assert_eq!(counted["count"], 2);
    assert_eq!(counted["message"], "Created job a-1");
    assert_eq!(counted["firstTimestamp"], "2023-11-14T22:13:20Z");
    assert_eq!(counted["lastTimestamp"], "2023-11-14T22:13:22Z");
    assert_eq!(counted["involvedObject"]["uid"], "uid-of-a");
    assert_eq!(counted["source"], json!({"component": "cronjob-controller"}));
}

#[tokio::test]
async fn a_repeated_event_that_was_deleted_is_created_again_with_its_count() {
    let server = TestServer::start().await;
    let TestRecorder { recorder, work, stop, .. } = recorder(server.client.clone());
    let work = tokio::spawn(work);
    let event = PendingEvent::normal("Why", "x");
    let mut watch = server.store.watch("/events/", server.store.revision()).unwrap();
    recorder.record(&object("a"), &event);
    let created = watch.next().await.unwrap().unwrap();
    let delete = punctual_store::Op::delete(created.key.clone(), punctual_store::Precondition::Any);
    server.store.write(delete).await.unwrap();
    recorder.record(&object("a"), &event);
    stop.cancel();
    work.await.unwrap();
    let events = server.events();
    assert_eq!((events.len(), &events[0]["count"]), (1, &json!(2)));
}

#[tokio::test]
async fn events_about_one_object_are_written_in_order() {
    let server = TestServer::start().await;
    server
        .record(|recorder| {
            for number in 0..9 {
                for name in ["a", "b", "c"] {
                    let event = PendingEvent::normal("Why", number.to_string());
                    recorder.record(&object(name), &event);
                }
            }
        })
        .await;
    let events = server.events();
    for name in ["a", "b", "c"] {
        let own = events.iter().filter(|event| event["involvedObject"]["name"] == name);
        let messages: Vec<&str> = own.map(|event| event["message"].as_str().unwrap()).collect();
        assert_eq!(messages, ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    }
}

#[tokio::test]
async fn a_full_queue_drops_and_counts_events() {
    let (client, _) = scripted_server(vec![(201, json!({}))]);
    let TestRecorder { recorder, dropped, .. } = recorder(client);
    for number in 0..20_000_u64 {
        recorder.record(&object(&number.to_string()), &PendingEvent::normal("Why", "x"));
    }
    let dropped = dropped.0.load(Ordering::Relaxed);
    let least = 20_000 - (LANES * CAPACITY) as u64;
    assert!((least..20_000).contains(&dropped), "{dropped}");
}

#[tokio::test(start_paused = true)]
async fn a_failing_server_is_retried_a_few_times() {
    let failure = status(503, "failure");
    let (methods, dropped) =
        record_one(vec![failure.clone(), failure.clone(), (201, json!({}))]).await;
    assert_eq!((methods.len(), dropped), (3, 0));
    let (methods, dropped) = record_one(vec![failure]).await;
    assert_eq!((methods.len(), dropped), (6, 1));
    let busy = status(429, "busy");
    assert_eq!(record_one(vec![busy, (201, json!({}))]).await.0.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_event_is_dropped_and_an_existing_one_counts_as_written() {
    for (code, lost) in [(400, 1), (403, 1), (404, 1), (422, 1), (409, 0)] {
        let (methods, dropped) = record_one(vec![status(code, "no")]).await;
        assert_eq!((methods, dropped), (vec!["POST".to_owned()], lost), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_only_a_short_time_for_a_server_that_does_not_respond() {
    let service =
        service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let TestRecorder { recorder, work, stop, .. } = recorder(Client::new(service, "default"));
    recorder.record(&object("a"), &PendingEvent::normal("Why", "x"));
    stop.cancel();
    let begun = tokio::time::Instant::now();
    work.await;
    assert_eq!(begun.elapsed().as_secs(), FLUSH_TIMEOUT.as_secs());
}
