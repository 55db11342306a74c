//! Measures the dashboard: `cargo run --release -p xtask -- bench dashboard`.
//!
//! Fills a server with CronJobs and slot records, serves the dashboard for it, and reads each page over HTTP. Then it
//! changes CronJobs at a fixed rate while tabs have event streams open, one of which reads nothing.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::Router;
use clap::Args as ClapArgs;
use kube::Client;
use punctual_client::{SystemClock, WatchSource};
use punctual_dashboard::{Account, Dashboard, DashboardOptions, bind};
use punctual_e2e::load::clock;
use punctual_e2e::process_usage;
use punctual_schedule::Zones;
use punctual_store::{Options, Store};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::ledger::{self, LedgerBenchArgs};
use super::report::{Figures, Limit, mebibytes, render};

/// How often each page is read.
const READS: usize = 40;
const PAGE_MS_MAX: f64 = 200.0;
const PAGE_KB_MAX: f64 = 500.0;
const GROWTH: &str = "memory growth with event streams";
const GROWTH_MIB_MAX: f64 = 32.0;
/// How many tabs have an event stream open.
const TABS: usize = 30;
/// How often a part of the changes is made.
const TICKS_PER_SECOND: usize = 20;

/// Options of `bench dashboard`.
#[derive(ClapArgs)]
pub(crate) struct DashboardBenchArgs {
    /// Number of CronJobs
    #[arg(long, default_value_t = 10_000)]
    cron_jobs: usize,
    /// Number of archived records
    #[arg(long, default_value_t = 1_000_000)]
    records: usize,
    /// Changes in a second while event streams are open
    #[arg(long, default_value_t = 1_000)]
    changes: usize,
    /// Seconds of the measurement with event streams
    #[arg(long, default_value_t = 20)]
    seconds: usize,
    /// Folder for the data
    #[arg(long, default_value = "target/bench-dashboard")]
    folder: PathBuf,
}

pub(super) fn run(args: &DashboardBenchArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut figures = Figures::default();
    runtime.block_on(measure(args, &mut figures))?;
    let pages = pages();
    let times = pages.iter().map(|(name, _)| (*name, Limit::AtMost(PAGE_MS_MAX)));
    let limits: Vec<_> = times.chain([(GROWTH, Limit::AtMost(GROWTH_MIB_MAX))]).collect();
    print!("{}", render(&[("punctual", &figures)], &limits));
    Ok(())
}

fn pages() -> [(&'static str, &'static str); 11] {
    [
        ("fleet", "/"),
        ("fleet, last page", "/?page=200"),
        ("fleet, search and sort", "/?q=c99&sort=next&order=desc"),
        ("fleet, needs attention", "/?state=attention&sort=state"),
        ("CronJob", "/cronjobs/n1/c1"),
        ("slot", "/cronjobs/n1/c1/slots/2026-09-21T14:30:00Z"),
        ("timeline", "/timeline?hours=12"),
        ("load", "/load"),
        ("plan", "/plan"),
        ("ledger", "/ledger"),
        ("ledger, failed runs", "/ledger?result=Failed&namespace=n1"),
    ]
}

/// A dashboard and a signed-in browser.
struct ServedDashboard {
    address: SocketAddr,
    cookie: String,
}

async fn measure(args: &DashboardBenchArgs, figures: &mut Figures) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.folder)?;
    let path = args.folder.join("store");
    if path.exists() {
        std::fs::remove_file(&path)?;
    }
    let store = Store::open(&path, Options::default())?;
    let server = ledger::start_server(store.clone()).await?;
    let filling = LedgerBenchArgs {
        records: args.records,
        cron_jobs: args.cron_jobs,
        namespaces: 10,
        batch: 10,
        folder: args.folder.clone(),
    };
    println!("storing {} CronJobs and {} records", args.cron_jobs, args.records);
    ledger::create_cron_jobs(&server, &filling).await?;
    ledger::fill(&server, &filling).await?;
    let stop = CancellationToken::new();
    let site = start(&server, &stop).await?;
    let started = clock::now();
    while !site.get("/").await?.1.contains("data-row") {
        ensure!(started.elapsed() < Duration::from_secs(120), "the lists do not complete");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    figures.add_time("first page after the start", started.elapsed());
    for (name, path) in pages() {
        read_page(&site, name, path, figures).await?;
    }
    change_with_streams(args, &filling, &server, &site, figures).await?;
    stop.cancel();
    store.close().await?;
    Ok(())
}

