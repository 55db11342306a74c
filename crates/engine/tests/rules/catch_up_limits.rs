//! Tests of `catchUpLimit`: after a long outage, `CatchUp` runs only the newest slots.

use serde_json::{Value, json};

use crate::fixture::{Fixture, fixture, job_name};

fn catching_up(limit: Value) -> Fixture {
    fixture(json!({"concurrencyPolicy": "CatchUp", "catchUpLimit": limit}))
        .last_scheduled("2026-03-01T10:00:00Z")
}

#[test]
fn the_newest_slots_run_in_order_and_older_ones_are_missed() {
    let fixture = catching_up(json!(3));
    let within = fixture.reconcile_at("2026-03-01T13:30:00Z");
    assert_eq!(within.created, Some(job_name("2026-03-01T11:00:00Z")));
    assert_eq!(within.status.missed_runs, 0);
    // Ten slots are pending: 11 to 20 o'clock.
    let beyond = fixture.reconcile_at("2026-03-01T20:30:00Z");
    assert_eq!(beyond.created, Some(job_name("2026-03-01T18:00:00Z")));
    assert_eq!((beyond.status.missed_runs, beyond.status.skipped_runs), (7, 0));
    assert_eq!(beyond.status.last_missed_time.unwrap().to_string(), "2026-03-01T17:00:00Z");
    assert_eq!(beyond.reasons(), ["CatchUpLimitExceeded", "SuccessfulCreate"]);
    assert_eq!(beyond.settled.missed_slots[0].count, 7);
    let fixture = fixture.after(&beyond).job("2026-03-01T18:00:00Z", "Complete");
    let next = fixture.reconcile_at("2026-03-01T20:31:00Z");
    assert_eq!(next.created, Some(job_name("2026-03-01T19:00:00Z")));
    assert_eq!((next.status.missed_runs, next.status.skipped_runs), (7, 0), "counted once");
}

#[test]
fn slots_beyond_the_limit_are_counted_once_if_the_status_was_not_written() {
    let fixture = catching_up(json!(3)).job("2026-03-01T18:00:00Z", "");
    let found = fixture.reconcile_at("2026-03-01T20:31:00Z");
    assert_eq!((found.status.missed_runs, found.status.skipped_runs), (7, 0));
    assert_eq!(found.active, [job_name("2026-03-01T18:00:00Z")]);
}

#[test]
fn the_limit_is_a_thousand_by_default_and_applies_to_catch_up_only() {
    let every_minute = |policy: &str| {
        let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": policy});
        fixture(spec).last_scheduled("2016-03-01T10:00:00Z").reconcile_at("2026-03-01T10:00:30Z")
    };
    let ten_years = every_minute("CatchUp");
    assert_eq!(ten_years.created, Some(job_name("2026-02-28T17:21:00Z")), "the newest thousand");
    assert_eq!(ten_years.status.missed_runs, 5_258_880 - 1_000);
    let latest = every_minute("Forbid");
    assert_eq!((latest.status.missed_runs, latest.status.skipped_runs), (0, 5_258_879));
}

#[test]
fn the_limit_applies_to_intervals_and_to_the_annotation() {
    let spec = json!({"schedule": "@every 90s", "concurrencyPolicy": "CatchUp"});
    let annotations = json!({"punctual.dev/catch-up-limit": "2"});
    let fixture = fixture(spec).metadata(json!({ "annotations": annotations }));
    let result =
        fixture.last_scheduled("2026-03-01T10:00:00Z").reconcile_at("2026-03-01T10:15:00Z");
    assert_eq!(result.status.missed_runs, 8);
    assert_eq!(result.last_slot().as_deref(), Some("2026-03-01T10:13:30Z"));
}
