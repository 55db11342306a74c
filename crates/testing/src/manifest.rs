//! Builds manifests of CronJobs and Jobs for tests.

use serde_json::{Value, json};

use crate::scenario::ScenarioCronJob;

/// The spec of a Job with one container that is never restarted.
pub fn job_spec(container: Value) -> Value {
    json!({
        "backoffLimit": 0,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    })
}

/// The spec of a Job that runs a command.
pub fn command_job_spec(image: &str, command: &[&str]) -> Value {
    job_spec(json!({"name": "main", "image": image, "command": command}))
}

/// A `batch/v1` CronJob.
pub fn cron_job(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": spec,
    })
}

impl ScenarioCronJob {
    /// The manifest without `apiVersion` and `kind`, which the request path implies. The command tells the
    /// simulated node how long the Pod runs and how often it fails.
    pub fn manifest(&self, name: &str) -> Value {
        let pod_duration = self.pod_duration.to_string();
        let failures = self.failing_pods_per_ten.to_string();
        let mut job = command_job_spec("none", &["run", &pod_duration, &failures]);
        if let (Some(ttl), Some(job)) = (self.ttl, job.as_object_mut()) {
            job.insert("ttlSecondsAfterFinished".to_owned(), json!(ttl));
        }
        let mut spec = json!({
            "schedule": self.schedule,
            "concurrencyPolicy": self.policy.to_string(),
            "suspend": self.is_suspended,
            "successfulJobsHistoryLimit": self.history.0,
            "failedJobsHistoryLimit": self.history.1,
            "jobTemplate": {"spec": job},
        });
        let optional = [
            ("timeZone", self.zone.map(|zone| json!(zone))),
            ("startingDeadlineSeconds", self.deadline.map(|deadline| json!(deadline))),
            ("jitter", (self.jitter > 0).then(|| json!(self.jitter))),
        ];
        if let Some(spec) = spec.as_object_mut() {
            for (field, value) in optional {
                if let Some(value) = value {
                    spec.insert(field.to_owned(), value);
                }
            }
        }
        json!({"metadata": {"name": name}, "spec": spec})
    }
}
