//! Says in words what the fields of a CronJob mean.

use jiff::SignedDuration;
use punctual_api::{ConcurrencyPolicy, CronJob};

use crate::time_text::{format_duration, plural};

/// Kubernetes' default of `backoffLimit`.
const BACKOFF_LIMIT_DEFAULT: i32 = 6;

/// Returns one sentence for each rule that applies to the runs of a CronJob.
pub(crate) fn sentences(cron_job: &CronJob) -> Vec<String> {
    let mut sentences = vec![concurrency(cron_job), deadline(cron_job)];
    sentences.extend(jitter(cron_job));
    sentences.extend(run_rules(cron_job));
    sentences.push(history(cron_job));
    sentences
}

fn concurrency(cron_job: &CronJob) -> String {
    match cron_job.concurrency_policy() {
        ConcurrencyPolicy::Allow => "Runs may overlap (Allow).".to_owned(),
        ConcurrencyPolicy::Forbid => {
            "Runs never overlap (Forbid): while one is active, slots wait, and the latest of them starts when it \
             ends."
                .to_owned()
        }
        ConcurrencyPolicy::Replace => {
            "Runs never overlap (Replace): a new slot deletes the run that is still active.".to_owned()
        }
        ConcurrencyPolicy::CatchUp => format!(
            "Every slot runs, one after another (CatchUp), at most the newest {} that are pending.",
            cron_job.catch_up_limit()
        ),
    }
}

fn deadline(cron_job: &CronJob) -> String {
    match cron_job.spec.starting_deadline_seconds {
        None => "A slot may start at any time after it is due.".to_owned(),
        Some(0) => "startingDeadlineSeconds is 0, so no slot ever starts.".to_owned(),
        Some(seconds) => {
            format!("A slot that cannot start within {} is missed.", seconds_text(seconds))
        }
    }
}

fn jitter(cron_job: &CronJob) -> Option<String> {
    let percent = cron_job.jitter_percent();
    let text = format!("Each run starts up to {percent}% of the interval after its slot (jitter).");
    (percent > 0).then_some(text)
}

fn run_rules(cron_job: &CronJob) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(seconds) = cron_job.pending_deadline_seconds() {
        sentences.push(format!(
            "A run of which no Pod is ready after {} is given up.",
            seconds_text(seconds)
        ));
    }
    let Ok(template) = cron_job.job_template() else {
        sentences.push("The Job template cannot be read.".to_owned());
        return sentences;
    };
    let limit = template.spec.backoff_limit.unwrap_or(BACKOFF_LIMIT_DEFAULT);
    sentences.push(match limit {
        0 => "A failed Pod is not retried.".to_owned(),
        limit => format!("A failed Pod is retried up to {}.", plural(i64::from(limit), "time")),
    });
    if let Some(seconds) = template.spec.active_deadline_seconds {
        sentences.push(format!("A run is ended after {}.", seconds_text(seconds)));
    }
    if let Some(seconds) = template.spec.ttl_seconds_after_finished {
        let after = seconds_text(i64::from(seconds));
        sentences.push(format!("A finished Job is deleted after {after}."));
    }
    sentences
}

fn history(cron_job: &CronJob) -> String {
    let (successful, failed) = cron_job.history_limits();
    format!("The Jobs of the last {successful} successful and {failed} failed runs are kept.")
}

fn seconds_text(seconds: i64) -> String {
    format_duration(SignedDuration::from_secs(seconds))
}
