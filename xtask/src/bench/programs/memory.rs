//! The memory that a running Pod takes besides its program.

use std::{collections::HashSet, fs, path::Path, rc::Rc, time::Duration};

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_e2e::load::{clock, connection::ConnectionTarget, create};

use super::ours::cron_job;
use crate::bench::{bench_server::BenchServer, report::Figures};

pub(super) const PER_POD: &str = "memory of a Pod (PSS)";

const CLIENTS: usize = 16;
const MAX_PODS: &str = "--max-pods=2000";
/// The time after which all Pods run and are idle.
const SETTLE_TIME: Duration = Duration::from_secs(8);

pub(super) async fn measure(
    server: &BenchServer,
    count: usize,
    folder: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    println!("punctual: memory of {count} idle Pods");
    let (cluster, _) = server.start_with(folder, &[MAX_PODS.to_owned()])?;
    let target = ConnectionTarget::from_cluster(&cluster)?;
    let slot = (clock::wall_time() + SignedDuration::from_secs(3)).round(jiff::Unit::Second)?;
    let body =
        |number| cron_job(&format!("idle-{number:05}"), &format!("@at {slot}"), "exec sleep 30");
    create::create_all(&target, CLIENTS, (0..count).map(body).collect::<Rc<[_]>>()).await?;
    tokio::time::sleep(clock::time_until(slot) + SETTLE_TIME).await;
    let daemon: HashSet<u32> = cluster.pids().into_iter().collect();
    let mut pss_kib = 0;
    let mut supervisors = 0;
    let mut programs = 0;
    for pid in descendants(&daemon)? {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut arguments = arguments.split(|byte| *byte == 0);
        if arguments.clone().any(|argument| argument == b"sleep") {
            programs += 1;
        } else {
            supervisors += usize::from(arguments.any(|argument| argument == b"supervise"));
            pss_kib += pss(pid)?;
        }
    }
    ensure!(programs == count, "{programs} of {count} programs are running");
    ensure!(supervisors > 0, "no supervisor was found");
    figures.add(PER_POD, "MiB", f64::from(pss_kib) / 1024.0 / count as f64);
    Ok(())
}

/// The processes that these have started.
fn descendants(roots: &HashSet<u32>) -> anyhow::Result<Vec<u32>> {
    let mut found = Vec::new();
    let mut parents: Vec<u32> = roots.iter().copied().collect();
    while let Some(parent) = parents.pop() {
        for thread in fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten() {
            let text = fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
            for child in text.split_whitespace() {
                let child = child.parse()?;
                found.push(child);
                parents.push(child);
            }
        }
    }
    Ok(found)
}

/// The memory of a process in KiB; what it shares with others counts in part.
fn pss(pid: u32) -> anyhow::Result<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).context("no Pss")?;
    Ok(kib.trim().parse()?)
}