async fn start(server: &Router, stop: &CancellationToken) -> anyhow::Result<ServedDashboard> {
    let client = Client::new(server.clone(), "default");
    let options = DashboardOptions {
        accounts: vec![Account { name: "bench".into(), client: client.clone() }],
        token_lookup: None,
        watches: WatchSource::Own(client),
        cluster: "bench".into(),
        zone: Zones::bundled().utc(),
        clock: Arc::new(SystemClock),
        hosts: Vec::new(),
        session_file: None,
        instance: "bench".into(),
        tls: None,
    };
    let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)), false).await?;
    let address = listener.local_addr()?;
    let dashboard = Dashboard::new(options, address).await?;
    let link = dashboard.links().link(clock::wall_time())?;
    tokio::spawn(dashboard.serve(listener, stop.clone()));
    let site = ServedDashboard { address, cookie: String::new() };
    let path = link.strip_prefix(&format!("http://{address}")).context("the login link")?;
    let (head, _) = site.get(path).await?;
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.and_then(|cookie| cookie.split(';').next()).context("no cookie")?;
    Ok(ServedDashboard { cookie: cookie.to_owned(), ..site })
}

impl ServedDashboard {
    async fn open(&self, path: &str) -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        let ServedDashboard { address, cookie } = self;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(stream)
    }

    /// Returns the head and the body of a page.
    async fn get(&self, path: &str) -> anyhow::Result<(String, String)> {
        let mut response = Vec::new();
        self.open(path).await?.read_to_end(&mut response).await?;
        let text = String::from_utf8_lossy(&response).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").context("no head")?;
        Ok((head.to_owned(), body.to_owned()))
    }
}

async fn read_page(
    site: &ServedDashboard,
    name: &'static str,
    path: &str,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..READS {
        let start = clock::now();
        let (head, body) = site.get(path).await?;
        times.push(start.elapsed());
        ensure!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        size = size.max(body.len());
    }
    let first = times.first().copied().unwrap_or_default();
    times.sort();
    let p95 = times.get(READS * 95 / 100).copied().unwrap_or_default();
    figures.add_time(name, p95);
    figures.add_time(format!("{name}, first"), first);
    let kilobytes = size as f64 / 1_000.0;
    figures.add(format!("{name}, size"), " kB", kilobytes);
    ensure!(kilobytes <= PAGE_KB_MAX, "{path} has {kilobytes} kB");
    Ok(())
}

async fn change_with_streams(
    args: &DashboardBenchArgs,
    filling: &LedgerBenchArgs,
    server: &Router,
    site: &ServedDashboard,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let events = Arc::new(AtomicU64::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..TABS {
        let mut stream = site.open("/events?scope=fleet").await?;
        let events = events.clone();
        readers.spawn(async move {
            let mut chunk = vec![0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut chunk).await {
                let text =
                    String::from_utf8_lossy(chunk.get(..count).unwrap_or_default()).into_owned();
                events.fetch_add(text.matches("event: change").count() as u64, Ordering::Relaxed);
            }
        });
    }
    let _silent = site.open("/events?scope=fleet").await?;
    let pid = std::process::id();
    // The caches of the first seconds are not growth.
    change(args, filling, server, 5).await?;
    let before = process_usage::resident_bytes(pid)?;
    let start = clock::now();
    change(args, filling, server, args.seconds).await?;
    let took = start.elapsed().as_secs_f64();
    let after = process_usage::resident_bytes(pid)?;
    figures.add("changes", "/s", (args.changes * args.seconds) as f64 / took);
    figures.add(
        "events to each tab",
        "/s",
        events.load(Ordering::Relaxed) as f64 / TABS as f64 / took,
    );
    figures.add(GROWTH, " MiB", mebibytes(after) - mebibytes(before));
    read_page(site, "fleet, after the changes", "/", figures).await?;
    readers.shutdown().await;
    Ok(())
}

/// Changes CronJobs at a fixed rate.
async fn change(
    args: &DashboardBenchArgs,
    filling: &LedgerBenchArgs,
    server: &Router,
    seconds: usize,
) -> anyhow::Result<()> {
    let per_tick = args.changes / TICKS_PER_SECOND;
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / TICKS_PER_SECOND as u32);
    for tick in 0..seconds * TICKS_PER_SECOND {
        ticks.tick().await;
        let writes = (0..per_tick).map(|index| {
            let number = (tick * per_tick + index) % args.cron_jobs;
            let (namespace, name) = ledger::cron_job(filling, number);
            let path = format!("/apis/batch/v1/namespaces/{namespace}/cronjobs/{name}/status");
            let body = json!({"status": {"successfulRuns": tick + 1}});
            async move { ledger::send(server, "PATCH", &path, &body).await }
        });
        for result in futures::future::join_all(writes).await {
            result?;
        }
    }
    Ok(())
}
