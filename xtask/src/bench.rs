//! Benchmarks. All programs of a comparison run one after the other on the same disk with the same
//! load driver.

mod bench_server;
mod burst;
mod cluster;
mod dashboard;
mod job_watch;
mod ledger;
mod load;
mod programs;
mod report;
mod server;

use clap::Subcommand;

/// A benchmark.
#[derive(Subcommand)]
pub(crate) enum Benchmark {
    /// The Kubernetes API compared with kube-apiserver: creates, lists, watches, memory, cold starts
    Server(server::ServerBenchArgs),
    /// The start delay of many CronJobs that are due in one second, and of a single one
    Burst(burst::BurstArgs),
    /// Our controller and kube-controller-manager on one kube-apiserver, with many CronJobs due at once
    Cluster(cluster::ClusterBenchArgs),
    /// The dashboard: the time and size of each page, and event streams during many changes
    Dashboard(dashboard::DashboardBenchArgs),
    /// The slot ledger: bytes a record, and the time of the first page of lists with each filter
    Ledger(ledger::LedgerBenchArgs),
    /// Many CronJobs that are not due: start time, memory, and the cost of idling
    Load(load::LoadArgs),
    /// Real programs that are due at once, beside Debian's cron; the rate of runs; the memory of a Pod
    Programs(programs::ProgramsArgs),
}

pub(crate) fn run(benchmark: &Benchmark) -> anyhow::Result<()> {
    match benchmark {
        Benchmark::Server(args) => server::run(args),
        Benchmark::Burst(args) => burst::run(args),
        Benchmark::Cluster(args) => cluster::run(args),
        Benchmark::Dashboard(args) => dashboard::run(args),
        Benchmark::Ledger(args) => ledger::run(args),
        Benchmark::Load(args) => load::run(args),
        Benchmark::Programs(args) => programs::run(args),
    }
}
