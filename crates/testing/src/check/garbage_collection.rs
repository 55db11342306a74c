//! Checks that dependents are deleted with their owner, and that objects of users are not deleted.

use std::collections::HashSet;

use super::CheckContext;
use super::cron_job_history::{JobRun, OPEN_END};

pub(super) fn check(context: &mut CheckContext<'_>) {
    check_jobs(context);
    check_foreign_jobs(context);
    check_pods(context);
}

fn check_jobs(context: &mut CheckContext<'_>) {
    let observations = context.observations;
    let deleted = observations.cron_jobs.iter().filter(|cron_job| !cron_job.exists_at_end());
    for cron_job in deleted {
        for run in cron_job.runs.iter().filter(|run| exists_at_end(run)) {
            let text = format!("{} exists after its CronJob was deleted", run.name());
            context.report_for(cron_job, context.end, "not-deleted", &text);
        }
    }
}

fn check_foreign_jobs(context: &mut CheckContext<'_>) {
    let observations = context.observations;
    for run in &observations.foreign_jobs {
        if run.owner.is_some() && exists_at_end(run) {
            let text = format!("{} exists although its owner does not", run.key);
            context.report(context.end, "not-deleted", text);
        }
        if run.owner.is_none() && !run.is_deleted_by_user && !exists_at_end(run) {
            let text = format!("{} belongs to a user and was deleted", run.key);
            context.report(run.removed_at, "user-job-deleted", text);
        }
    }
}

fn check_pods(context: &mut CheckContext<'_>) {
    let observations = context.observations;
    let runs = observations.cron_jobs.iter().flat_map(|cron_job| &cron_job.runs);
    let runs = runs.chain(&observations.foreign_jobs).filter(|run| exists_at_end(run));
    let jobs: HashSet<&str> = runs.map(|run| &*run.uid).collect();
    for pod in observations.pods.iter().filter(|pod| pod.removed_at == OPEN_END) {
        let has_owner = pod.job.as_deref().is_none_or(|job| jobs.contains(job));
        if !has_owner {
            let text = format!("{} exists after its Job was deleted", pod.key);
            context.report(context.end, "not-deleted", text);
        }
    }
}

fn exists_at_end(run: &JobRun) -> bool {
    run.removed_at == OPEN_END
}
