//! Fleet rows, descriptions, forecasts and plans.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;

use jiff::SignedDuration;
use serde_json::{Value, json};

use fixture::{SnapshotBuilder, at};
use punctual_views::{
    CronJobSnapshot, FleetFilter, FleetOrder, FleetRow, FleetState, ResumePreview, UntilSupport,
    compare, describe, find_collisions, forecast, until_support,
};

const NOW: &str = "2026-11-17T06:00:30Z";

fn run(slot: &str, result: &str, seconds: i64) -> Value {
    let start = at(slot);
    let end = start.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    json!({"slot": slot, "decision": "Started", "reason": "Scheduled", "createdTime": slot, "startTime": slot,
        "completionTime": end.to_string(), "result": result})
}

fn recent(builder: SnapshotBuilder) -> SnapshotBuilder {
    builder.status(json!({"lastScheduleTime": "2026-11-17T06:00:00Z"}))
}

fn row(snapshot: &CronJobSnapshot) -> FleetRow {
    FleetRow::new(snapshot, at(NOW))
}

#[test]
fn a_row_has_the_next_run_and_the_result_of_the_last() {
    let snapshot = recent(SnapshotBuilder::new())
        .record(run("2026-11-17T06:00:00Z", "Succeeded", 20))
        .record(run("2026-11-17T05:55:00Z", "Succeeded", 30))
        .record(run("2026-11-17T05:50:00Z", "Failed", 30))
        .build();
    let row = row(&snapshot);
    assert_eq!(row.next, Some(at("2026-11-17T06:05:00Z")));
    assert_eq!((row.took_seconds, row.state), (Some(20), FleetState::Ok));
    let streak = row.streak.unwrap();
    assert_eq!((streak.is_success, streak.count, streak.is_at_least), (true, 2, false));
}

#[test]
fn every_state_is_found() {
    let condition = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "reason": "R", "message": "m"}]});
    let new = SnapshotBuilder::new;
    let failing = json!({"failuresSinceSuccess": 3});
    let cases = [
        (new().metadata("creationTimestamp", json!(NOW)), FleetState::New),
        (recent(new()).status(json!({"lastSuccessfulTime": NOW})), FleetState::Ok),
        (recent(new()).status(failing), FleetState::Failing),
        (recent(new()).active("a"), FleetState::Running),
        (new(), FleetState::Overdue),
        (recent(new()).status(condition("Settled", "False")), FleetState::Stuck),
        (new().status(json!({"lastScheduleTime": "2030-01-01T00:00:00Z"})), FleetState::Stuck),
        (recent(new()).status(condition("Complete", "True")), FleetState::Complete),
        (new().spec(json!({"schedule": "x"})), FleetState::Invalid),
        (new().spec(json!({"suspend": true})), FleetState::Suspended),
        (new().metadata("deletionTimestamp", json!(NOW)), FleetState::Deleting),
    ];
    for (builder, state) in cases {
        assert_eq!(row(&builder.build()).state, state);
    }
}

#[test]
fn no_slot_is_overdue_while_a_run_is_active_or_its_jitter_has_not_passed() {
    let active = SnapshotBuilder::new().active("a").build();
    assert_eq!(row(&active).state, FleetState::Running);
    let jitter = SnapshotBuilder::new()
        .spec(json!({"schedule": "0 6 * * *", "jitter": 50}))
        .status(json!({"lastScheduleTime": "2026-11-16T06:00:00Z"}))
        .build();
    let row = row(&jitter);
    assert_ne!(row.state, FleetState::Overdue);
    assert!(row.next.unwrap() > at(NOW) && row.next.unwrap() < at("2026-11-17T18:00:00Z"));
}

#[test]
fn a_suspended_row_says_until_when_why_and_by_whom() {
    let snapshot = SnapshotBuilder::new()
        .spec(json!({"suspend": true}))
        .annotation("punctual.dev/suspended-until", "2026-11-17T14:02:00Z")
        .annotation("punctual.dev/suspended-reason", "db upgrade")
        .annotation("punctual.dev/suspended-by", "alice")
        .build();
    let row = row(&snapshot);
    assert_eq!(row.detail, "until Tue 2026-11-17 14:02 +00:00: db upgrade (alice)");
    assert_eq!(row.next, Some(at("2026-11-17T14:05:00Z")), "the first slot after the resume");
}

