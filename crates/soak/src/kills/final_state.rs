//! Checks the objects and processes after all CronJobs were suspended: they must agree with the run
//! logs.

use std::{collections::HashMap, time::Duration};

use punctual_e2e::{
    Cluster,
    load::{
        clock,
        connection::{Connection, ConnectionTarget},
        create,
    },
};
use serde_json::Value;

use super::{event_log::RunEventLog, workload::MinutelyCronJob};
use crate::{
    instance::UpInstance,
    objects::{has_condition, items, name, number, text},
};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A run lasts a minute and a half at most, and may wait for a Pod permit before that.
const IDLE_WITHIN: Duration = Duration::from_secs(300);

/// All objects and the number of Pod supervisors at one time.
pub(super) struct FinalState {
    cron_jobs: Vec<Value>,
    jobs: Vec<Value>,
    pods: Vec<Value>,
    supervisors: usize,
}

impl FinalState {
    /// Polls until nothing runs or [`IDLE_WITHIN`] has passed.
    pub(super) async fn wait_until_idle(
        instance: &UpInstance,
        cluster: &Cluster,
    ) -> anyhow::Result<FinalState> {
        let mut connection = Connection::open(&ConnectionTarget::from_cluster(cluster)?).await?;
        let start = clock::now();
        loop {
            let state = FinalState {
                cron_jobs: list(&mut connection, create::CRON_JOBS).await?,
                jobs: list(&mut connection, JOBS).await?,
                pods: list(&mut connection, PODS).await?,
                supervisors: instance.supervisor_count(),
            };
            if state.unfinished().is_empty() || start.elapsed() > IDLE_WITHIN {
                let FinalState { jobs, pods, supervisors, .. } = &state;
                println!(
                    "idle after {:.0} s; {} Jobs, {} Pods, {supervisors} supervisors",
                    start.elapsed().as_secs_f64(),
                    jobs.len(),
                    pods.len()
                );
                return Ok(state);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Describes everything that is unfinished, failed or in disagreement with the event logs.
    pub(super) fn violations(
        &self,
        cron_jobs: &[MinutelyCronJob],
        event_logs: &[RunEventLog],
    ) -> Vec<String> {
        let mut violations = self.unfinished();
        violations.extend(self.failed());
        let job_counts = self.jobs_by_owner();
        for (cron_job, event_log) in cron_jobs.iter().zip(event_logs) {
            violations.extend(self.wrong_counters(event_log));
            let job_count = job_counts.get(&*cron_job.name).copied().unwrap_or(0);
            violations.extend(wrong_job_count(cron_job, event_log, job_count));
        }
        violations
    }

    fn unfinished(&self) -> Vec<String> {
        let mut found = Vec::new();
        for job in &self.jobs {
            if !has_condition(job, "Complete") && !has_condition(job, "Failed") {
                found.push(format!("Job {} has not ended", name(job)));
            }
        }
        for pod in &self.pods {
            let phase = text(pod, "/status/phase");
            if !matches!(phase, "Succeeded" | "Failed") {
                found.push(format!("Pod {} is {phase}", name(pod)));
            }
        }
        for cron_job in &self.cron_jobs {
            if !items(cron_job, "/status/active").is_empty() {
                found.push(format!("{} has active Jobs", name(cron_job)));
            }
        }
        if self.supervisors > 0 {
            found.push(format!("{} supervisors run", self.supervisors));
        }
        found
    }

    fn failed(&self) -> Vec<String> {
        let failed = self.jobs.iter().filter(|job| has_condition(job, "Failed"));
        failed.map(|job| format!("Job {} failed", name(job))).collect()
    }

    /// The counters in the status must equal the number of runs in the log.
    fn wrong_counters(&self, event_log: &RunEventLog) -> Option<String> {
        let cron_job = self.cron_jobs.iter().find(|found| name(found) == event_log.name)?;
        let successful = number(cron_job, "/status/successfulRuns");
        let failed = number(cron_job, "/status/failedRuns");
        let missed = number(cron_job, "/status/missedRuns");
        let runs = event_log.run_count();
        (successful != runs || failed > 0 || missed > 0).then(|| {
            format!(
                "{}: {runs} runs, but the status counts {successful} successful, {failed} failed and \
                 {missed} missed runs",
                event_log.name
            )
        })
    }

    /// The number of Jobs of each CronJob.
    fn jobs_by_owner(&self) -> HashMap<&str, usize> {
        let mut counts = HashMap::new();
        for owner in self.jobs.iter().flat_map(|job| items(job, "/metadata/ownerReferences")) {
            *counts.entry(text(owner, "/name")).or_default() += 1;
        }
        counts
    }
}

/// A CronJob that keeps all Jobs must have one for each run, every other CronJob at most one.
fn wrong_job_count(
    cron_job: &MinutelyCronJob,
    event_log: &RunEventLog,
    count: usize,
) -> Option<String> {
    let runs = event_log.run_count();
    let wanted = if cron_job.keeps_all_jobs { runs } else { runs.min(1) };
    (count != wanted).then(|| format!("{} has {count} Jobs, not {wanted}", cron_job.name))
}

async fn list(connection: &mut Connection, path: &str) -> anyhow::Result<Vec<Value>> {
    let list: Value = connection.get_json(path).await?;
    Ok(items(&list, "/items").to_vec())
}

#[cfg(test)]
mod tests;
