//! The programs as CronJobs of `punctual up`.

use std::{rc::Rc, time::Duration};

use anyhow::ensure;
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use punctual_e2e::{
    json,
    load::{
        clock,
        connection::{Connection, ConnectionTarget},
        create,
        revisions::{self, RevisionLog},
    },
};
use serde_json::{Value, json};

use super::{CHILDREN_PROCESSOR, PROCESSOR, marks::MarkFolder};
use crate::bench::{
    bench_server::{self, BenchServer},
    report::Figures,
};

const CLIENTS: usize = 16;
/// The time for storing a thousand CronJobs.
const LEAD_TIME: SignedDuration = SignedDuration::from_secs(8);
/// The server must be idle this long before the slot.
const IDLE_BEFORE_SLOT: Duration = Duration::from_secs(1);
/// After this time without a write all runs are recorded.
const QUIET: Duration = Duration::from_secs(3);
const QUIET_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) async fn measure(
    server: &BenchServer,
    count: usize,
    marks: &MarkFolder,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let (cluster, _) = server.start_with(marks.path(), &[format!("--max-pods={}", 2 * count)])?;
    let target = ConnectionTarget::from_cluster(&cluster)?;
    let mut connection = Connection::open(&target).await?;
    let lead = LEAD_TIME + SignedDuration::from_millis(i64::try_from(count)?);
    let slot = (clock::wall_time() + lead).round(jiff::Unit::Second)?;
    println!("punctual: {count} programs are due at {slot}");
    let schedule = format!("@at {slot}");
    let body = |number| cron_job(&format!("run-{number:05}"), &schedule, &marks.command(number));
    create::create_all(&target, CLIENTS, (0..count).map(body).collect::<Rc<[_]>>()).await?;
    let left = clock::time_until(slot);
    ensure!(left > IDLE_BEFORE_SLOT, "storing the CronJobs took too long");
    tokio::time::sleep(left.saturating_sub(IDLE_BEFORE_SLOT)).await;
    let before = bench_server::processor_times_of(&cluster.pids())?;
    tokio::time::sleep(clock::time_until(slot)).await;
    let log = revisions::wait_until_quiet(&mut connection, QUIET, QUIET_TIMEOUT).await?;
    let after = bench_server::processor_times_of(&cluster.pids())?;
    marks.wait_for(count).await?;
    marks.add_starts(slot, figures)?;
    add_end_to_end(&mut connection, count, slot, &log, figures).await?;
    figures.add_time(PROCESSOR, after.own.saturating_sub(before.own));
    figures.add_time(CHILDREN_PROCESSOR, after.children.saturating_sub(before.children));
    Ok(())
}

/// Adds when the last status had counted its run.
async fn add_end_to_end(
    connection: &mut Connection,
    count: usize,
    slot: Timestamp,
    log: &RevisionLog,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let list: Value = connection.get_json(create::CRON_JOBS).await?;
    let counted = json::items(&list, "/items").iter();
    let counted = counted.filter(|item| json::number(item, "/status/successfulRuns") == 1);
    let versions = counted.map(|item| json::text(item, "/metadata/resourceVersion").parse::<u64>());
    let versions = versions.collect::<Result<Vec<_>, _>>()?;
    ensure!(versions.len() == count, "{} of {count} runs were counted", versions.len());
    let last = versions.iter().max().and_then(|version| log.reached(*version));
    if let Some(last) = last {
        let took = last.duration_since(slot).unsigned_abs();
        figures.add_time("all runs counted after", took);
        figures.add("runs a second, to the status", "/s", count as f64 / took.as_secs_f64());
    }
    Ok(())
}

/// A CronJob that runs a shell command.
pub(super) fn cron_job(name: &str, schedule: &str, command: &str) -> Bytes {
    let container = json!({"name": "main", "image": "none", "command": ["/bin/sh", "-c", command]});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    let job = json!({"backoffLimit": 0, "template": {"spec": pod}});
    let spec = json!({"schedule": schedule, "timeZone": "Etc/UTC", "jobTemplate": {"spec": job}});
    let cron_job = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec,
    });
    Bytes::from(cron_job.to_string())
}
