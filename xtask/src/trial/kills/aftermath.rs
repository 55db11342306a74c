//! What the API and the machine say when everything is over. They must agree with the diaries.

use std::{collections::HashMap, time::Duration};

use punctual_e2e::Cluster;
use serde::Deserialize;

use super::{
    super::site::Site,
    diary::Diary,
    fleet::{CronJob, Fleet},
};
use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget},
    create,
};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Runs last a minute and a half at most, and wait for a place before that.
const OVER_WITHIN: Duration = Duration::from_secs(300);

/// Who is looked at.
pub(super) struct Aftermath<'a> {
    pub(super) site: &'a Site,
    pub(super) fleet: &'a Fleet,
}

/// What there is at one moment.
pub(super) struct Seen {
    cron_jobs: Vec<Object>,
    jobs: Vec<Object>,
    pods: Vec<Object>,
    supervisors: usize,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Object>,
}

#[derive(Deserialize)]
pub(super) struct Object {
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    #[serde(default)]
    owner_references: Vec<Owner>,
}

#[derive(Deserialize)]
struct Owner {
    name: String,
}

/// Of any of the three kinds.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    conditions: Vec<Condition>,
    active: serde_json::Value,
    successful_runs: usize,
    failed_runs: usize,
    missed_runs: usize,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl Aftermath<'_> {
    /// Waits until nothing runs any more, or nothing is likely to change.
    pub(super) async fn wait(&self, cluster: &Cluster) -> anyhow::Result<Seen> {
        let mut connection = Connection::open(&ConnectionTarget::of(cluster)?).await?;
        let start = clock::now();
        loop {
            let seen = self.look(&mut connection).await?;
            if seen.pending().is_empty() || start.elapsed() > OVER_WITHIN {
                println!("over after {:.0} s; {}", start.elapsed().as_secs_f64(), seen.summary());
                return Ok(seen);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn look(&self, connection: &mut Connection) -> anyhow::Result<Seen> {
        Ok(Seen {
            cron_jobs: connection.get_json::<List>(create::CRON_JOBS).await?.items,
            jobs: connection.get_json::<List>(JOBS).await?.items,
            pods: connection.get_json::<List>(PODS).await?.items,
            supervisors: self.site.supervisors().len(),
        })
    }

    /// Everything that should not be so.
    pub(super) fn faults(&self, seen: &Seen) -> anyhow::Result<Vec<String>> {
        let diaries = self.fleet.diaries()?;
        let mut faults = seen.pending();
        faults.extend(seen.failed());
        for (cron_job, diary) in self.fleet.cron_jobs.iter().zip(&diaries) {
            faults.extend(seen.miscounted(diary));
            faults.extend(seen.mislaid(cron_job, diary));
        }
        Ok(faults)
    }
}

impl Seen {
    /// What has not ended.
    fn pending(&self) -> Vec<String> {
        let jobs = self.jobs.iter().filter(|job| !job.is("Complete") && !job.is("Failed"));
        let pods = self.pods.iter().filter(|pod| pod.is_running());
        let active = self.cron_jobs.iter().filter(|cron_job| cron_job.is_active());
        let mut words: Vec<String> = jobs
            .map(|job| format!("Job {} has not ended", job.metadata.name))
            .chain(pods.map(|pod| format!("Pod {} is {}", pod.metadata.name, pod.status.phase)))
            .chain(active.map(|cron_job| format!("{} has active Jobs", cron_job.metadata.name)))
            .collect();
        if self.supervisors > 0 {
            words.push(format!("{} supervisors run", self.supervisors));
        }
        words
    }

    fn failed(&self) -> Vec<String> {
        let failed = self.jobs.iter().filter(|job| job.is("Failed"));
        failed.map(|job| format!("Job {} failed", job.metadata.name)).collect()
    }

    /// The counters of a CronJob must say what its diary says.
    fn miscounted(&self, diary: &Diary) -> Option<String> {
        let cron_job = self.cron_jobs.iter().find(|found| found.metadata.name == diary.name)?;
        let Status { successful_runs, failed_runs, missed_runs, .. } = cron_job.status;
        let runs = diary.runs();
        (successful_runs != runs || failed_runs > 0 || missed_runs > 0).then(|| {
            format!(
                "{}: {runs} runs, but it counts {successful_runs} good, {failed_runs} bad and \
                 {missed_runs} missed ones",
                diary.name
            )
        })
    }

    /// Who keeps all Jobs must have one for each run, and everybody else no more than one.
    fn mislaid(&self, cron_job: &CronJob, diary: &Diary) -> Option<String> {
        let kept = self.owned().get(&*cron_job.name).copied().unwrap_or(0);
        let wanted = if cron_job.keeps_all { diary.runs() } else { diary.runs().min(1) };
        (kept != wanted).then(|| format!("{} has {kept} Jobs, not {wanted}", cron_job.name))
    }

    /// How many Jobs each CronJob has.
    fn owned(&self) -> HashMap<&str, usize> {
        let mut owned = HashMap::new();
        for owner in self.jobs.iter().flat_map(|job| &job.metadata.owner_references) {
            *owned.entry(&*owner.name).or_default() += 1;
        }
        owned
    }

    fn summary(&self) -> String {
        let Seen { jobs, pods, supervisors, .. } = self;
        format!("{} Jobs, {} Pods, {supervisors} supervisors", jobs.len(), pods.len())
    }
}

impl Object {
    fn is(&self, condition: &str) -> bool {
        let mut conditions = self.status.conditions.iter();
        conditions.any(|found| found.kind == condition && found.status == "True")
    }

    fn is_running(&self) -> bool {
        !matches!(&*self.status.phase, "Succeeded" | "Failed")
    }

    /// A CronJob has a list of Jobs there.
    fn is_active(&self) -> bool {
        self.status.active.as_array().is_some_and(|active| !active.is_empty())
    }
}

#[cfg(test)]
mod tests;
