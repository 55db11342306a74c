//! Tests of the metrics: names, labels and the bound on the number of series.

use super::runs::CRON_JOBS_MAX;
use punctual_queue::QueueStats;

use super::*;

fn scrape(metrics: &Metrics) -> String {
    let mut page = String::new();
    metrics.encode(&mut page);
    page
}

#[track_caller]
fn assert_lines(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(page.lines().any(|found| found == *line), "{line} is not in\n{page}");
    }
}

#[test]
fn metrics_have_their_documented_names() {
    let metrics = Metrics::default();
    metrics.call_failed("POST", Some(409));
    metrics.call_failed("GET", None);
    metrics.observe_start_skew(Duration::from_millis(1500));
    metrics.observe_pod_start(Duration::from_millis(30));
    metrics.observe_pod_creation(Duration::from_secs(3));
    metrics.observe_job_start(Duration::from_secs(600));
    metrics.count_runs("default", "a", RunOutcome::Succeeded, 1);
    metrics.count_runs("default", "a", RunOutcome::Missed, 3);
    metrics.set_cron_jobs(7);
    metrics.events_dropped(2);
    metrics.set_unsynced_scopes(3);
    metrics.count_unreadable(UnreadableKind::CronJob);
    metrics.set_leader("punctual", true);
    metrics.set_next_due_source(|| Timestamp::from_millisecond(1_700_000_000_500).ok());
    let page = scrape(&metrics);
    assert_lines(
        &page,
        &[
            "punctual_api_errors_total{verb=\"create\",code=\"409\"} 1",
            "punctual_api_errors_total{verb=\"get\",code=\"none\"} 1",
            "cronjob_controller_job_creation_skew_duration_seconds_bucket{le=\"1.0\"} 0",
            "cronjob_controller_job_creation_skew_duration_seconds_bucket{le=\"2.0\"} 1",
            "cronjob_controller_job_creation_skew_duration_seconds_bucket{le=\"512.0\"} 1",
            "punctual_start_skew_seconds_bucket{le=\"0.001\"} 0",
            "punctual_start_skew_seconds_bucket{le=\"15.0\"} 1",
            "punctual_start_skew_seconds_bucket{le=\"3600.0\"} 1",
            "punctual_pod_start_seconds_count 1",
            "punctual_job_pod_creation_seconds_bucket{le=\"2.0\"} 0",
            "punctual_job_pod_creation_seconds_bucket{le=\"4.0\"} 1",
            "punctual_job_start_seconds_bucket{le=\"512.0\"} 0",
            "punctual_job_start_seconds_sum 600.0",
            "punctual_runs_total{namespace=\"default\",cronjob=\"a\",outcome=\"succeeded\"} 1",
            "punctual_missed_total 3",
            "punctual_cron_jobs 7",
            "punctual_events_dropped_total 2",
            "punctual_unsynced_scopes 3",
            "punctual_unreadable_objects_total{kind=\"CronJob\"} 1",
            "leader_election_master_status{name=\"punctual\"} 1",
            "punctual_next_due_timestamp_seconds 1700000000.5",
        ],
    );
    assert!(!page.contains("# EOF"));
}

#[test]
fn a_scrape_shows_the_queues_that_still_exist() {
    let metrics = Metrics::default();
    let stats = QueueStats { depth: 2, adds: 5, retries: 1, ..QueueStats::default() };
    let longest_running = Duration::from_millis(1500);
    let stats = QueueStats { longest_running, in_flight: 3, ..stats };
    let times =
        metrics.add_queue("cronjob", move || Some(QueueState { stats, workers: 64, moves: 0 }));
    metrics.add_queue("dropped", || None);
    times.observe_queued(Duration::from_millis(50));
    times.observe_worked(Duration::from_secs(2));
    let page = scrape(&metrics);
    assert_lines(
        &page,
        &[
            "# TYPE workqueue_adds counter",
            "workqueue_depth{name=\"cronjob\"} 2.0",
            "workqueue_adds_total{name=\"cronjob\"} 5",
            "workqueue_retries_total{name=\"cronjob\"} 1",
            "workqueue_queue_duration_seconds_bucket{le=\"0.1\",name=\"cronjob\"} 1",
            "workqueue_work_duration_seconds_sum{name=\"cronjob\"} 2.0",
            "workqueue_unfinished_work_seconds{name=\"cronjob\"} 0.0",
            "workqueue_longest_running_processor_seconds{name=\"cronjob\"} 1.5",
            "punctual_busy_workers{name=\"cronjob\"} 3.0",
            "punctual_workers{name=\"cronjob\"} 64.0",
        ],
    );
    assert!(!page.contains("dropped\""));
}

#[test]
fn a_new_queue_continues_the_histograms_of_its_name() {
    let metrics = Metrics::default();
    metrics.add_queue("a", || None).observe_queued(Duration::ZERO);
    let state = QueueState { stats: QueueStats::default(), workers: 1, moves: 0 };
    metrics.add_queue("a", move || Some(state)).observe_queued(Duration::ZERO);
    let page = scrape(&metrics);
    assert_lines(&page, &["workqueue_queue_duration_seconds_count{name=\"a\"} 2"]);
    assert_eq!(page.matches("workqueue_depth{").count(), 1);
}

#[test]
fn the_number_of_run_counters_is_bounded() {
    let metrics = Metrics::default();
    for number in 0..CRON_JOBS_MAX + 5 {
        metrics.count_runs("default", &number.to_string(), RunOutcome::Failed, 1);
        metrics.count_runs("default", &number.to_string(), RunOutcome::Succeeded, 1);
    }
    let other = "punctual_runs_total{namespace=\"\",cronjob=\"_other\",outcome=\"failed\"} 5";
    let full = scrape(&metrics);
    assert_lines(&full, &[other]);
    assert_eq!(full.matches("punctual_runs_total{").count(), 4 * CRON_JOBS_MAX + 2);
    // The counters of a deleted CronJob become available to another.
    metrics.remove_cron_job("default", "7");
    metrics.remove_cron_job("default", "unknown");
    metrics.count_runs("default", "new", RunOutcome::Missed, 1);
    let after = scrape(&metrics);
    let new = "punctual_runs_total{namespace=\"default\",cronjob=\"new\",outcome=\"missed\"} 1";
    assert_lines(&after, &[other, new]);
    assert!(!after.contains("cronjob=\"7\""));
}
