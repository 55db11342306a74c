//! Measures the slot ledger: `cargo run --release -p xtask -- bench ledger`.
//!
//! Fills the archive through the API, as the controller does: every write appends records to the status of
//! a CronJob. Prints how much the file grows for each record, and the time until a client of the process
//! has the first page of a list with each filter.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use axum::{Router, body::Body};
use clap::Args as ClapArgs;
use futures::{StreamExt as _, stream};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use punctual_e2e::load::clock;
use punctual_server::{ADMIN_GROUP, Config, LedgerLimits, Server, User};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::report::{Figures, Limit, render};

const FILE_GROWTH: &str = "file on disk, bytes a record";
const FILE_LEN: &str = "length of the file, bytes a record";
const OPEN: &str = "opening the store";
/// The writes that the server handles at a time.
const WRITERS: usize = 128;
/// How often each list is read. The slowest one counts.
const READS: usize = 5;
const PAGE_MS_MAX: f64 = 50.0;
/// The slot of the first records.
const START_SECOND: i64 = 1_790_000_040;

/// Options of `bench ledger`.
#[derive(ClapArgs)]
pub(crate) struct LedgerBenchArgs {
    /// Number of archived records
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) records: usize,
    /// Number of CronJobs
    #[arg(long, default_value_t = 1_000)]
    pub(super) cron_jobs: usize,
    /// Number of namespaces
    #[arg(long, default_value_t = 10)]
    pub(super) namespaces: usize,
    /// Number of records that a write appends
    #[arg(long, default_value_t = 10)]
    pub(super) batch: usize,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-ledger")]
    pub(super) folder: PathBuf,
}

pub(super) fn run(args: &LedgerBenchArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = Figures::default();
    runtime.block_on(measure(args, &mut figures))?;
    let pages = filters(args).map(|(name, _)| (name, Limit::AtMost(PAGE_MS_MAX)));
    let limits: Vec<_> = [(FILE_GROWTH, Limit::AtMost(200.0))].into_iter().chain(pages).collect();
    print!("{}", render(&[("punctual", &figures)], &limits));
    Ok(())
}

/// The measured lists and their queries.
fn filters(args: &LedgerBenchArgs) -> [(&'static str, String); 9] {
    let last = START_SECOND + 60 * i64::try_from(args.records / args.cron_jobs).unwrap_or(0);
    let time = |second: i64| Timestamp::from_second(second).unwrap_or_default().to_string();
    let middle = time(i64::midpoint(START_SECOND, last));
    let all = "slotrecords?limit=500";
    let select = |selector: &str| format!("{all}&fieldSelector={selector}");
    [
        ("first page, all namespaces", all.to_owned()),
        ("first page, one namespace", format!("namespaces/n0/{all}")),
        ("first page, one CronJob", format!("namespaces/n0/{}", select("cronJob=c0"))),
        ("first page, before a time", select(&format!("slotBefore={middle}"))),
        ("first page, decision Missed", select("decision=Missed")),
        ("first page, decision Skipped", select("decision=Skipped")),
        ("first page, result Failed", select("result=Failed")),
        ("first page, nothing selected", select("decision=Started,result=Deleted")),
        ("first page, label of one CronJob", format!("{all}&labelSelector=app%3Dc7")),
    ]
}

async fn measure(args: &LedgerBenchArgs, figures: &mut Figures) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let path = args.folder.join("store");
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let store = Store::open(&path, Options::default())?;
    let server = start_server(store.clone()).await?;
    create_cron_jobs(&server, args).await?;
    let before = fs::metadata(&path)?;
    let start = clock::now();
    fill(&server, args).await?;
    let took = start.elapsed();
    figures.add("records", "", args.records as f64);
    figures.add("writes", "/s", (args.records / args.batch) as f64 / took.as_secs_f64());
    let after = fs::metadata(&path)?;
    let growth = |one: u64, next: u64| next.saturating_sub(one) as f64 / args.records as f64;
    // The file has holes where nothing was written yet.
    figures.add(FILE_GROWTH, "", growth(before.blocks() * 512, after.blocks() * 512));
    figures.add(FILE_LEN, "", growth(before.len(), after.len()));
    read_lists(&server, args, figures).await?;
    store.close().await?;
    drop(server);
    reopen(&path, figures)
}

fn reopen(path: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    let (store, took) = clock::timed(|| Store::open(path, Options::default()));
    store?;
    figures.add_time(OPEN, took);
    Ok(())
}

pub(super) async fn start_server(store: Store) -> anyhow::Result<Router> {
    let ledger = LedgerLimits { age_max: Duration::MAX, records_max: usize::MAX };
    let server = Server::start(Config { ledger, ..Config::new(store) }).await;
    let server = server.map_err(|status| anyhow::anyhow!(status.message))?;
    Ok(server.local_router(User::new("bench", ADMIN_GROUP)))
}

