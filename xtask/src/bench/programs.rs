//! The start of real programs: `cargo run --release -p xtask -- bench programs`.
//!
//! Many CronJobs are due at once, each with a shell that creates a file as its first action. The time of the
//! file is the time of the program's first instruction, as exact as the clock of the file system (a few
//! milliseconds). Debian's cron runs the same commands from a private crontab, in mount and PID namespaces of
//! its own, and a loop forks and executes them without any scheduler. All run one after the other.
//!
//! Build the program first: `cargo build --release -p punctual-cli`.

mod cron;
mod marks;
mod memory;
mod ours;
mod plain_loop;
mod sustained;

use std::{fs, path::PathBuf};

use clap::Args as ClapArgs;
use punctual_e2e::load::runtime::run_async;

use self::marks::MarkFolder;
use super::{
    bench_server::{BenchServer, create_folder},
    report::{Figures, Limit, render, to_json},
};

const START_P99: &str = "slot to first instruction p99";
const PROCESSOR: &str = "processor time of the scheduler";
const CHILDREN_PROCESSOR: &str = "processor time of its children";
const LIMITS: [(&str, Limit); 3] = [
    (START_P99, Limit::RatioAtMost(&[0.5])),
    (sustained::RATE, Limit::AtLeast(500.0)),
    (memory::PER_POD, Limit::AtMost(0.3)),
];

/// Options of `bench programs`.
#[derive(ClapArgs)]
pub(crate) struct ProgramsArgs {
    /// Programs that are due in the same second
    #[arg(long, default_value_t = 1_000)]
    count: usize,
    /// How often to repeat the comparison, the peers in turn
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// Skip Debian's cron, which needs root and at least a minute
    #[arg(long)]
    no_cron: bool,
    /// CronJobs that are due every second, for the sustained rate of runs; 0 skips it
    #[arg(long, default_value_t = 500)]
    every_second: usize,
    /// Seconds for which the sustained rate is measured
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Pods whose memory is measured; 0 skips it
    #[arg(long, default_value_t = 50)]
    idle_pods: usize,
    /// Also write the figures to this file, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-programs")]
    folder: PathBuf,
}

pub(crate) fn run(args: &ProgramsArgs) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(fs::canonicalize(&args.folder)?)?;
    let server = BenchServer::up()?;
    println!("{}", server.versions()?.join(", "));
    println!("load average: {}", fs::read_to_string("/proc/loadavg")?.trim());
    let mut all = Vec::new();
    for round in 1..=args.repeat.max(1) {
        let create = |name: &str| create_folder(folder.path(), &format!("{name}-{round}"));
        let marks = |name: &str| MarkFolder::create(create(name)?);
        let mut ours = Figures::default();
        run_async(ours::measure(&server, args.count, &marks("ours")?, &mut ours))?;
        if args.every_second > 0 {
            let load = sustained::Load { cron_jobs: args.every_second, seconds: args.seconds };
            run_async(sustained::measure(&server, load, &create("sustained")?, &mut ours))?;
        }
        if args.idle_pods > 0 {
            run_async(memory::measure(&server, args.idle_pods, &create("idle")?, &mut ours))?;
        }
        let mut columns = vec![("punctual", ours)];
        if !args.no_cron {
            columns.push(("cron", run_async(cron::measure(args.count, &marks("cron")?))?));
        }
        columns.push(("fork and exec", plain_loop::measure(args.count, &marks("loop")?)?));
        let columns: Vec<(&str, &Figures)> =
            columns.iter().map(|(name, figures)| (*name, figures)).collect();
        print!("{}", render(&columns, &LIMITS));
        all.push(to_json(&columns));
    }
    if let Some(path) = &args.json {
        fs::write(path, serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}
