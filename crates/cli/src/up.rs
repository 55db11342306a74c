//! `punctual up`: runs the API server, the controllers and the Pod runner in one process.
//!
//! ```text
//!  manifests ─▶ apply ─┐                   ┌─▶ controllers ─┐
//!                      ▼                   │                ▼
//!  kubectl ─▶ instance ─▶ server ─▶ store ─┼─────── in-process clients
//!                      ▲                   │                ▲
//!         PodLogs ─────┘                   ├─▶ runner ──────┤──▶ supervisors (separate processes)
//!                                          └─▶ display ─────┘──▶ standard output
//! ```
//!
//! If a task ends unexpectedly, the process exits with an error. A service manager can restart it: the
//! store and the Pods' directories hold all state.

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

/// How often to poll the store for a failure.
const STORE_POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &UpArgs, zone: &Zone) -> anyhow::Result<()> {
    // Invalid manifests must be reported before the data directory is opened.
    let documents = apply::read_manifests(&args.paths, zone)?;
    let is_live = terminal::is_stdout_terminal() && !args.plain;
    let printer = Printer::start()?;
    if is_live && std::io::stderr().is_terminal() {
        logging::init(&args.instance.log, printer.clone())?;
    } else {
        logging::init(&args.instance.log, std::io::stderr)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let options = UpOptions { args, zone, documents, is_live };
        let result = open_and_run(options, &printer).await;
        printer.flush().await;
        result
    })
}

/// The parsed inputs of the command.
struct UpOptions<'a> {
    args: &'a UpArgs,
    zone: &'a Zone,
    /// The manifests to apply.
    documents: Vec<Document>,
    /// Whether to show the live view.
    is_live: bool,
}

/// Opens the data directory, runs, and closes the store.
async fn open_and_run(options: UpOptions<'_>, printer: &Printer) -> anyhow::Result<()> {
    let stop = signals::stop_token()?;
    let instance = Instance::open(&options.args.instance).await?;
    let store = instance.store.clone();
    let result = Box::pin(run_until_stopped(options, instance, printer, stop)).await;
    let closed = store.close().await.context("could not close the store");
    result.and(closed)
}

/// Applies the manifests, starts all tasks and waits until the process is stopped or a task fails.
async fn run_until_stopped(
    options: UpOptions<'_>,
    instance: Instance<'_>,
    printer: &Printer,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let UpOptions { args, zone, documents, is_live } = options;
    let node = node_name::choose(args.node_name.as_deref(), &instance.data_dir)?;
    let shared = SharedState::default();
    // The lock on the data directory makes this process the only leader.
    shared.metrics.set_leader("punctual", true);
    let server = start_server(&instance, &node, zone, &shared.metrics).await?;
    let applying = apply::apply(instance::client(&server, "punctual-up"), documents);
    let applied = tokio::select! {
        applied = applying => applied?,
        () = stop.cancelled() => return Ok(()),
    };
    let kubeconfig = instance.write_kubeconfigs()?;
    let mut tasks = TaskGroup::new(stop);
    let components = Components { server: &server, instance: &instance, args, zone, node: &node };
    components.start(&shared, &mut tasks).await?;
    let url = instance.url();
    printer.print(messages::startup(&url, &kubeconfig, &applied));
    let mode = if is_live {
        DisplayMode::View { has_color: args.has_color(), url, zone: zone.clone() }
    } else {
        DisplayMode::Lines
    };
    let display_client = instance::client(&server, "punctual-view");
    let display_printer = printer.clone();
    tasks.spawn("the view", |stop| display::run(display_client, mode, display_printer, stop));
    let store = instance.store.clone();
    let stop_serving = CancellationToken::new();
    let serving = instance.serve(server.clone(), stop_serving.clone())?;
    let mut server_tasks = TaskGroup::new(stop_serving);
    server_tasks.spawn("the API server", |_| serving);
    let result = tokio::select! {
        result = tasks.wait_for_stop() => result,
        result = server_tasks.wait_for_stop() => result,
        error = wait_for_store_failure(&store) => Err(error),
    };
    if let Err(error) = &result {
        tracing::error!("{error:#}; stopping");
    }
    // Stops the controllers and the runner before the server that they write to.
    tasks.shut_down().await;
    printer.print(messages::shutdown(&server).await);
    server_tasks.shut_down().await;
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
        logs: Some(Arc::new(PodLogs::new(&instance.data_dir))),
        extra_metrics: Some(Arc::new(move |page: &mut String| metrics.encode(page))),
        ..instance.config(zone.zones().clone())?
    };
    Ok(Server::start(config).await?)
}

/// Returns when the store has failed. A failed store rejects writes until it is opened again.
async fn wait_for_store_failure(store: &Store) -> anyhow::Error {
    loop {
        if let Some(failure) = store.failure() {
            return anyhow!(failure).context("the store failed");
        }
        tokio::time::sleep(STORE_POLL_INTERVAL).await;
    }
}
