//! A test of a burst: many slots (scheduled times) that are due at once.

use serde_json::json;

use crate::test_cluster::{TestCluster, slot_suffix};

const CRON_JOB_COUNT: usize = 300;

#[tokio::test]
async fn in_a_burst_jobs_are_created_before_other_writes() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    for number in 0..CRON_JOB_COUNT {
        cluster.create_cron_job(&format!("c{number}"), json!({"schedule": "* * * * *"})).await;
    }
    for number in 0..CRON_JOB_COUNT {
        cluster.wait_for_next(&format!("c{number}"), "08:01:00").await;
    }
    let before = cluster.server.store.revision();
    cluster.set_time("08:01:00");
    for number in 0..CRON_JOB_COUNT {
        let name = format!("c{number}");
        let found = cluster.wait_for_next(&name, "08:02:00").await;
        assert_eq!(cluster.jobs(&name), [slot_suffix("08:01:00")]);
        assert_eq!(found["status"]["active"].as_array().unwrap().len(), 1);
    }
    let written = cluster.written_keys(before);
    let order: Vec<bool> = written.iter().map(|key| key.starts_with("/jobs.batch/")).collect();
    // While slots are due, the queue gives one reconcile in seventeen to other keys.
    let last_job = order.iter().rposition(|is_job| *is_job).unwrap();
    let others = order[..=last_job].iter().filter(|is_job| !**is_job).count();
    assert!(others <= CRON_JOB_COUNT / 16 + 16 + 1, "{others} other writes among the creates");
}
