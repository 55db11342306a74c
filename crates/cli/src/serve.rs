//! `punctual serve`: runs the API server without controllers for CronJobs and Jobs.

use anyhow::Context;
use punctual_api::Dialect;
use punctual_schedule::Zones;
use punctual_server::{Config, Server};

use crate::args::{self, ServeArgs};
use crate::instance::{self, Instance, SharedState};
use crate::{logging, output, signals};

pub(crate) fn run(args: &ServeArgs, zones: Zones) -> anyhow::Result<()> {
    logging::init(&args.instance.log, std::io::stderr)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run_until_stopped(args, zones))
}

async fn run_until_stopped(args: &ServeArgs, zones: Zones) -> anyhow::Result<()> {
    let instance = Instance::open(&args.instance).await?;
    let config = Config { dialect: dialect(args.dialect), ..instance.config(zones)? };
    let server = Server::start(config).await?;
    let store = instance.store.clone();
    let kubeconfig = instance.write_kubeconfigs()?;
    let stop = signals::stop_token()?;
    output::print(&format!("serving {}\nkubeconfig {}\n", instance.url(), kubeconfig.display()))?;
    // The garbage collector finishes deletions of dependents and of namespaces.
    let context = instance::controller_context(
        &server,
        "punctual-garbage-collector",
        &SharedState::default(),
    );
    let garbage_collector =
        tokio::spawn(punctual_controller::run_garbage_collector(context, stop.clone()));
    instance.serve(server, stop)?.await;
    garbage_collector.await.context("the garbage collector failed")?;
    tracing::info!("stopped; closing the store");
    store.close().await.context("could not close the store")
}

fn dialect(dialect: args::Dialect) -> Dialect {
    match dialect {
        args::Dialect::Kubernetes => Dialect::Strict,
        args::Dialect::Punctual => Dialect::Punctual,
    }
}
