use super::runs::CRON_JOBS_MAX;
use super::*;

fn page(metrics: &Metrics) -> String {
    let mut page = String::new();
    metrics.encode(&mut page);
    page
}

#[track_caller]
fn check(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(page.lines().any(|found| found == *line), "{line} is not in\n{page}");
    }
}

#[test]
fn everything_has_the_name_that_others_look_for() {
    let metrics = Metrics::default();
    metrics.call_failed("POST", Some(409));
    metrics.call_failed("GET", None);
    metrics.started(Duration::from_millis(1500));
    metrics.pod_started(Duration::from_millis(30));
    metrics.runs("default", "a", Outcome::Succeeded, 1);
    metrics.runs("default", "a", Outcome::Missed, 3);
    metrics.set_cron_jobs(7);
    metrics.events_dropped(2);
    metrics.set_leader("punctual", true);
    metrics.next_due(|| Timestamp::from_millisecond(1_700_000_000_500).ok());
    let page = page(&metrics);
    check(
        &page,
        &[
            "punctual_api_errors_total{verb=\"create\",code=\"409\"} 1",
            "punctual_api_errors_total{verb=\"get\",code=\"none\"} 1",
            "cronjob_controller_job_creation_skew_duration_seconds_bucket{le=\"1.0\"} 0",
            "cronjob_controller_job_creation_skew_duration_seconds_bucket{le=\"2.0\"} 1",
            "cronjob_controller_job_creation_skew_duration_seconds_bucket{le=\"512.0\"} 1",
            "punctual_start_skew_seconds_bucket{le=\"0.001\"} 0",
            "punctual_start_skew_seconds_bucket{le=\"3600.0\"} 1",
            "punctual_pod_start_seconds_count 1",
            "punctual_runs_total{namespace=\"default\",cronjob=\"a\",outcome=\"succeeded\"} 1",
            "punctual_missed_total 3",
            "punctual_cron_jobs 7",
            "punctual_events_dropped_total 2",
            "leader_election_master_status{name=\"punctual\"} 1",
            "punctual_next_due_timestamp_seconds 1700000000.5",
        ],
    );
    assert!(!page.contains("# EOF"));
}

#[test]
fn queues_are_asked_at_every_scrape_and_left_out_when_they_are_gone() {
    let metrics = Metrics::default();
    let stats = Stats { depth: 2, adds: 5, retries: 1, ..Stats::default() };
    let stats = Stats { longest_running: Duration::from_millis(1500), ..stats };
    let times = metrics.add_queue("cronjob", move || Some(stats));
    metrics.add_queue("gone", || None);
    times.observe_queued(Duration::from_millis(50));
    times.observe_worked(Duration::from_secs(2));
    let page = page(&metrics);
    check(
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
        ],
    );
    assert!(!page.contains("gone"));
}

#[test]
fn a_queue_that_begins_anew_goes_on_where_its_name_was() {
    let metrics = Metrics::default();
    metrics.add_queue("a", || None).observe_queued(Duration::ZERO);
    metrics.add_queue("a", || Some(Stats::default())).observe_queued(Duration::ZERO);
    let page = page(&metrics);
    check(&page, &["workqueue_queue_duration_seconds_count{name=\"a\"} 2"]);
    assert_eq!(page.matches("workqueue_depth{").count(), 1);
}

#[test]
fn any_number_of_cron_jobs_has_a_bounded_number_of_counters() {
    let metrics = Metrics::default();
    for number in 0..CRON_JOBS_MAX + 5 {
        metrics.runs("default", &number.to_string(), Outcome::Failed, 1);
        metrics.runs("default", &number.to_string(), Outcome::Succeeded, 1);
    }
    let other = "punctual_runs_total{namespace=\"\",cronjob=\"_other\",outcome=\"failed\"} 5";
    let full = page(&metrics);
    check(&full, &[other]);
    assert_eq!(full.matches("punctual_runs_total{").count(), 3 * CRON_JOBS_MAX + 2);
    // One that goes makes room for another.
    metrics.forget("default", "7");
    metrics.forget("default", "never seen");
    metrics.runs("default", "new", Outcome::Missed, 1);
    let after = page(&metrics);
    let new = "punctual_runs_total{namespace=\"default\",cronjob=\"new\",outcome=\"missed\"} 1";
    check(&after, &[other, new]);
    assert!(!after.contains("cronjob=\"7\""));
}