#[test]
fn rows_are_filtered_and_sorted() {
    let hourly =
        recent(SnapshotBuilder::new().name("hourly").spec(json!({"schedule": "0 * * * *"})))
            .build();
    let soon = recent(SnapshotBuilder::new().name("soon"))
        .status(json!({"failuresSinceSuccess": 1}))
        .build();
    let mut rows = [row(&hourly), row(&soon)];
    rows.sort_by(|a, b| FleetOrder::Next.compare(a, b));
    assert_eq!(rows[0].name, "soon");
    rows.sort_by(|a, b| FleetOrder::Name.compare(a, b));
    assert_eq!(rows[0].name, "hourly");
    let names = |filter: FleetFilter| {
        let selected = rows.iter().filter(|row| filter.matches(row, at(NOW)));
        selected.map(|row| row.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(FleetFilter { is_failing: true, ..FleetFilter::default() }), ["soon"]);
    assert!(names(FleetFilter { is_suspended: true, ..FleetFilter::default() }).is_empty());
    let due_within = Some(SignedDuration::from_mins(10));
    assert_eq!(names(FleetFilter { due_within, ..FleetFilter::default() }), ["soon"]);
}

#[test]
fn a_description_has_words_slots_and_problems() {
    let snapshot = recent(SnapshotBuilder::new())
        .spec(json!({"concurrencyPolicy": "Forbid", "startingDeadlineSeconds": 90, "timeZone": "Europe/Berlin",
            "schedule": "30 2 * * *"}))
        .record(run("2026-11-16T01:30:00Z", "Failed", 30))
        .build();
    let description = describe(&snapshot, 2, at("2026-03-28T12:00:00Z"));
    assert_eq!(description.schedule_text, "At 02:30, in Europe/Berlin");
    assert!(description.policy[0].contains("Forbid") && description.policy[1].contains("1m 30s"));
    let note = description.upcoming[0].note.as_deref().unwrap();
    assert!(note.contains("02:30 is skipped"), "{note}");
    assert!(description.problems.iter().any(|problem| problem.contains("Failed after 30s")));
}

#[test]
fn slots_of_an_interval_count_from_the_last_run() {
    let snapshot = SnapshotBuilder::new()
        .spec(json!({"schedule": "@every 7m"}))
        .status(json!({"lastScheduleTime": "2026-11-17T05:58:00Z"}))
        .build();
    assert_eq!(snapshot.next_start(at(NOW)), Some(at("2026-11-17T06:05:00Z")));
    let slots: Vec<_> = snapshot.slots_after(at("2026-11-17T06:06:00Z")).take(2).collect();
    assert_eq!(slots, [at("2026-11-17T06:12:00Z"), at("2026-11-17T06:19:00Z")]);
}

#[test]
fn a_forecast_counts_starts_and_concurrency() {
    let long = recent(SnapshotBuilder::new().name("long").spec(json!({"schedule": "0 * * * *"})))
        .record(run("2026-11-17T05:00:00Z", "Succeeded", 5400))
        .build();
    let forbid = recent(SnapshotBuilder::new().name("forbid"))
        .spec(json!({"schedule": "0 * * * *", "concurrencyPolicy": "Forbid"}))
        .record(run("2026-11-17T05:00:00Z", "Succeeded", 5400))
        .build();
    let from = at(NOW);
    let until = at("2026-11-17T10:00:30Z");
    let alone = forecast(std::slice::from_ref(&long), from, until).unwrap();
    assert_eq!((alone.starts, alone.peak), (4, 2), "runs of 90 minutes overlap");
    let forbidden = forecast(std::slice::from_ref(&forbid), from, until).unwrap();
    assert_eq!(forbidden.peak, 1, "runs under Forbid do not");
    let both = forecast(&[long, forbid], from, until).unwrap();
    assert_eq!((both.peak, both.cron_jobs), (3, 2));
    assert_eq!(both.hours[0].hour, at("2026-11-17T07:00:00Z"));
    assert!(both.without_duration.is_empty());
}

#[test]
fn a_forecast_of_too_many_starts_is_refused() {
    let snapshot = SnapshotBuilder::new()
        .spec(json!({"schedule": "@every 1s"}))
        .status(json!({"lastScheduleTime": NOW}))
        .build();
    let until = at("2027-11-17T06:00:30Z");
    assert!(forecast(&[snapshot], at(NOW), until).is_err());
}

#[test]
fn a_plan_has_the_slots_gained_and_lost_and_what_starts_at_once() {
    let now = at(NOW);
    let until = at("2026-11-18T06:00:30Z");
    let before = recent(SnapshotBuilder::new().spec(json!({"schedule": "0 2 * * *"}))).build();
    let after = recent(SnapshotBuilder::new().spec(json!({"schedule": "0 2,3 * * *"}))).build();
    let report = compare(Some(&before), &after, Vec::new(), now, until).unwrap();
    assert_eq!(report.slots.gained, [at("2026-11-18T03:00:00Z")]);
    assert!(report.slots.lost.is_empty() && report.starts_at_once.is_none());
    assert!(!report.is_change(), "no field differs in this test");
    let same = compare(Some(&before), &before, Vec::new(), now, until).unwrap();
    assert_eq!((same.slots.before, same.slots.gained.len()), (1, 0));
    let new = compare(None, &after, Vec::new(), now, until).unwrap();
    assert!(new.is_new && new.is_change());
    assert_eq!((new.slots.before, new.slots.after), (0, 2));
}

#[test]
fn ending_a_suspension_starts_the_pending_slot_at_once() {
    let stale = SnapshotBuilder::new().status(json!({"lastScheduleTime": "2026-11-17T05:00:00Z"}));
    let suspended = stale.clone().spec(json!({"suspend": true})).build();
    let now = at(NOW);
    let resumed = stale.build();
    let report =
        compare(Some(&suspended), &resumed, Vec::new(), now, at("2026-11-17T06:20:30Z")).unwrap();
    assert_eq!(report.starts_at_once, Some(at("2026-11-17T06:00:00Z")));
    assert_eq!((report.slots.before, report.slots.gained.len()), (0, 4));
    let preview = ResumePreview::new(&suspended, now);
    assert_eq!(preview.starts_at_once, Some(at("2026-11-17T06:00:00Z")));
    assert_eq!(preview.pending, 12);
    assert_eq!(preview.next, Some(at("2026-11-17T06:05:00Z")));
}

#[test]
fn collisions_are_other_cron_jobs_in_the_same_minute() {
    let hourly =
        recent(SnapshotBuilder::new().name("hourly").spec(json!({"schedule": "0 * * * *"})))
            .build();
    let odd =
        recent(SnapshotBuilder::new().name("odd").spec(json!({"schedule": "7 * * * *"}))).build();
    let sync = recent(SnapshotBuilder::new()).build();
    let fleet = [sync, hourly, odd];
    let collisions = find_collisions(&fleet[0], fleet.iter(), at(NOW), at("2026-11-17T09:00:30Z"));
    assert_eq!(collisions.len(), 1, "not itself, and not the odd one");
    assert_eq!((collisions[0].cron_job.as_str(), collisions[0].count), ("shop/hourly", 3));
    assert_eq!(collisions[0].first, at("2026-11-17T07:00:00Z"));
}

#[test]
fn until_is_supported_where_our_controller_reconciles() {
    let now = at(NOW);
    let plain = SnapshotBuilder::new().build().cron_job;
    assert_eq!(until_support(&plain, true, now), UntilSupport::Supported);
    assert_eq!(until_support(&plain, false, now), UntilSupport::Unsupported);
    let marked = SnapshotBuilder::new()
        .annotation("punctual.dev/schedule-since", "2026-11-17T05:30:00Z */5 * * * *")
        .build();
    assert_eq!(until_support(&marked.cron_job, false, now), UntilSupport::Supported);
    let new = SnapshotBuilder::new().metadata("creationTimestamp", json!(NOW)).build();
    assert_eq!(until_support(&new.cron_job, false, now), UntilSupport::Unknown);
    let mut scheduled_job = plain;
    scheduled_job.api_version = "punctual.dev/v1".into();
    scheduled_job.kind = "ScheduledJob".into();
    assert_eq!(until_support(&scheduled_job, false, now), UntilSupport::Supported);
}
