//! Programs under load. The peers run in the same minutes on the same disk, under the same driver.

mod clock;
mod connection;
mod contender;
mod create;
mod latency;
mod list;
mod report;
mod results;
mod server;
mod watches;

use clap::Subcommand;

/// What is measured.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// The Kubernetes API: creates, lists, watches, memory and cold starts, beside kube-apiserver
    Server(server::Args),
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Server(args) => server::run(args),
    }
}
