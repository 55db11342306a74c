//! Tests of `pendingDeadlineSeconds` with a real server: a run whose Pods never start is given up.

use serde_json::{Value, json};

use crate::test_cluster::{JOBS, TestCluster, slot_suffix};

impl TestCluster {
    /// Writes the status of a Job like the Job controller.
    async fn set_job_status(&self, name: &str, status: Value) {
        let path = format!("{JOBS}/{name}");
        let mut job = self.server.send("GET", &path, &Value::Null).await.unwrap();
        job["status"] = status;
        self.server.send("PUT", &format!("{path}/status"), &job).await.unwrap();
    }
}

#[tokio::test]
async fn a_run_whose_pods_never_start_is_given_up_and_the_next_one_starts() {
    for is_foreign in [false, true] {
        let cluster = if is_foreign {
            TestCluster::with_foreign_server("08:00:10").await
        } else {
            TestCluster::with_cron_job_controller("08:00:10").await
        };
        let spec = json!({"schedule": "*/10 * * * *", "concurrencyPolicy": "Forbid"});
        cluster.create_cron_job("a", spec).await;
        let patch = if is_foreign {
            json!({"metadata": {"annotations": {"punctual.dev/pending-deadline-seconds": "60"}}})
        } else {
            json!({"spec": {"pendingDeadlineSeconds": 60}})
        };
        cluster.patch("a", patch).await;
        cluster.set_time("08:10:00");
        let name = format!("a-{}", slot_suffix("08:10:00"));
        cluster.wait_for_jobs("a", &[&slot_suffix("08:10:00")]).await;
        let pending = json!({"startTime": "2026-01-31T08:10:00Z", "active": 1, "ready": 0,
            "uncountedTerminatedPods": {}});
        cluster.set_job_status(&name, pending).await;
        let job = || cluster.server.object(&format!("/jobs.batch/default/{name}"));
        assert_eq!(job()["spec"]["activeDeadlineSeconds"], Value::Null);
        cluster.set_time("08:11:00");
        cluster.wait_for_event("a", "PendingDeadlineExceeded").await;
        assert_eq!(job()["spec"]["activeDeadlineSeconds"], 60);
        // The Job controller fails the Job now, because it is active for longer than its deadline.
        cluster.finish_job(&name, "Failed").await;
        let is_over = |found: &Value| found["status"]["active"] == Value::Null;
        let found = cluster.wait_for("a", is_over).await;
        if !is_foreign {
            assert_eq!(found["status"]["failedRuns"], 1);
        }
        cluster.set_time("08:20:00");
        cluster.wait_for_jobs("a", &[&slot_suffix("08:10:00"), &slot_suffix("08:20:00")]).await;
    }
}

#[tokio::test]
async fn a_run_with_a_ready_pod_is_not_given_up() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let spec = json!({"schedule": "*/10 * * * *", "pendingDeadlineSeconds": 60});
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "08:10:00").await;
    cluster.set_time("08:10:00");
    let name = format!("a-{}", slot_suffix("08:10:00"));
    cluster.wait_for_jobs("a", &[&slot_suffix("08:10:00")]).await;
    let started = |ready: i32| {
        json!({"startTime": "2026-01-31T08:10:00Z", "active": 1, "ready": ready,
            "uncountedTerminatedPods": {}})
    };
    cluster.set_job_status(&name, started(0)).await;
    cluster.set_job_status(&name, started(1)).await;
    cluster.set_time("08:20:00");
    cluster.wait_for_next("a", "08:30:00").await;
    let job = cluster.server.object(&format!("/jobs.batch/default/{name}"));
    assert_eq!(job["spec"]["activeDeadlineSeconds"], Value::Null);
}
