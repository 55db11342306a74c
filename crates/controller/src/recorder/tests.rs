use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::service_fn;

use super::inbox::WAITING_MAX;
use super::*;
use crate::burst_gate::BurstGate;
use crate::fence::Fence;

/// A clock that moves on by a second whenever somebody looks.
#[derive(Default)]
struct Ticks(AtomicUsize);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        let second = self.0.fetch_add(1, Ordering::Relaxed) as i64;
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_700_000_000 + second)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed) as u64)
    }
}

fn context(client: Client) -> Context {
    Context {
        client,
        clock: Arc::new(Ticks::default()),
        metrics: Metrics::default(),
        burst_gate: BurstGate::default(),
        fence: Fence::open(),
    }
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

/// A server, and the events it has.
struct Site {
    client: Client,
    store: Store,
    _folder: TempDir,
}

impl Site {
    async fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(Config::new(store.clone())).await.unwrap();
        let client = Client::new(server.local_router(User::new("test", ADMIN_GROUP)), "default");
        Site { client, store, _folder: folder }
    }

    /// Takes notes with a recorder, and lets it end.
    async fn record(&self, take: impl FnOnce(&Recorder)) -> Context {
        let context = context(self.client.clone());
        let stop = CancellationToken::new();
        let (recorder, work) = Recorder::new(&context, "cronjob-controller", stop.clone());
        take(&recorder);
        stop.cancel();
        work.await;
        context
    }

    /// In the order in which they were last written.
    fn events(&self) -> Vec<Value> {
        let snapshot = self.store.snapshot();
        let mut entries: Vec<_> = snapshot.prefix("/events/").map(|(_, entry)| entry).collect();
        entries.sort_by_key(|entry| entry.modified);
        entries.iter().map(|entry| serde_json::from_slice(&entry.value).unwrap()).collect()
    }
}

/// A server that answers each request with the next of these, and then the last for ever.
fn scripted(answers: Vec<(u16, Value)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = seen.clone();
    let service = service_fn(move |request: Request<Body>| {
        let mut seen = seen.lock().unwrap();
        let (code, body) = &answers[seen.len().min(answers.len() - 1)];
        seen.push(request.method().to_string());
        let response = Response::builder().status(*code);
        let response = response.body(Body::from(body.to_string().into_bytes())).unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    (Client::new(service, "default"), heard)
}

fn status(code: u16, message: &str) -> (u16, Value) {
    let reason = if code == 404 { "NotFound" } else { "Because" };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message});
    (code, status)
}

fn dropped(metrics: &Metrics) -> u64 {
    let mut page = String::new();
    metrics.encode(&mut page);
    let line = page.lines().find_map(|line| line.strip_prefix("punctual_events_dropped_total "));
    line.unwrap().parse().unwrap()
}

/// Runs a recorder against a script with one note; the methods that were called, and what was
/// dropped.
async fn told(answers: Vec<(u16, Value)>) -> (Vec<String>, u64) {
    let (client, heard) = scripted(answers);
    let context = context(client);
    let stop = CancellationToken::new();
    let (recorder, work) = Recorder::new(&context, "c", stop.clone());
    recorder.note(&object("a"), &Note::normal("Why", "x"));
    let work = tokio::spawn(work);
    // Longer than all tries together; time passes by itself.
    tokio::time::sleep(Duration::from_secs(600)).await;
    stop.cancel();
    work.await.unwrap();
    let methods = heard.lock().unwrap().clone();
    (methods, dropped(&context.metrics))
}

#[tokio::test]
async fn notes_become_events_and_the_same_again_is_counted() {
    let site = Site::new().await;
    site.record(|recorder| {
        recorder.note(&object("a"), &Note::normal("SuccessfulCreate", "Created job a-1"));
        recorder.note(&object("a"), &Note::warning("UnparseableSchedule", "no"));
        recorder.note(&object("a"), &Note::normal("SuccessfulCreate", "Created job a-1"));
    })
    .await;
    let events = site.events();
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
async fn an_event_that_is_gone_is_told_anew_with_its_count() {
    let site = Site::new().await;
    let context = context(site.client.clone());
    let stop = CancellationToken::new();
    let (recorder, work) = Recorder::new(&context, "c", stop.clone());
    let work = tokio::spawn(work);
    let note = Note::normal("Why", "x");
    let mut watch = site.store.watch("/events/", site.store.revision()).unwrap();
    recorder.note(&object("a"), &note);
    let created = watch.next().await.unwrap().unwrap();
    let delete = punctual_store::Op::delete(created.key.clone(), punctual_store::Condition::Any);
    site.store.write(delete).await.unwrap();
    recorder.note(&object("a"), &note);
    stop.cancel();
    work.await.unwrap();
    let events = site.events();
    assert_eq!((events.len(), &events[0]["count"]), (1, &json!(2)));
}

#[tokio::test]
async fn events_about_one_object_are_written_in_their_order() {
    let site = Site::new().await;
    site.record(|recorder| {
        for number in 0..9 {
            for name in ["a", "b", "c"] {
                recorder.note(&object(name), &Note::normal("Why", number.to_string()));
            }
        }
    })
    .await;
    let events = site.events();
    for name in ["a", "b", "c"] {
        let own = events.iter().filter(|event| event["involvedObject"]["name"] == name);
        let messages: Vec<&str> = own.map(|event| event["message"].as_str().unwrap()).collect();
        assert_eq!(messages, ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    }
}

#[tokio::test]
async fn a_burst_is_dropped_and_counted_where_there_is_no_room() {
    let (client, _) = scripted(vec![(201, json!({}))]);
    let context = context(client);
    let (recorder, _work) = Recorder::new(&context, "c", CancellationToken::new());
    for number in 0..20_000_u64 {
        recorder.note(&object(&number.to_string()), &Note::normal("Why", "x"));
    }
    let least = 20_000 - (LANES * WAITING_MAX) as u64;
    assert!((least..20_000).contains(&dropped(&context.metrics)), "{}", dropped(&context.metrics));
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_asked_again_for_a_while() {
    let trouble = status(503, "trouble");
    let (methods, dropped) = told(vec![trouble.clone(), trouble.clone(), (201, json!({}))]).await;
    assert_eq!((methods.len(), dropped), (3, 0));
    let (methods, dropped) = told(vec![trouble]).await;
    assert_eq!((methods.len(), dropped), (6, 1));
    let busy = status(429, "busy");
    assert_eq!(told(vec![busy, (201, json!({}))]).await.0.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_not_tried_again_and_what_is_there_is_fine() {
    for (code, lost) in [(400, 1), (403, 1), (404, 1), (422, 1), (409, 0)] {
        let (methods, dropped) = told(vec![status(code, "no")]).await;
        assert_eq!((methods, dropped), (vec!["POST".to_owned()], lost), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_server_that_does_not_answer() {
    let service =
        service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let context = context(Client::new(service, "default"));
    let stop = CancellationToken::new();
    let (recorder, work) = Recorder::new(&context, "c", stop.clone());
    recorder.note(&object("a"), &Note::normal("Why", "x"));
    stop.cancel();
    let begun = tokio::time::Instant::now();
    work.await;
    assert_eq!(begun.elapsed().as_secs(), FLUSH_MAX.as_secs());
}
