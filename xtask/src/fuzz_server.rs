//! Fuzzes the server in process with mutations of recorded requests: bodies, patches, selectors, paths
//! and headers. Fails on any panic, internal error, error response that is not a `Status`, and on
//! memory that grows without bound.

mod mutate;
mod request;

use std::collections::BTreeMap;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use futures::FutureExt as _;
use http::Response;
use http_body_util::BodyExt as _;
use punctual_api::Dialect;
use punctual_e2e::process_usage;
use punctual_server::{ADMIN_GROUP, Config, Server, ServerLimits, User};
use punctual_store::{InMemoryLog, Options, Store};
use punctual_testing::TestRng;
use serde_json::Value;
use tower::ServiceExt as _;

use self::request::{RandomRequest, RecordedRequests};

/// Options of `fuzz-server`.
#[derive(clap::Args)]
pub(crate) struct FuzzServerArgs {
    /// Number of requests
    #[arg(long, default_value_t = 1_000_000)]
    requests: u64,
    /// Seed of the random numbers; the same seed gives the same requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The number of requests divided by this is the warm-up, after which memory should no longer grow.
const WARM_UP_DIVISOR: u64 = 10;
/// The allowed growth after that.
const GROWTH_BYTES_MAX: u64 = 48 << 20;
/// The number of requests between deletions of all objects, which keep the store small.
const DELETE_EVERY: u64 = 1_000;

static PANICS: AtomicU64 = AtomicU64::new(0);

/// Counts of the run.
#[derive(Default)]
struct ResponseStats {
    by_code: BTreeMap<u16, u64>,
    failures: Vec<String>,
}

pub(crate) fn run(args: &FuzzServerArgs) -> anyhow::Result<()> {
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        default_hook(info);
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(fuzz(args))
}

async fn fuzz(args: &FuzzServerArgs) -> anyhow::Result<()> {
    let rng = TestRng::new(args.seed);
    let mut stats = ResponseStats::default();
    let requests = RecordedRequests::read()?;
    // One server accepts only what kube-apiserver accepts, the other also our extensions.
    let strict = start_server(Dialect::Kubernetes).await?;
    let ours = start_server(Dialect::Punctual).await?;
    let mut warm_memory = None;
    for number in 0..args.requests {
        let router = if rng.percent(50) { &strict } else { &ours };
        if number % DELETE_EVERY == 0 {
            delete_all(router).await;
        }
        send(router, &requests, &rng, &mut stats).await;
        if number == args.requests / WARM_UP_DIVISOR {
            warm_memory = Some(resident_bytes()?);
        }
        if (number + 1) % 100_000 == 0 {
            println!("{} requests, {:?}", number + 1, stats.by_code);
        }
        anyhow::ensure!(stats.failures.len() < 10, "seed {}: {:#?}", args.seed, stats.failures);
    }
    report(args, &stats, warm_memory)
}

fn resident_bytes() -> anyhow::Result<u64> {
    process_usage::resident_bytes(std::process::id())
}

fn report(
    args: &FuzzServerArgs,
    stats: &ResponseStats,
    warm_memory: Option<u64>,
) -> anyhow::Result<()> {
    let panics = PANICS.load(Ordering::Relaxed);
    let memory = resident_bytes()?;
    let growth = warm_memory.map_or(0, |warm_memory| memory.saturating_sub(warm_memory));
    println!("responses by code: {:?}", stats.by_code);
    println!(
        "{} requests, {panics} panics, {} failures, memory {} MiB, {} MiB more than after the first {}",
        args.requests,
        stats.failures.len(),
        memory >> 20,
        growth >> 20,
        args.requests / WARM_UP_DIVISOR,
    );
    anyhow::ensure!(stats.failures.is_empty(), "{:#?}", stats.failures);
    anyhow::ensure!(panics == 0, "{panics} panics");
    anyhow::ensure!(growth < GROWTH_BYTES_MAX, "memory grew by {growth} bytes");
    Ok(())
}

async fn start_server(dialect: Dialect) -> anyhow::Result<Router> {
    let options =
        Options { history_changes_max: 256, history_bytes_max: 4 << 20, ..Options::default() };
    let store = Store::start(Box::new(InMemoryLog), options)?;
    let limits = ServerLimits { requests_per_second: u32::MAX, ..ServerLimits::default() };
    let config = Config { dialect, limits, ..Config::new(store) };
    let server = Server::start(config).await.context("the server did not start")?;
    Ok(server.local_router(User::new("fuzz", ADMIN_GROUP)))
}

/// Deletes all objects, and creates the namespace of the recorded requests.
async fn delete_all(router: &Router) {
    let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"golden"}}"#;
    // A terminating namespace is finalized and created again.
    let finalize =
        http::Request::put("/api/v1/namespaces/golden/finalize").body(Body::from(namespace));
    let create = http::Request::post("/api/v1/namespaces").body(Body::from(namespace));
    let deletes =
        request::COLLECTIONS.iter().map(|path| http::Request::delete(*path).body(Body::empty()));
    for request in deletes.chain([finalize, create]).flatten() {
        let Ok(_) = router.clone().oneshot(request).await;
    }
}

async fn send(
    router: &Router,
    requests: &RecordedRequests,
    rng: &TestRng,
    stats: &mut ResponseStats,
) {
    let Some(RandomRequest { request, description }) = requests.generate(rng) else {
        return;
    };
    let has_body = request.method() != http::Method::HEAD;
    let Ok(response) = router.clone().oneshot(request).await;
    *stats.by_code.entry(response.status().as_u16()).or_default() += 1;
    let failure = check_response(response).await;
    if has_body && let Some(failure) = failure {
        stats.failures.push(format!("{description}\n -> {failure}"));
    }
}

/// The reason why a response is a failure of the server; `None` if it is not.
async fn check_response(response: Response<Body>) -> Option<String> {
    let (parts, mut body) = response.into_parts();
    let code = parts.status.as_u16();
    // A watch does not end; its first frame is enough.
    if code < 400 {
        let _ = body.frame().now_or_never();
        return None;
    }
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let is = |field: &str, value: &Value| status.get(field) == Some(value);
    let is_status = is("kind", &"Status".into()) && is("code", &code.into());
    if !is_status && text != "404 page not found\n" {
        return Some(format!("{code} without a Status: {text}"));
    }
    (code >= 500 && !is_expected_failure(&status)).then_some(text)
}

/// Whether kube-apiserver returns the same internal error.
fn is_expected_failure(status: &Value) -> bool {
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    message.starts_with("strconv.ParseUint: parsing")
        || message.starts_with("Timeout: Too large resource version")
}
