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
mod dashboard;
mod display;
mod event_lines;
mod logs;
mod messages;
mod node_name;
mod pod_problem;
mod task_group;
mod view;
mod view_model;
mod watch;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use punctual_controller::{Clock as _, Metrics, QueueMonitor, SystemClock};
use punctual_schedule::Zone;
use punctual_server::{Config, Server};
use punctual_store::Store;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use self::components::ComponentStarter;
use self::dashboard::BoundDashboard;
use self::display::DisplayMode;
use self::logs::PodLogs;
use self::task_group::TaskGroup;
use crate::args::UpArgs;
use crate::instance::{self, Instance, SharedState};
use crate::manifest::Document;
use crate::printer::Printer;
use crate::service_manager::ServiceManager;
use crate::{logging, oom, signals, terminal};

/// For how long a work queue with due keys may not move. API calls have a deadline of 30 seconds.
const QUEUE_TOLERANCE: Duration = Duration::from_secs(120);
/// How often to poll the store for a failure.
const STORE_POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &UpArgs, zone: &Zone) -> anyhow::Result<()> {
    // Invalid manifests must be reported before the data directory is opened.
    let documents = apply::read_manifests(&args.paths, args.dialect.into(), zone)?;
    let is_live = terminal::is_stdout_terminal() && !args.plain;
    let printer = Printer::start(io::stdout())?;
    let log = if is_live && io::stderr().is_terminal() {
        printer.clone()
    } else {
        Printer::start(io::stderr())?
    };
    logging::init(&args.instance.log, log.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // The connections have threads of their own, so that no request of a client can delay a slot.
    let server_runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name("api-server")
        .enable_all()
        .build()?;
    let server_handle = server_runtime.handle().clone();
    let result = runtime.block_on(async {
        let options = UpOptions { args, zone, documents, is_live, server_runtime: server_handle };
        let result = open_and_run(options, &printer).await;
        printer.flush().await;
        log.flush().await;
        result
    });
    // A connection that did not end in time must not delay the exit.
    server_runtime.shutdown_background();
    result
}

/// The parsed inputs of the command.
struct UpOptions<'a> {
    args: &'a UpArgs,
    zone: &'a Zone,
    /// The manifests to apply.
    documents: Vec<Document>,
    /// Whether to show the live view.
    is_live: bool,
    /// Runs the connections of the API server.
    server_runtime: Handle,
}

/// Opens the data directory, runs, and closes the store.
async fn open_and_run(options: UpOptions<'_>, printer: &Printer) -> anyhow::Result<()> {
    let stop = signals::stop_token()?;
    oom::protect_process();
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
    let UpOptions { args, zone, documents, is_live, server_runtime } = options;
    let node = node_name::choose(args.node_name.as_deref(), &instance.data_dir)?;
    let metrics = Metrics::default();
    // The lock on the data directory makes this process the only leader.
    metrics.set_leader("punctual", true);
    let server = start_server(&instance, args, &node, zone, &metrics).await?;
    let applying = apply::apply(instance::client(&server, "punctual-up"), documents);
    let applied = tokio::select! {
        applied = applying => applied?,
        () = stop.cancelled() => return Ok(()),
    };
    let kubeconfig = instance.write_kubeconfigs()?;
    let shared = SharedState::new(&server, metrics.clone());
    let mut tasks = TaskGroup::new(stop);
    let components =
        ComponentStarter { server: &server, instance: &instance, args, zone, node: &node };
    components.start(&shared, &mut tasks).await?;
    let url = instance.url();
    let dashboard = dashboard::bind_dashboard(&server, &instance, args, zone, &shared).await?;
    let links = dashboard.as_ref().map(|bound| &bound.links);
    let dashboard_url = messages::dashboard(links, terminal::is_stdout_terminal());
    printer.print(messages::startup(&url, &kubeconfig, dashboard_url.as_deref(), &applied));
    if let Some(BoundDashboard { dashboard, listener, login_file, .. }) = dashboard {
        // Its pages must not delay a slot, as requests of other clients must not.
        tasks.spawn_on("the dashboard", &server_runtime, |stop| async move {
            dashboard.serve(listener, stop).await;
            drop(login_file);
        });
    }
    let mode = if is_live {
        DisplayMode::View { use_color: args.use_color(), url, zone: zone.clone() }
    } else {
        DisplayMode::Lines
    };
    let display_watches = shared.watches.clone();
    let display_printer = printer.clone();
    tasks.spawn("the view", |stop| display::run(display_watches, mode, display_printer, stop));
    // The tasks have clones, so the watches end with the tasks.
    drop(shared);
    let store = instance.store.clone();
    let stop_serving = CancellationToken::new();
    let serving = instance.serve(server.clone(), stop_serving.clone())?;
    let mut server_tasks = TaskGroup::new(stop_serving);
    server_tasks.spawn_on("the API server", &server_runtime, |_| serving);
    let service_manager = Arc::new(ServiceManager::find());
    start_watchdog(&server, metrics, &service_manager, &mut server_tasks);
    service_manager.notify_ready();
    let result = tokio::select! {
        result = tasks.wait_for_stop() => result,
        result = server_tasks.wait_for_stop() => result,
        error = wait_for_store_failure(&store) => Err(error),
    };
    if let Err(error) = &result {
        tracing::error!("{error:#}; stopping");
    }
    service_manager.notify_stopping();
    // Stops the controllers and the runner before the server that they write to.
    tasks.shut_down().await;
    printer.print(messages::shutdown(&server).await);
    server_tasks.shut_down().await;
    result
}

/// Tells the service manager that this process is alive while it can handle a request and no
/// controller is stuck.
fn start_watchdog(
    server: &Server,
    metrics: Metrics,
    manager: &Arc<ServiceManager>,
    tasks: &mut TaskGroup,
) {
    let client = instance::client(server, "punctual-watchdog");
    let manager = manager.clone();
    let monitor = QueueMonitor::new(metrics, QUEUE_TOLERANCE);
    tasks.spawn("the watchdog", |stop| async move {
        let is_healthy = || async {
            if let Some(stalled) = monitor.check(SystemClock.monotonic()) {
                tracing::error!("{stalled}; its controller does nothing");
                return false;
            }
            instance::is_ready(&client).await
        };
        manager.run_watchdog(is_healthy, stop).await;
    });
}

async fn start_server(
    instance: &Instance<'_>,
    args: &UpArgs,
    node: &str,
    zone: &Zone,
    metrics: &Metrics,
) -> anyhow::Result<Server> {
    let metrics = metrics.clone();
    let config = Config {
        dialect: args.dialect.into(),
        node: Some(node.to_owned()),
        logs: Some(Arc::new(PodLogs::new(&instance.data_dir))),
        extra_metrics: Some(Arc::new(move |page: &mut String| metrics.encode(page))),
        ..instance.config(zone.zones().clone(), args.max_pods)?
    };
    Ok(Server::start(config).await?)
}

/// Returns when the store has failed. A failed store rejects writes until it is opened again.
async fn wait_for_store_failure(store: &Store) -> anyhow::Error {
    loop {
        if let Some(failure) = store.failure() {
            return anyhow!(failure).context("the store failed");
        }
        if let Err(error) = store.check_location() {
            return anyhow!(error).context("the data directory is lost");
        }
        tokio::time::sleep(STORE_POLL_INTERVAL).await;
    }
}
