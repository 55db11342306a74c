//! Tests of the view model: what each watch update changes.

use super::cron_job_table::RowOrder;
use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(in crate::up) fn cron_job(name: &str, next: &str) -> CronJobSummary {
    CronJobSummary {
        kind: WatchedKind::CronJob,
        name: name.into(),
        schedule: "* * * * *".into(),
        zone: None,
        is_suspended: false,
        next: Some(at(next)),
        active: 0,
        failures: 0,
        stuck: None,
        is_complete: false,
        last_run: None,
        succeeded: 0,
        failed: 0,
        missed: 0,
        last_missed: None,
        skipped: 0,
    }
}

pub(in crate::up) fn job(name: &str, end: Option<&str>) -> JobSummary {
    let since = at("2026-01-01T00:00:00Z");
    let seen_at = end.map_or(since, at);
    let end = end.map(|end| JobEnd { at: at(end), error: None });
    JobSummary { name: name.into(), since, seen_at, end }
}

pub(in crate::up) fn put_cron_job(cron_job: CronJobSummary) -> WatchUpdate {
    WatchUpdate::CronJob(cron_job.name.as_ref().into(), cron_job)
}

pub(in crate::up) fn put_job(job: JobSummary) -> WatchUpdate {
    WatchUpdate::Job(job.name.as_ref().into(), job)
}

/// Returns a model that has listed the given objects.
pub(in crate::up) fn listed(changes: Vec<WatchUpdate>) -> ViewModel {
    let mut model = ViewModel::default();
    let kinds =
        [WatchedKind::CronJob, WatchedKind::ScheduledJob, WatchedKind::Job, WatchedKind::Pod];
    let begin = kinds.map(WatchUpdate::Listing);
    for change in begin.into_iter().chain(changes).chain(kinds.map(WatchUpdate::Listed)) {
        assert_eq!(model.apply(change), [], "objects of the first list cause no events");
    }
    assert!(model.is_complete());
    model
}

fn names(model: &mut ViewModel) -> Vec<&str> {
    model.cron_jobs.set_order(RowOrder::Next);
    model.cron_jobs.prepare();
    model.cron_jobs.rows_from(0).map(|(_, cron_job)| &*cron_job.name).collect()
}

#[test]
fn a_run_starts_and_finishes_once() {
    let mut model = listed(vec![]);
    let started = [RunEvent::Started { job: "a/b-1".into() }];
    assert_eq!(model.apply(put_job(job("a/b-1", None))), started);
    assert_eq!(model.apply(put_job(job("a/b-1", None))), []);
    assert_eq!(model.running.len(), 1);
    let over = || put_job(job("a/b-1", Some("2026-01-01T00:00:05Z")));
    let took = SignedDuration::from_secs(5);
    let finished = [RunEvent::Finished { job: "a/b-1".into(), took, error: None }];
    assert_eq!(model.apply(over()), finished);
    assert_eq!(model.apply(over()), [], "a change of a finished Job causes no event");
    assert_eq!((model.running.len(), model.finished.len()), (0, 1));
    assert_eq!(model.apply(WatchUpdate::Deleted(WatchedKind::Job, "a/b-1".into())), []);
    assert_eq!(model.finished.len(), 1, "deleting a Job keeps its result");
}

#[test]
fn the_latest_results_are_kept_in_order() {
    let ends = [3, 1, 2].map(|second| {
        let end = format!("2026-01-01T00:00:0{second}Z");
        put_job(job(&second.to_string(), Some(&end)))
    });
    let mut model = listed(ends.into());
    let shown =
        |model: &ViewModel| model.finished.iter().map(|it| it.job.to_string()).collect::<Vec<_>>();
    assert_eq!(shown(&model), ["3", "2", "1"]);
    for number in 0..FINISHED_MAX {
        let name = format!("later-{number}");
        model.apply(put_job(job(&name, None)));
        model.apply(put_job(job(&name, Some("2026-01-01T00:01:00Z"))));
    }
    assert_eq!(model.finished.len(), FINISHED_MAX);
    assert!(!shown(&model).contains(&"3".to_owned()));
}

#[test]
fn cron_jobs_are_sorted_by_their_next_run() {
    let early = "2026-01-01T00:01:00Z";
    let late = "2026-01-01T00:02:00Z";
    let paused = CronJobSummary { is_suspended: true, ..cron_job("paused", early) };
    let first = vec![
        put_cron_job(paused),
        put_cron_job(cron_job("b", late)),
        put_cron_job(cron_job("a", early)),
    ];
    let mut model = listed(first);
    assert_eq!(names(&mut model), ["a", "b", "paused"]);
    let next = [RunEvent::Next { cron_job: "a".into(), at: at("2026-01-01T00:03:00Z") }];
    assert_eq!(model.apply(put_cron_job(cron_job("a", "2026-01-01T00:03:00Z"))), next);
    assert_eq!(names(&mut model), ["b", "a", "paused"]);
    model.apply(WatchUpdate::Deleted(WatchedKind::CronJob, "b".into()));
    assert_eq!(names(&mut model), ["a", "paused"]);
}

