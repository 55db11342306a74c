//! `punctual up`: everything in one process.
//!
//! ```text
//!  manifests ─▶ apply ─┐               ┌─▶ controllers ─┐
//!                      ▼               │                ▼
//!  kubectl ─▶ instance ─▶ server ─▶ store ─┼──────────── clients in this process
//!                      ▲               │                ▲
//!         PodLogs ─────┘               ├─▶ runner ──────┤──▶ supervisors (their own processes)
//!                                      └─▶ follow ──────┘──▶ the terminal
//! ```
//!
//! A part that ends by itself takes the process with it: whoever supervises us starts us again, and
//! everything goes on from what the store and the Pods' folders say.

mod apply;
mod components;
mod display;
mod event_lines;
mod logs;
mod messages;
mod node_name;
mod printer;
mod task_group;
mod terminal;
mod view;
mod view_model;
mod watch;

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

use self::components::Components;
use self::display::DisplayMode;
use self::logs::PodLogs;
use self::printer::Printer;
use self::task_group::TaskGroup;
use crate::args::UpArgs;
use crate::instance::{self, Instance, SharedState};
use crate::manifest::Document;
use crate::{logging, signals};

/// How often the store is asked how it is; it has no way to call.
const ASK_STORE_EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &UpArgs, zone: &Zone) -> anyhow::Result<()> {
    // Before anything is touched.
    let documents = apply::read(&args.paths, zone)?;
    let is_live = terminal::is_stdout_terminal() && !args.plain;
    let printer = Printer::start()?;
    if is_live && std::io::stderr().is_terminal() {
        logging::init(&args.instance.log, printer.clone())?;
    } else {
        logging::init(&args.instance.log, std::io::stderr)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let result = open_and_run(StartOptions { args, zone, documents, is_live }, &printer).await;
        printer.flush().await;
        result
    })
}

/// What was asked for.
struct StartOptions<'a> {
    args: &'a UpArgs,
    zone: &'a Zone,
    documents: Vec<Document>,
    is_live: bool,
}

async fn open_and_run(start: StartOptions<'_>, printer: &Printer) -> anyhow::Result<()> {
    let stop = signals::stop_token()?;
    let instance = Instance::open(&start.args.instance).await?;
    let store = instance.store.clone();
    let result = Box::pin(run_until_stopped(start, instance, printer, stop)).await;
    let closed = store.close().await.context("the store could not be closed cleanly");
    result.and(closed)
}

/// From the first object to the last request.
async fn run_until_stopped(
    start: StartOptions<'_>,
    instance: Instance<'_>,
    printer: &Printer,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let node = node_name::choose(start.args.node_name.as_deref(), &instance.folder)?;
    let shared = SharedState::default();
    // Nobody else has this folder, so nobody else can lead.
    shared.metrics.set_leader("punctual", true);
    let server = start_server(&instance, &node, start.zone, &shared.metrics).await?;
    let applying = apply::apply(instance::client(&server, "punctual-up"), start.documents);
    let applied = tokio::select! {
        applied = applying => applied?,
        () = stop.cancelled() => return Ok(()),
    };
    let kubeconfig = instance.write_kubeconfigs()?;
    let mut tasks = TaskGroup::new(stop);
    let host = Components {
        server: &server,
        instance: &instance,
        args: start.args,
        zone: start.zone,
        node: &node,
    };
    host.start(&shared, &mut tasks).await?;
    let (url, zone) = (instance.url(), start.zone.clone());
    printer.text(messages::startup(&url, &kubeconfig, &applied));
    let style = match start.is_live {
        true => DisplayMode::View { has_color: start.args.has_color(), url, zone },
        false => DisplayMode::Lines,
    };
    let (viewer, to) = (instance::client(&server, "punctual-view"), printer.clone());
    tasks.spawn("the view", |stop| display::run(viewer, style, to, stop));
    let (store, front) = (instance.store.clone(), CancellationToken::new());
    let serving = instance.serve(server.clone(), front.clone())?;
    let mut front = TaskGroup::new(front);
    front.spawn("the server", |_| serving);
    let result = tokio::select! {
        result = tasks.wait_for_stop() => result,
        result = front.wait_for_stop() => result,
        failure = failure(&store) => Err(failure),
    };
    if let Err(error) = &result {
        tracing::error!("{error:#}; stopping");
    }
    // Whoever writes goes before whoever takes it down.
    tasks.shut_down().await;
    printer.text(messages::shutdown(&server).await);
    front.shut_down().await;
    result
}

async fn start_server(
    instance: &Instance<'_>,
    node: &str,
    zone: &Zone,
    metrics: &Metrics,
) -> anyhow::Result<Server> {
    let metrics = metrics.clone();
    let config = Config {
        dialect: Dialect::Punctual,
        node: Some(node.to_owned()),
        logs: Some(Arc::new(PodLogs::new(&instance.folder))),
        extra_metrics: Some(Arc::new(move |page: &mut String| metrics.encode(page))),
        ..instance.config(zone.zones().clone())?
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
