//! Attacks the API server of `punctual up`: `cargo run --release -p punctual-soak -- attack`.
//!
//! A CronJob runs every second and writes when it started. Meanwhile clients attack the server, one
//! attack after another. Whatever they do, slots must start on time. The worst lateness of each attack
//! is printed; it includes the start of two processes, so the first line, without an attack, is the
//! lateness that the machine itself causes.

mod attacker;
mod lateness;

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use punctual_e2e::load::{clock, connection::ConnectionTarget, create, runtime::run_async};
use punctual_testing::manifest;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use self::{
    attacker::{ATTACKS, Attacker},
    lateness::StartLog,
};
use crate::instance::UpInstance;

/// Objects that make lists long.
const LISTED_CRON_JOBS: usize = 300;
const LISTED_BYTES: usize = 8_000;
const CLIENTS: usize = 8;
/// The time for runs to finish writing after an attack.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(crate) struct AttackArgs {
    /// Seconds of each attack
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Largest lateness in milliseconds that is accepted
    #[arg(long, default_value_t = 1_000)]
    lateness_max: u64,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/soak-attack")]
    folder: PathBuf,
}

pub(crate) fn run(args: &AttackArgs) -> anyhow::Result<()> {
    // The attacks need many sockets, and the attacked server keeps the usual soft limit.
    let instance = UpInstance::new(&args.folder, &[])?;
    let worst = run_async(Box::pin(run_test(args, &instance)))?;
    let worst_millis = worst.as_millis();
    ensure!(worst_millis <= u128::from(args.lateness_max), "a slot started {worst_millis} ms late");
    println!("slots started on time");
    Ok(())
}

/// Raises the limit of sockets of this process.
fn raise_limit() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

/// Returns the worst lateness of all attacks.
async fn run_test(args: &AttackArgs, instance: &UpInstance) -> anyhow::Result<Duration> {
    let (cluster, _) = instance.start()?;
    raise_limit()?;
    let target = ConnectionTarget::from_cluster(&cluster)?;
    let starts = StartLog::new(instance.path());
    let listed = (0..LISTED_CRON_JOBS).map(listed_body).collect();
    create::create_all(&target, CLIENTS, listed).await?;
    create::create_all(&target, 1, [starts.cron_job_body()].into()).await?;
    let attacker = Attacker::new(&cluster, &instance.data_dir())?;
    tokio::time::sleep(PAUSE).await;
    let mut worst = Duration::ZERO;
    println!(
        "{:<28} {:>5} {:>11} {:>10} {:>9}",
        "attack", "slots", "worst late", "health", "memory"
    );
    for attack in ATTACKS {
        let from = clock::wall_time();
        let outcome = attacker.run(attack, Duration::from_secs(args.seconds)).await;
        let until = clock::wall_time();
        tokio::time::sleep(PAUSE).await;
        let lateness = starts.lateness(from, until)?;
        let memory = attacker.resident_mebibytes(&cluster);
        println!(
            "{:<28} {:>2}/{:<2} {:>8} ms {:>10} {:>5} MiB",
            attack.name(),
            lateness.started,
            lateness.slots,
            lateness.worst.as_millis(),
            outcome.health(),
            memory,
        );
        worst = worst.max(lateness.worst);
    }
    Ok(worst)
}

/// The request body of a suspended CronJob with a long annotation.
fn listed_body(number: usize) -> bytes::Bytes {
    let spec = json!({
        "schedule": "@yearly",
        "suspend": true,
        "jobTemplate": {"spec": manifest::command_job_spec("busybox:1.37", &["/bin/true"])},
    });
    let mut object = manifest::cron_job(&format!("listed-{number:04}"), spec);
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(|it| it.as_object_mut()) {
        metadata.insert("annotations".to_owned(), json!({"x": "y".repeat(LISTED_BYTES)}));
    }
    object.to_string().into()
}
