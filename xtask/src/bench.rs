//! Programs under load. The peers run in the same minutes on the same disk, under the same driver.

mod arrivals;
mod burst;
pub(crate) mod clock;
mod cluster;
pub(crate) mod connection;
mod contender;
pub(crate) mod create;
pub(crate) mod driving;
pub(crate) mod exposition;
pub(crate) mod latency;
mod list;
mod load;
pub(crate) mod progress;
mod report;
mod results;
mod server;
mod table;
mod watches;

use clap::Subcommand;

/// What is measured.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// The Kubernetes API: creates, lists, watches, memory and cold starts, beside kube-apiserver
    Server(server::Args),
    /// Punctuality: many CronJobs due in one second, and one alone
    Burst(burst::Args),
    /// Controllers on one kube-apiserver: ours beside kube-controller-manager, many CronJobs due at once
    Cluster(cluster::Args),
    /// Many CronJobs that are not due: start, memory, and what rest costs
    Load(load::Args),
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Server(args) => server::run(args),
        Bench::Burst(args) => burst::run(args),
        Bench::Cluster(args) => cluster::run(args),
        Bench::Load(args) => load::run(args),
    }
}