#[test]
fn missed_and_skipped_runs_are_reported_and_totals_follow_the_objects() {
    let next = "2026-01-01T00:01:00Z";
    let mut model =
        listed(vec![put_cron_job(CronJobSummary { succeeded: 2, ..cron_job("a", next) })]);
    let slot = Some(at("2026-01-01T00:00:00Z"));
    let missed = CronJobSummary {
        succeeded: 2,
        failed: 3,
        missed: 3,
        last_missed: slot,
        skipped: 2,
        ..cron_job("a", next)
    };
    let events = [
        RunEvent::Missed { cron_job: "a".into(), slot, count: 3 },
        RunEvent::Skipped { cron_job: "a".into(), count: 2 },
    ];
    assert_eq!(model.apply(put_cron_job(missed)), events);
    assert_eq!(model.totals, RunTotals { succeeded: 2, failed: 3, missed: 3 });
    model.apply(WatchUpdate::Deleted(WatchedKind::CronJob, "a".into()));
    assert_eq!(model.totals, RunTotals::default());
}

#[test]
fn objects_missing_from_a_new_list_are_removed() {
    let next = "2026-01-01T00:01:00Z";
    let ours = CronJobSummary { kind: WatchedKind::ScheduledJob, ..cron_job("ours", next) };
    let first = vec![
        put_cron_job(cron_job("a", next)),
        put_cron_job(cron_job("b", next)),
        put_cron_job(ours),
    ];
    let mut model = listed(first);
    model.apply(put_job(job("a-1", None)));
    model.apply(WatchUpdate::Listing(WatchedKind::CronJob));
    assert_eq!(model.cron_jobs.len(), 3, "objects are removed only when the list is complete");
    assert_eq!(model.apply(put_cron_job(cron_job("b", next))), []);
    model.apply(WatchUpdate::Listed(WatchedKind::CronJob));
    assert_eq!(names(&mut model), ["b", "ours"]);
    assert_eq!(model.running.len(), 1);
    model.apply(WatchUpdate::Listing(WatchedKind::Job));
    model.apply(WatchUpdate::Listed(WatchedKind::Job));
    assert_eq!(model.running.len(), 0);
}

#[test]
fn durations_below_a_second_come_from_the_arrival_of_updates() {
    let mut model = listed(vec![]);
    model.apply(put_job(job("a/b-1", None)));
    let mut over = job("a/b-1", Some("2026-01-01T00:00:01Z"));
    over.seen_at = at("2026-01-01T00:00:00.35Z");
    let took = SignedDuration::from_millis(350);
    let finished = [RunEvent::Finished { job: "a/b-1".into(), took, error: None }];
    assert_eq!(model.apply(put_job(over)), finished);
    // The updates of this one came late.
    model.apply(put_job(job("a/b-2", None)));
    let mut over = job("a/b-2", Some("2026-01-01T00:01:00Z"));
    over.seen_at = at("2026-01-01T00:00:01Z");
    let took = SignedDuration::from_secs(60);
    let finished = [RunEvent::Finished { job: "a/b-2".into(), took, error: None }];
    assert_eq!(model.apply(put_job(over)), finished);
}

#[test]
fn the_problem_of_a_pod_is_reported_at_once_and_ends_with_the_job() {
    let pod = |uid: &str, problem: Option<&str>| {
        let problem = problem.map(Into::into);
        WatchUpdate::Pod(uid.into(), PodSummary { job: "a/b-1".into(), problem })
    };
    let event =
        |problem: &str| [RunEvent::Problem { job: "a/b-1".into(), problem: problem.into() }];
    let mut model = listed(vec![pod("old", Some("listed"))]);
    let running = job("a/b-1", None);
    model.apply(put_job(running.clone()));
    assert_eq!(model.apply(pod("x", None)), []);
    assert_eq!(model.apply(pod("x", Some("no secret"))), event("no secret"));
    assert_eq!(model.apply(pod("x", Some("no secret"))), [], "each problem is reported once");
    assert_eq!(model.problem(&running), Some("no secret"));
    assert_eq!(model.apply(pod("x", None)), []);
    assert_eq!(model.problem(&running), None, "the Pod has started");
    assert_eq!(model.apply(pod("x", Some("exit code 3"))), event("exit code 3"));
    assert_eq!(model.apply(pod("y", Some("exit code 3"))), event("exit code 3"));
    model.apply(put_job(job("a/b-1", Some("2026-01-01T00:00:05Z"))));
    assert_eq!(model.problem(&running), None);
}
