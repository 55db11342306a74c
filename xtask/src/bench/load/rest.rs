//! When a server that was started has looked at everything.

use std::time::{Duration, Instant};

use anyhow::ensure;
use punctual_e2e::Cluster;

use super::super::{clock, connection::Connection, contender, exposition::Exposition};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const WITHIN: Duration = Duration::from_secs(600);
/// A moment without work may lie between two pieces of it.
const LOOKS: usize = 5;
/// Looking itself takes some of it; Linux counts in hundredths of a second.
const BUSY: Duration = Duration::from_millis(20);

/// How it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// The controller says that it knows all, and its queue is empty.
    Metrics,
    /// The process has nothing to do.
    Processor,
}

/// The end of a start.
pub(super) struct Rest {
    pub(super) since: Instant,
    pub(super) sign: Sign,
}

impl Rest {
    /// Waits until a server rests, with so many CronJobs.
    pub(super) async fn wait(
        cluster: &Cluster,
        connection: &mut Connection,
        count: usize,
    ) -> anyhow::Result<Rest> {
        let start = clock::now();
        let mut used = contender::processor(&cluster.pids())?;
        let mut looks: Vec<Instant> = Vec::new();
        loop {
            let (at, seen) = (clock::now(), Exposition::read(connection).await?);
            let metrics = says_so(&seen, count);
            let sign = if metrics.is_some() { Sign::Metrics } else { Sign::Processor };
            let now_used = contender::processor(&cluster.pids())?;
            let rests = metrics.unwrap_or(now_used.saturating_sub(used) < BUSY);
            used = now_used;
            match rests {
                true => looks.push(at),
                false => looks.clear(),
            }
            if let (Some(since), true) = (looks.first(), looks.len() >= LOOKS) {
                return Ok(Rest { since: *since, sign });
            }
            ensure!(start.elapsed() < WITHIN, "not at rest within {WITHIN:?}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Whether the metrics say that all is done; none if they say nothing about it.
fn says_so(seen: &Exposition, count: usize) -> Option<bool> {
    let known = seen.total("punctual_cron_jobs", &[])?;
    let depth = seen.total("workqueue_depth", &[("name", "cronjob")])?;
    Some(known == count as f64 && depth == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_are_believed_where_there_are_some() {
        let seen = |known, depth| {
            Exposition::parse(&format!(
                "punctual_cron_jobs {known}\nworkqueue_depth{{name=\"cronjob\"}} {depth}\n"
            ))
        };
        assert_eq!(says_so(&seen(7, 0), 7), Some(true));
        assert_eq!(says_so(&seen(6, 0), 7), Some(false));
        assert_eq!(says_so(&seen(7, 1), 7), Some(false));
        assert_eq!(says_so(&Exposition::default(), 7), None);
    }
}
