//! `punctual serve`: the API server alone.

use anyhow::Context;
use punctual_api::Dialect;
use punctual_schedule::Zones;
use punctual_server::{Config, Server};

use crate::args::{self, Serve};
use crate::site::{self, Shared, Site};
use crate::{log, output, stop};

pub(crate) fn run(serve: &Serve, zones: Zones) -> anyhow::Result<()> {
    log::start(&serve.site.log, std::io::stderr)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serving(serve, zones))
}

async fn serving(serve: &Serve, zones: Zones) -> anyhow::Result<()> {
    let site = Site::open(&serve.site).await?;
    let config = Config { dialect: dialect(serve.dialect), ..site.config(zones)? };
    let (server, store) = (Server::start(config).await?, site.store.clone());
    let kubeconfig = site.write_kubeconfigs()?;
    let stop = stop::on_signal()?;
    output::print(&format!("serving {}\nkubeconfig {}\n", site.url(), kubeconfig.display()))?;
    // Deletions that do not happen at once are carried on by us: dependents, namespaces.
    let tools = site::tools(&server, "punctual-collector", &Shared::default());
    let collecting = tokio::spawn(punctual_controller::collect(tools, stop.clone()));
    site.serve(server, stop)?.await;
    collecting.await.context("the collector did not end cleanly")?;
    tracing::info!("stopped; closing the store");
    store.close().await.context("the store could not be closed cleanly")
}

fn dialect(dialect: args::Dialect) -> Dialect {
    match dialect {
        args::Dialect::Kubernetes => Dialect::Strict,
        args::Dialect::Punctual => Dialect::Punctual,
    }
}
