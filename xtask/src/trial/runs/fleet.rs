//! The CronJobs of the trial: as much work as the machine can bear, and as little as there can be in each.

use std::rc::Rc;

use bytes::Bytes;
use serde_json::json;

use punctual_e2e::load::{connection::Connection, create};

/// Under Forbid a machine that is too slow runs fewer of them, instead of falling behind for ever.
pub(super) struct Fleet {
    pub(super) count: usize,
}

impl Fleet {
    /// The manifests.
    pub(super) fn bodies(&self) -> Rc<[Bytes]> {
        (0..self.count).map(body).collect()
    }

    /// Starts no more, or goes on.
    pub(super) async fn suspend(
        &self,
        connection: &mut Connection,
        suspend: bool,
    ) -> anyhow::Result<()> {
        let patch = json!({"spec": {"suspend": suspend}}).to_string();
        for number in 0..self.count {
            connection.patch(&format!("{}/{}", create::CRON_JOBS, name(number)), &patch).await?;
        }
        Ok(())
    }
}

fn name(number: usize) -> String {
    format!("runs-{number:04}")
}

fn body(number: usize) -> Bytes {
    let container = json!({"name": "main", "image": "busybox:1.37", "command": ["/bin/true"]});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    let cron_job = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name(number)},
        "spec": {
            "schedule": "@every 1s",
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"backoffLimit": 0, "template": {"spec": pod}}},
        },
    });
    Bytes::from(cron_job.to_string())
}
