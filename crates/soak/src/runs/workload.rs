//! CronJobs that are due every second and whose runs do nothing.

use bytes::Bytes;
use punctual_e2e::load::{connection::Connection, create};
use punctual_testing::manifest;
use serde_json::json;

/// Suspends or resumes the first `count` CronJobs.
pub(super) async fn set_suspended(
    connection: &mut Connection,
    count: usize,
    is_suspended: bool,
) -> anyhow::Result<()> {
    let patch = json!({"spec": {"suspend": is_suspended}}).to_string();
    for number in 0..count {
        connection.patch(&format!("{}/{}", create::CRON_JOBS, name(number)), &patch).await?;
    }
    Ok(())
}

fn name(number: usize) -> String {
    format!("runs-{number:04}")
}

/// The request body that creates a CronJob. Its policy is Forbid: a slow machine then runs fewer Jobs and
/// does not fall behind.
pub(super) fn body(number: usize) -> Bytes {
    let spec = json!({
        "schedule": "@every 1s",
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": manifest::command_job_spec("busybox:1.37", &["/bin/true"])},
    });
    Bytes::from(manifest::cron_job(&name(number), spec).to_string())
}
