//! `punctual up`: everything in one process.
//!
//! ```text
//!  manifests ─▶ apply ─┐               ┌─▶ controllers ─┐
//!                      ▼               │                ▼
//!  kubectl ─▶ site ─▶ server ─▶ store ─┼──────────── clients in this process
//!                      ▲               │                ▲
//!         PodLogs ─────┘               ├─▶ runner ──────┤──▶ supervisors (their own processes)
//!                                      └─▶ follow ──────┘──▶ the terminal
//! ```
//!
//! A part that ends by itself takes the process with it: whoever supervises us starts us again, and
//! everything goes on from what the store and the Pods' folders say.

mod apply;
mod follow;
mod host;
mod lines;
mod logs;
mod model;
mod node;
mod parts;
mod printer;
mod terminal;
mod view;
mod watch;
mod words;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use punctual_api::Dialect;
use punctual_controller::Metrics;
use punctual_schedule::Zone;
use punctual_server::{Config, Server};
use punctual_store::Store;
use tokio_util::sync::CancellationToken;

use self::follow::Style;
use self::host::Host;
use self::logs::PodLogs;
use self::parts::Parts;
use self::printer::Printer;
use crate::args::Up;
use crate::manifest::Document;
use crate::site::{self, Shared, Site};
use crate::{log, stop};

/// How often the store is asked how it is; it has no way to call.
const ASK_STORE_EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(up: &Up, zone: &Zone) -> anyhow::Result<()> {
    // Before anything is touched.
    let documents = apply::read(&up.paths, zone)?;
    let is_live = terminal::is_there() && !up.plain;
    let printer = Printer::start()?;
    if is_live && std::io::stderr().is_terminal() {
        log::start(&up.site.log, printer.clone())?;
    } else {
        log::start(&up.site.log, std::io::stderr)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let result = running(Start { up, zone, documents, is_live }, &printer).await;
        printer.flush().await;
        result
    })
}

/// What was asked for.
struct Start<'a> {
    up: &'a Up,
    zone: &'a Zone,
    documents: Vec<Document>,
    is_live: bool,
}

async fn running(start: Start<'_>, printer: &Printer) -> anyhow::Result<()> {
    let stop = stop::on_signal()?;
    let site = Site::open(&start.up.site).await?;
    let store = site.store.clone();
    let result = Box::pin(living(start, site, printer, stop)).await;
    let closed = store.close().await.context("the store could not be closed cleanly");
    result.and(closed)
}

/// From the first object to the last request.
async fn living(
    start: Start<'_>,
    site: Site<'_>,
    printer: &Printer,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let node = node::name(start.up.node_name.as_deref(), &site.folder)?;
    let shared = Shared::default();
    // Nobody else has this folder, so nobody else can lead.
    shared.metrics.leader("punctual", true);
    let server = start_server(&site, &node, start.zone, &shared.metrics).await?;
    let applying = apply::apply(site::client(&server, "punctual-up"), start.documents);
    let applied = tokio::select! {
        applied = applying => applied?,
        () = stop.cancelled() => return Ok(()),
    };
    let kubeconfig = site.write_kubeconfigs()?;
    let mut parts = Parts::new(stop);
    let host = Host { server: &server, site: &site, up: start.up, zone: start.zone, node: &node };
    host.start(&shared, &mut parts).await?;
    let (url, zone) = (site.url(), start.zone.clone());
    printer.text(words::greeting(&url, &kubeconfig, &applied));
    let style = match start.is_live {
        true => Style::View { has_color: start.up.has_color(), url, zone },
        false => Style::Lines,
    };
    let (viewer, to) = (site::client(&server, "punctual-view"), printer.clone());
    parts.start("the view", |stop| follow::follow(viewer, style, to, stop));
    let (store, front) = (site.store.clone(), CancellationToken::new());
    let serving = site.serve(server.clone(), front.clone())?;
    let mut front = Parts::new(front);
    front.start("the server", |_| serving);
    let result = tokio::select! {
        result = parts.last() => result,
        result = front.last() => result,
        failure = failure(&store) => Err(failure),
    };
    if let Err(error) = &result {
        tracing::error!("{error:#}; stopping");
    }
    // Whoever writes goes before whoever takes it down.
    parts.end().await;
    printer.text(words::farewell(&server).await);
    front.end().await;
    result
}

async fn start_server(
    site: &Site<'_>,
    node: &str,
    zone: &Zone,
    metrics: &Metrics,
) -> anyhow::Result<Server> {
    let metrics = metrics.clone();
    let config = Config {
        dialect: Dialect::Punctual,
        node: Some(node.to_owned()),
        logs: Some(Arc::new(PodLogs::new(&site.folder))),
        metrics: Some(Arc::new(move |page: &mut String| metrics.encode(page))),
        ..site.config(zone.zones().clone())?
    };
    Ok(Server::start(config).await?)
}

/// Returns when the store has failed. It takes no more writes then; opening it again recovers.
async fn failure(store: &Store) -> anyhow::Error {
    loop {
        if let Some(failure) = store.failure() {
            return anyhow!(failure).context("the store failed");
        }
        tokio::time::sleep(ASK_STORE_EVERY).await;
    }
}
