//! Detects that a started server has reconciled all CronJobs.

use std::time::{Duration, Instant};

use anyhow::ensure;
use punctual_e2e::{
    Cluster,
    load::{clock, connection::Connection, prometheus_text::PrometheusText},
};

use super::super::bench_server;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(600);
/// The number of consecutive idle polls: the server may be idle for a moment between two tasks.
const IDLE_POLLS: usize = 5;
/// The processor time of a poll itself; Linux reports hundredths of a second.
const POLL_COST: Duration = Duration::from_millis(20);

/// How idling was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdleSignal {
    /// The metrics report all CronJobs and an empty queue.
    Metrics,
    /// The process uses almost no processor time.
    Processor,
}

/// The beginning of idling.
pub(super) struct IdleState {
    pub(super) since: Instant,
    pub(super) signal: IdleSignal,
}

impl IdleState {
    /// Waits until a server with a number of CronJobs is idle.
    pub(super) async fn wait(
        cluster: &Cluster,
        connection: &mut Connection,
        count: usize,
    ) -> anyhow::Result<IdleState> {
        let start = clock::now();
        let mut used = bench_server::processor_time(&cluster.pids())?;
        let mut idle_polls: Vec<Instant> = Vec::new();
        loop {
            let at = clock::now();
            let is_idle_by_metrics = is_idle(&PrometheusText::read(connection).await?, count);
            let now_used = bench_server::processor_time(&cluster.pids())?;
            let is_idle = is_idle_by_metrics.unwrap_or(now_used.saturating_sub(used) < POLL_COST);
            used = now_used;
            if is_idle {
                idle_polls.push(at);
            } else {
                idle_polls.clear();
            }
            if idle_polls.len() >= IDLE_POLLS
                && let Some(since) = idle_polls.first()
            {
                let has_metrics = is_idle_by_metrics.is_some();
                let signal = if has_metrics { IdleSignal::Metrics } else { IdleSignal::Processor };
                return Ok(IdleState { since: *since, signal });
            }
            ensure!(start.elapsed() < TIMEOUT, "not idle within {TIMEOUT:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Whether the metrics report all CronJobs and an empty queue; `None` without such metrics.
fn is_idle(metrics: &PrometheusText, count: usize) -> Option<bool> {
    let cron_jobs = metrics.total("punctual_cron_jobs", &[])?;
    let depth = metrics.total("workqueue_depth", &[("name", "cronjob")])?;
    Some(cron_jobs == count as f64 && depth == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_determine_idling_if_they_exist() {
        let metrics = |cron_jobs, depth| {
            PrometheusText::parse(&format!(
                "punctual_cron_jobs {cron_jobs}\nworkqueue_depth{{name=\"cronjob\"}} {depth}\n"
            ))
        };
        assert_eq!(is_idle(&metrics(7, 0), 7), Some(true));
        assert_eq!(is_idle(&metrics(6, 0), 7), Some(false));
        assert_eq!(is_idle(&metrics(7, 1), 7), Some(false));
        assert_eq!(is_idle(&PrometheusText::default(), 7), None);
    }
}
