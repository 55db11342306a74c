//! Measures how long Pods take to start: many CronJobs that are due at once, each with a
//! short-lived Pod.

use std::{path::Path, rc::Rc, time::Duration};

use anyhow::{Context, bail, ensure};
use jiff::SignedDuration;
use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget},
    create,
    prometheus_text::PrometheusText,
};

use super::{
    super::{bench_server::BenchServer, report::Figures},
    manifest::{self, JobPods},
    run::add_histogram,
};

const CLIENTS: usize = 16;
/// How far ahead the CronJobs are scheduled, so that all are stored before their slot (scheduled time).
const LEAD_TIME: SignedDuration = SignedDuration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// All Pods must have started this long after the slot.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Measures the times of the Pods in the server's own metrics.
pub(super) async fn measure(
    server: &BenchServer,
    count: usize,
    folder: &Path,
) -> anyhow::Result<Figures> {
    let folder = tempfile::tempdir_in(folder)?;
    let (cluster, _) = server.start(folder.path())?;
    let target = ConnectionTarget::from_cluster(&cluster)?;
    let mut connection = Connection::open(&target).await?;
    let slot = (clock::wall_time() + LEAD_TIME).round(jiff::Unit::Second)?;
    println!("{count} CronJobs with a Pod each, due at {slot}");
    let schedule = format!("@at {slot}");
    let body = |number| manifest::body(&format!("pod-{number:04}"), &schedule, JobPods::Short);
    let bodies: Rc<[_]> = (0..count).map(body).collect();
    create::create_all(&target, CLIENTS, bodies).await?;
    tokio::time::sleep(clock::time_until(slot)).await;
    wait_for_pods(&mut connection, count).await
}

async fn wait_for_pods(connection: &mut Connection, count: usize) -> anyhow::Result<Figures> {
    let polls = TIMEOUT.as_millis() / POLL_INTERVAL.as_millis();
    for _ in 0..polls {
        let metrics = PrometheusText::read(connection).await?;
        let start = metrics.histogram("punctual_pod_start_seconds").context("no Pod starts")?;
        if start.count() >= count as f64 {
            // In whole seconds, because they are differences of creation times.
            let creation = metrics.histogram("punctual_job_pod_creation_seconds");
            ensure!(creation.is_some(), "no creations of Pods");
            let mut figures = Figures::default();
            add_histogram(&mut figures, "Pod created after Job", creation);
            add_histogram(&mut figures, "Pod start", Some(start));
            return Ok(figures);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    bail!("not all of {count} Pods have started within {TIMEOUT:?}")
}
