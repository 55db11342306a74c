//! `punctual serve`: the API server alone.

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
    let (server, store) = (Server::start(config).await?, instance.store.clone());
    let kubeconfig = instance.write_kubeconfigs()?;
    let stop = signals::stop_token()?;
    output::print(&format!("serving {}\nkubeconfig {}\n", instance.url(), kubeconfig.display()))?;
    // Deletions that do not happen at once are carried on by us: dependents, namespaces.
    let context = instance::controller_context(
        &server,
        "punctual-garbage-collector",
        &SharedState::default(),
    );
    let collecting =
        tokio::spawn(punctual_controller::run_garbage_collector(context, stop.clone()));
    instance.serve(server, stop)?.await;
    collecting.await.context("the garbage collector did not end cleanly")?;
    tracing::info!("stopped; closing the store");
    store.close().await.context("the store could not be closed cleanly")
}

fn dialect(dialect: args::Dialect) -> Dialect {
    match dialect {
        args::Dialect::Kubernetes => Dialect::Strict,
        args::Dialect::Punctual => Dialect::Punctual,
    }
}
