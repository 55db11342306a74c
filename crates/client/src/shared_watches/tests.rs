use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use kube::client::Body;
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{InMemoryLog, Options, Store};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tower::{ServiceExt as _, service_fn};

use super::*;
use crate::resources::CONFIG_MAPS;
use crate::{ApiClient, WatchSource, watch_resource};

const SECOND: Duration = Duration::from_secs(1);
/// The time between joining the watch and listing.
const LIST_DELAY: Duration = Duration::from_millis(500);

/// What the server has received.
#[derive(Default)]
struct RequestCounts {
    watches: AtomicUsize,
    /// Lists of subscribers.
    lists: AtomicUsize,
    /// How many of the next lists are answered with an old version and no objects.
    stale_lists: AtomicUsize,
}

/// A server without threads, for paused time.
struct CountingServer {
    watches: SharedWatches,
    api: ApiClient,
    counts: Arc<RequestCounts>,
}

impl CountingServer {
    async fn start(options: Options) -> CountingServer {
        let (store, committing) = Store::start_inline(Box::new(InMemoryLog), options).unwrap();
        tokio::spawn(committing);
        let server = Server::start(Config::new(store)).await.unwrap();
        let router = server.local_router(User::new("test", ADMIN_GROUP));
        let counts: Arc<RequestCounts> = Arc::default();
        let counted = counts.clone();
        let service = service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let router = router.clone();
            let counts = counted.clone();
            async move {
                let is_list = query.contains("limit=500");
                if is_list {
                    sleep(LIST_DELAY).await;
                }
                let response = router.oneshot(request).await?;
                let is_watch = query.contains("watch=true");
                counts.watches.fetch_add(usize::from(is_watch), Ordering::Relaxed);
                counts.lists.fetch_add(usize::from(is_list), Ordering::Relaxed);
                if is_list && take_one(&counts.stale_lists) {
                    let list = json!({"metadata": {"resourceVersion": "1"}, "items": []});
                    return Ok(response.map(|_| list.to_string().into()));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let client = Client::new(service, "default");
        let api = ApiClient::new(client.clone(), Arc::new(()));
        CountingServer { watches: SharedWatches::new(client), api, counts }
    }

    async fn create(&self, names: impl IntoIterator<Item = String>) {
        for name in names {
            let object = json!({"metadata": {"name": name}}).to_string();
            let path = CONFIG_MAPS.collection_path("default");
            self.api.create::<serde::de::IgnoredAny>(&path, object).await.unwrap();
        }
    }

    async fn delete(&self, name: &str) {
        let path = CONFIG_MAPS.object_path("default", name);
        self.api.delete::<serde::de::IgnoredAny>(&path, "Background", &json!({})).await.unwrap();
    }

    /// Starts a subscriber in a task of its own.
    fn subscribe(&self) -> TestSubscriber {
        let handler: Arc<TestHandler> = Arc::default();
        let watching = self.watch(handler.clone());
        TestSubscriber { handler, watching: tokio::spawn(watching) }
    }

    fn watch(&self, handler: Arc<TestHandler>) -> impl Future<Output = ()> + Send + use<> {
        let source = WatchSource::Shared(self.watches.clone());
        let stop = tokio_util::sync::CancellationToken::new();
        watch_resource(source, &CONFIG_MAPS, handler, SyncTracker::new(), stop)
    }

    fn watch_count(&self) -> usize {
        self.counts.watches.load(Ordering::Relaxed)
    }
}

/// Decrements a counter. Returns whether it was above zero.
fn take_one(counter: &AtomicUsize) -> bool {
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok()
}

struct TestSubscriber {
    handler: Arc<TestHandler>,
    watching: JoinHandle<()>,
}

impl Drop for TestSubscriber {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// Keeps the current objects and a log of all calls.
#[derive(Default)]
struct TestHandler {
    state: Mutex<TestState>,
}

#[derive(Default)]
struct TestState {
    names_by_uid: BTreeMap<String, String>,
    log: Vec<String>,
}

impl TestHandler {
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.state.lock().unwrap().names_by_uid.values().cloned().collect();
        names.sort();
        names
    }

    fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    fn count(&self, entry: &str) -> usize {
        self.log().iter().filter(|found| *found == entry).count()
    }
}

#[derive(Clone, Deserialize)]
struct TestObject {
    metadata: TestMetadata,
}

#[derive(Clone, Deserialize)]
struct TestMetadata {
    name: String,
    uid: String,
}

impl CachedFields for TestObject {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl EventHandler<TestObject> for TestHandler {
    fn list_started(&self) {
        self.state.lock().unwrap().log.push("list".to_owned());
    }

    fn apply(&self, TestObject { metadata }: TestObject) {
        let mut state = self.state.lock().unwrap();
        state.log.push(format!("+{}", metadata.name));
        state.names_by_uid.insert(metadata.uid, metadata.name);
    }

    fn delete(&self, TestObject { metadata }: TestObject) {
        let mut state = self.state.lock().unwrap();
        state.log.push(format!("-{}", metadata.name));
        state.names_by_uid.remove(&metadata.uid);
    }

    fn retain(&self, uids: &HashSet<String>) {
        let mut state = self.state.lock().unwrap();
        state.log.push("listed".to_owned());
        state.names_by_uid.retain(|uid, _| uids.contains(uid));
    }
}

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|at| format!("{at:04}")).collect()
}

#[tokio::test(start_paused = true)]
async fn subscribers_share_one_watch_and_get_all_changes_in_order() {
    let server = CountingServer::start(Options::default()).await;
    let subscribers: Vec<_> = (0..4).map(|_| server.subscribe()).collect();
    sleep(SECOND).await;
    server.create(["b".to_owned(), "a".to_owned()]).await;
    server.delete("b").await;
    server.create(["b".to_owned()]).await;
    sleep(SECOND).await;
    for subscriber in &subscribers {
        assert_eq!(subscriber.handler.log(), ["list", "listed", "+b", "+a", "-b", "+b"]);
    }
    assert_eq!((server.watch_count(), server.counts.lists.load(Ordering::Relaxed)), (1, 4));
}

#[tokio::test(start_paused = true)]
async fn a_late_subscriber_gets_the_current_state_first_and_no_change_twice() {
    let server = CountingServer::start(Options::default()).await;
    let _first = server.subscribe();
    sleep(SECOND).await;
    server.create(["a".to_owned()]).await;
    let second = server.subscribe();
    sleep(LIST_DELAY / 2).await;
    // The second subscriber has joined and not yet listed.
    server.create(["b".to_owned()]).await;
    server.delete("a").await;
    sleep(SECOND).await;
    server.create(["c".to_owned()]).await;
    sleep(SECOND).await;
    assert_eq!(second.handler.log(), ["list", "+b", "listed", "+c"]);
    assert_eq!(server.watch_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_subscriber_delays_the_others_briefly_and_lists_again() {
    let server = CountingServer::start(Options::default()).await;
    let running = server.subscribe();
    let handler: Arc<TestHandler> = Arc::default();
    let mut stalled = Box::pin(server.watch(handler.clone()));
    tokio::select! {
        () = &mut stalled => {}
        () = sleep(SECOND) => {}
    }
    assert_eq!(handler.log(), ["list", "listed"]);
    // From here on nothing polls the stalled subscriber.
    let created = names(0..CHANNEL_CAPACITY + 100);
    server.create(created.clone()).await;
    sleep(STALL_MAX + SECOND).await;
    assert!(running.handler.names() == created, "{} objects", running.handler.names().len());
    assert_eq!(running.handler.count("list"), 1);
    tokio::select! {
        () = &mut stalled => {}
        () = sleep(2 * SECOND) => {}
    }
    assert!(handler.names() == created, "{} objects", handler.names().len());
    assert_eq!(handler.count("list"), 2);
    server.create(["z".to_owned()]).await;
    tokio::select! {
        () = &mut stalled => {}
        () = sleep(SECOND) => {}
    }
    assert_eq!((handler.count("+z"), running.handler.count("+z")), (1, 1));
    assert_eq!(server.watch_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_subscribers_list_again_after_the_watch_expired() {
    let server =
        CountingServer::start(Options { history_changes_max: 4, ..Options::default() }).await;
    let subscribers = [server.subscribe(), server.subscribe()];
    sleep(SECOND).await;
    server.create(names(0..2)).await;
    sleep(SECOND).await;
    // The server ends a watch after 290 seconds, and the next one begins 200 ms later.
    sleep(Duration::from_millis(288_100)).await;
    server.delete("0000").await;
    server.create(names(2..20)).await;
    sleep(Duration::from_secs(5)).await;
    for subscriber in &subscribers {
        assert_eq!(subscriber.handler.names(), names(1..20));
        assert_eq!(subscriber.handler.count("list"), 2);
    }
    server.create(["z".to_owned()]).await;
    sleep(SECOND).await;
    assert_eq!(subscribers.each_ref().map(|it| it.handler.count("+z")), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_in_time_continues_without_a_list() {
    let server = CountingServer::start(Options::default()).await;
    let subscriber = server.subscribe();
    sleep(Duration::from_secs(1000)).await;
    server.create(["a".to_owned()]).await;
    sleep(SECOND).await;
    assert_eq!(subscriber.handler.log(), ["list", "listed", "+a"]);
    assert_eq!(server.watch_count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_older_than_the_watch_is_repeated() {
    let server = CountingServer::start(Options::default()).await;
    server.create(["a".to_owned()]).await;
    server.counts.stale_lists.store(1, Ordering::Relaxed);
    let handler: Arc<TestHandler> = Arc::default();
    let synced = SyncTracker::new();
    let source = WatchSource::Shared(server.watches.clone());
    let stop = tokio_util::sync::CancellationToken::new();
    let watching =
        watch_resource(source, &CONFIG_MAPS, handler.clone(), synced.clone(), stop.clone());
    let watching = tokio::spawn(watching);
    synced.wait_for(1).await;
    assert_eq!(handler.log(), ["list", "listed", "list", "+a", "listed"]);
    stop.cancel();
    watching.await.unwrap();
}