/// Returns the namespace and the name of a CronJob.
pub(super) fn cron_job(args: &LedgerBenchArgs, number: usize) -> (String, String) {
    (format!("n{}", number % args.namespaces), format!("c{number}"))
}

pub(super) async fn create_cron_jobs(
    server: &Router,
    args: &LedgerBenchArgs,
) -> anyhow::Result<()> {
    for number in 0..args.namespaces {
        let name = format!("n{number}");
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        send(server, "POST", "/api/v1/namespaces", &namespace).await?;
    }
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]});
    for number in 0..args.cron_jobs {
        let (namespace, name) = cron_job(args, number);
        let object = json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"schedule": "* * * * *",
                "jobTemplate": {"spec": {"template": {"spec": pod}}}},
        });
        let path = format!("/apis/batch/v1/namespaces/{namespace}/cronjobs");
        send(server, "POST", &path, &object).await?;
    }
    Ok(())
}

/// Appends batches of records to all CronJobs in turn.
pub(super) async fn fill(server: &Router, args: &LedgerBenchArgs) -> anyhow::Result<()> {
    let rounds = args.records.div_ceil(args.cron_jobs * args.batch);
    let writes = (0..rounds).flat_map(|round| (0..args.cron_jobs).map(move |job| (round, job)));
    let results = stream::iter(writes)
        .map(|(round, job)| append(server, args, round, job))
        .buffered(WRITERS.min(args.cron_jobs));
    let failures: Vec<_> =
        results.filter_map(async |result: anyhow::Result<()>| result.err()).collect().await;
    ensure!(failures.is_empty(), "{:?}", failures.first());
    Ok(())
}

async fn append(
    server: &Router,
    args: &LedgerBenchArgs,
    round: usize,
    job: usize,
) -> anyhow::Result<()> {
    let (namespace, name) = cron_job(args, job);
    let first = round * args.batch;
    // The newest record of the earlier write is archived by this one.
    let slots: Vec<Value> = (first.saturating_sub(1)..first + args.batch)
        .map(|slot| record(&name, job, slot))
        .collect();
    let path = format!("/apis/batch/v1/namespaces/{namespace}/cronjobs/{name}/status");
    send(server, "PATCH", &path, &json!({"status": {"slots": slots}})).await
}

/// Returns a record. One in a hundred failed, one in a thousand was missed or skipped.
fn record(name: &str, job: usize, number: usize) -> Value {
    let slot = START_SECOND + 60 * i64::try_from(number).unwrap_or_default();
    let time = |second: i64| Timestamp::from_second(slot + second).unwrap_or_default().to_string();
    let kind = (number * 7 + job * 13) % 1000;
    match kind {
        0 => json!({"slot": time(0), "decision": "Missed", "reason": "DeadlineExceeded"}),
        1 => json!({"slot": time(0), "decision": "Skipped", "reason": "ConcurrencyForbidden"}),
        _ => json!({
            "slot": time(0), "decision": "Started", "reason": "Scheduled",
            "job": {"name": format!("{name}-{}", slot / 60), "uid": random_uid(job, number)},
            "createdTime": time(0), "startTime": time(1), "completionTime": time(30 + job as i64 % 40),
            "result": if kind < 12 { "Failed" } else { "Succeeded" },
            "failureReason": if kind < 12 { "BackoffLimitExceeded" } else { "" },
            "attempts": 1,
        }),
    }
}

/// Returns a UID that cannot be compressed, as real ones.
fn random_uid(job: usize, number: usize) -> String {
    let rng = punctual_testing::TestRng::new((job as u64) << 32 | number as u64);
    let part = |bits: u32| rng.next_u64() >> (64 - bits);
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        part(32),
        part(16),
        part(12),
        part(12),
        part(48)
    )
}

async fn read_lists(
    server: &Router,
    args: &LedgerBenchArgs,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for (name, query) in filters(args) {
        let path = format!("/apis/punctual.dev/v1/{query}");
        let mut slowest = Duration::ZERO;
        for _ in 0..READS {
            let start = clock::now();
            send(server, "GET", &path, &Value::Null).await?;
            slowest = slowest.max(start.elapsed());
        }
        figures.add_time(name, slowest);
    }
    Ok(())
}

pub(super) async fn send(
    server: &Router,
    method: &str,
    path: &str,
    body: &Value,
) -> anyhow::Result<()> {
    let content_type =
        if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).header("Content-Type", content_type);
    let response = server.clone().oneshot(request.body(body)?).await?;
    let code = response.status();
    let bytes = response.into_body().collect().await?.to_bytes();
    let is_success = code == StatusCode::OK || code == StatusCode::CREATED;
    ensure!(is_success, "{method} {path}: {}", String::from_utf8_lossy(&bytes));
    Ok(())
}
