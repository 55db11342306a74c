//! Random requests for the server, in process: bodies, patches, selectors, paths and headers made of
//! recorded ones and damaged. Any panic, any failure of the server's own, any refusal that is no
//! `Status`, and memory that grows without end, fails.

mod damage;
mod memory;
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
use punctual_server::{ADMIN_GROUP, Config, Limits, Server, User};
use punctual_store::{Forgetful, Options, Store};
use serde_json::Value;
use tower::ServiceExt as _;

use self::request::Requests;
use crate::dice::Dice;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many requests
    #[arg(long, default_value_t = 1_000_000)]
    requests: u64,
    /// Where to begin; the same seed gives the same requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// After this share of the requests the server has seen everything that it keeps.
const WARM_UP: u64 = 10;
/// What memory may then still grow by.
const GROWTH_MAX_KIB: u64 = 48 << 10;
/// So often everything is deleted, so that what is stored stays small.
const SWEEP_EVERY: u64 = 1_000;

static PANICS: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
struct Seen {
    by_code: BTreeMap<u16, u64>,
    faults: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(info);
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(fuzz(args))
}

async fn fuzz(args: &Args) -> anyhow::Result<()> {
    let (mut dice, mut seen) = (Dice(args.seed), Seen::default());
    let requests = Requests::recorded()?;
    let (strict, ours) = (router(Dialect::Strict).await?, router(Dialect::Punctual).await?);
    let mut warm = None;
    for number in 0..args.requests {
        let router = if dice.chance(50) { &strict } else { &ours };
        if number % SWEEP_EVERY == 0 {
            sweep(router).await;
        }
        send(router, &requests, &mut dice, &mut seen).await;
        if number == args.requests / WARM_UP {
            warm = Some(memory::resident_kib()?);
        }
        if (number + 1) % 100_000 == 0 {
            println!("{} requests, {:?}", number + 1, seen.by_code);
        }
        anyhow::ensure!(seen.faults.len() < 10, "seed {}: {:#?}", args.seed, seen.faults);
    }
    report(args, &seen, warm)
}

fn report(args: &Args, seen: &Seen, warm: Option<u64>) -> anyhow::Result<()> {
    let (panics, now) = (PANICS.load(Ordering::Relaxed), memory::resident_kib()?);
    let grown = warm.map_or(0, |warm| now.saturating_sub(warm));
    println!("answers by code: {:?}", seen.by_code);
    println!(
        "{} requests, {panics} panics, {} faults, memory {} MiB, {} MiB more than after the first {}",
        args.requests,
        seen.faults.len(),
        now >> 10,
        grown >> 10,
        args.requests / WARM_UP,
    );
    anyhow::ensure!(seen.faults.is_empty(), "{:#?}", seen.faults);
    anyhow::ensure!(panics == 0, "{panics} panics");
    anyhow::ensure!(grown < GROWTH_MAX_KIB, "memory grew by {grown} KiB");
    Ok(())
}

async fn router(dialect: Dialect) -> anyhow::Result<Router> {
    let options = Options { ring_changes_max: 256, ring_bytes_max: 4 << 20, ..Options::default() };
    let store = Store::start(Box::new(Forgetful), options)?;
    let limits = Limits { requests_per_second: u32::MAX, ..Limits::default() };
    let config = Config { dialect, limits, ..Config::new(store) };
    let server = Server::start(config).await.context("the server did not start")?;
    Ok(server.local_router(User::new("fuzz", ADMIN_GROUP)))
}

/// Deletes everything, and makes sure that there is a namespace for what comes.
async fn sweep(router: &Router) {
    let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"golden"}}"#;
    // One that is on its way out is let go, and made anew.
    let ended =
        http::Request::put("/api/v1/namespaces/golden/finalize").body(Body::from(namespace));
    let made = http::Request::post("/api/v1/namespaces").body(Body::from(namespace));
    let deletes =
        request::COLLECTIONS.iter().map(|path| http::Request::delete(*path).body(Body::empty()));
    for request in deletes.chain([ended, made]).flatten() {
        let Ok(_) = router.clone().oneshot(request).await;
    }
}

async fn send(router: &Router, requests: &Requests, dice: &mut Dice, seen: &mut Seen) {
    let Some((request, told)) = requests.next(dice) else {
        return;
    };
    let has_body = request.method() != http::Method::HEAD;
    let Ok(response) = router.clone().oneshot(request).await;
    *seen.by_code.entry(response.status().as_u16()).or_default() += 1;
    if let Some(fault) = fault(response).await.filter(|_| has_body) {
        seen.faults.push(format!("{told}\n -> {fault}"));
    }
}

/// What is wrong with an answer.
async fn fault(response: Response<Body>) -> Option<String> {
    let (parts, mut body) = response.into_parts();
    let code = parts.status.as_u16();
    // A watch goes on; its first piece is enough.
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
        return Some(format!("{code}, and no Status: {text}"));
    }
    (code >= 500 && !is_kubernetes_own(&status)).then_some(text)
}

/// What kube-apiserver, too, answers with its own failure.
fn is_kubernetes_own(status: &Value) -> bool {
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    message.starts_with("strconv.ParseUint: parsing")
        || message.starts_with("Timeout: Too large resource version")
}
