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

mod components;
mod dashboard;
mod display;
mod event_lines;
mod live;
mod logs;
mod manifests;
mod messages;
mod node_name;
mod pod_problem;
mod task_group;
mod view_model;
mod watch;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use punctual_controller::{Clock as _, Metrics, QueueMonitor, SystemClock};
use punctual_dashboard::LoginLinks;
use punctual_schedule::Zone;
use punctual_server::{Config, Server};
use punctual_store::Store;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::components::ComponentStarter;
use self::dashboard::BoundDashboard;
use self::display::DisplayMode;
use self::live::{DashboardLink, LiveOptions};
use self::logs::PodLogs;
use self::manifests::{ManifestOptions, Manifests};
use self::task_group::TaskGroup;
use crate::args::UpArgs;
use crate::console::Console;
use crate::cron_jobs::LiveActions;
use crate::instance::{self, Instance, SharedState};
use crate::printer::Printer;
use crate::service_manager::ServiceManager;
use crate::{clock, data_dir, logging, oom, signals, terminal};

/// For how long a work queue with due keys may not move. API calls have a deadline of 30 seconds.
const QUEUE_TOLERANCE: Duration = Duration::from_secs(120);
/// The file of the data directory that has the objects.
const STORE_FILE: &str = "store";
/// How often to poll the store for a failure.
const STORE_POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &UpArgs, zone: &Zone) -> anyhow::Result<()> {
    let data_dir = data_dir::resolve(args.instance.data_dir.as_deref())?;
    let has_stored_objects = data_dir.join(STORE_FILE).exists();
    let manifests = Manifests::load(ManifestOptions {
        paths: args.paths.clone(),
        dialect: args.dialect.into(),
        zone: zone.clone(),
        is_pruning: args.prune,
        data_dir,
    });
    // If there is nothing to run, that is reported before the data directory is created.
    manifests.require_usable(has_stored_objects)?;
    let console = Console::default();
    let printer = Printer::start(console.output())?;
    let is_live = !args.plain && can_show_view();
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
        let console = is_live.then_some(console);
        let options = UpOptions { args, zone, manifests, console, server_runtime: server_handle };
        let result = open_and_run(options, &printer).await;
        printer.flush().await;
        log.flush().await;
        result
    });
    terminal::restore();
    // A connection that did not end in time must not delay the exit.
    server_runtime.shutdown_background();
    result
}

/// Whether a user looks at this process: standard output is a terminal with a keyboard, and a shell did not start it in
/// the background.
fn can_show_view() -> bool {
    terminal::is_stdout_terminal() && terminal::is_foreground() && live::open_terminal().is_some()
}

/// The parsed inputs of the command.
struct UpOptions<'a> {
    args: &'a UpArgs,
    zone: &'a Zone,
    manifests: Manifests,
    /// The output that the live view takes over; `None` without a view.
    console: Option<Console>,
    /// Runs the connections of the API server.
    server_runtime: Handle,
}

/// What the display depends on.
struct ViewSettings<'a> {
    args: &'a UpArgs,
    zone: &'a Zone,
    /// The output that the live view takes over; `None` without a view.
    console: Option<Console>,
    /// The URL of the API server.
    url: &'a str,
    /// Issues login links of the dashboard; `None` without one.
    links: Option<LoginLinks>,
}

/// Opens the data directory, runs, and closes the store.
async fn open_and_run(options: UpOptions<'_>, printer: &Printer) -> anyhow::Result<()> {
    let reload = Arc::new(Notify::new());
    let stop = signals::stop_token_with_reload(reload.clone())?;
    oom::protect_process();
    let instance = Instance::open(&options.args.instance).await?;
    let store = instance.store.clone();
    let result = Box::pin(run_until_stopped(options, instance, printer, reload, stop)).await;
    let closed = store.close().await.context("could not close the store");
    result.and(closed)
}

/// Applies the manifests, starts all tasks and waits until the process is stopped or a task fails.
async fn run_until_stopped(
    options: UpOptions<'_>,
    instance: Instance<'_>,
    printer: &Printer,
    reload: Arc<Notify>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let UpOptions { args, zone, manifests, console, server_runtime } = options;
    let node = node_name::choose(args.node_name.as_deref(), &instance.data_dir)?;
    let metrics = Metrics::default();
    // The lock on the data directory makes this process the only leader.
    metrics.set_leader("punctual", true);
    let server = start_server(&instance, args, &node, zone, &metrics).await?;
    let applying = manifests.apply_first(instance::client(&server, "punctual-up"));
    let (applied, manifest_task) = tokio::select! {
        applied = applying => applied,
        () = stop.cancelled() => return Ok(()),
    };
    let kubeconfig = instance.write_kubeconfigs()?;
    let shared = SharedState::new(&server, metrics.clone());
    let mut tasks = TaskGroup::new(stop.clone());
    let components =
        ComponentStarter { server: &server, instance: &instance, args, zone, node: &node };
    components.start(&shared, &mut tasks).await?;
    let url = instance.url();
    let dashboard = dashboard::bind_dashboard(&server, &instance, args, zone, &shared).await?;
    let links = dashboard.as_ref().map(|bound| bound.links.clone());
    let dashboard_url = messages::dashboard(links.as_ref(), terminal::is_stdout_terminal());
    printer.print(messages::startup(&url, &kubeconfig, dashboard_url.as_deref(), &applied));
    if let Some(BoundDashboard { dashboard, listener, login_file, .. }) = dashboard {
        // Its pages must not delay a slot, as requests of other clients must not.
        tasks.spawn_on("the dashboard", &server_runtime, |stop| async move {
            dashboard.serve(listener, stop).await;
            drop(login_file);
        });
    }
    let view_client = instance::client(&server, "punctual-view");
    let settings = ViewSettings { args, zone, console, url: &url, links };
    let mode = display_mode(settings, view_client, &stop);
    let display_watches = shared.watches.clone();
    let display_printer = printer.clone();
    tasks.spawn("the view", |stop| display::run(display_watches, mode, display_printer, stop));
    let manifest_printer = printer.clone();
    tasks.spawn("applying manifests", |stop| manifest_task.run(manifest_printer, reload, stop));
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

/// Chooses how runs are shown.
fn display_mode(
    options: ViewSettings<'_>,
    client: kube::Client,
    stop: &CancellationToken,
) -> DisplayMode {
    let ViewSettings { args, zone, console, url, links } = options;
    let Some(console) = console else { return DisplayMode::Lines };
    DisplayMode::View(Box::new(LiveOptions {
        use_color: args.use_color(),
        url: url.to_owned(),
        zone: zone.clone(),
        actions: LiveActions::new(client, url, zone.clone()),
        console,
        dashboard: links
            .map(|links| -> DashboardLink { Arc::new(move || Ok(links.link(clock::now())?)) }),
        stop: stop.clone(),
    }))
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
