//! `punctual serve`: runs the API server without controllers for CronJobs and Jobs.

use std::io;
use std::sync::Arc;

use anyhow::Context;
use punctual_controller::Metrics;
use punctual_schedule::Zones;
use punctual_server::{Config, Server};
use tokio_util::sync::CancellationToken;

use crate::args::ServeArgs;
use crate::instance::{self, Instance, SharedState};
use crate::printer::Printer;
use crate::service_manager::ServiceManager;
use crate::{logging, output, signals};

pub(crate) fn run(args: &ServeArgs, zones: Zones) -> anyhow::Result<()> {
    let log = Printer::start(io::stderr())?;
    logging::init(&args.instance.log, log.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let result = run_until_stopped(args, zones).await;
        log.flush().await;
        result
    })
}

async fn run_until_stopped(args: &ServeArgs, zones: Zones) -> anyhow::Result<()> {
    let instance = Instance::open(&args.instance).await?;
    let config = Config { dialect: args.dialect.into(), ..instance.config(zones, 0)? };
    let server = Server::start(config).await?;
    let store = instance.store.clone();
    let kubeconfig = instance.write_kubeconfigs()?;
    let stop = signals::stop_token()?;
    output::print(&format!("serving {}\nkubeconfig {}\n", instance.url(), kubeconfig.display()))?;
    // The garbage collector finishes deletions of dependents and of namespaces.
    let service_manager = Arc::new(ServiceManager::find());
    let watchdog = tokio::spawn(run_watchdog(&server, service_manager.clone(), stop.clone()));
    service_manager.notify_ready();
    let shared = SharedState::new(&server, Metrics::default());
    let context = instance::controller_context(&server, "punctual-garbage-collector", &shared);
    let garbage_collector =
        tokio::spawn(punctual_controller::run_garbage_collector(context, stop.clone()));
    instance.serve(server, stop)?.await;
    service_manager.notify_stopping();
    watchdog.await.context("the watchdog failed")?;
    garbage_collector.await.context("the garbage collector failed")?;
    tracing::info!("stopped; closing the store");
    store.close().await.context("could not close the store")
}

/// Tells the service manager that this process is alive while it can handle a request.
fn run_watchdog(
    server: &Server,
    manager: Arc<ServiceManager>,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let client = instance::client(server, "punctual-watchdog");
    async move { manager.run_watchdog(|| instance::is_ready(&client), stop).await }
}
