//! Tests of feature gates: each is switched on, off and on again, and the object keeps its fields.

use punctual_engine::cronjob::{FeatureGates, StartDecision};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Reconciled, at, fixture, job_name};

/// Reconciles with these gates, and returns the CronJob as it is afterwards.
fn reconcile(fixture: Fixture, gates: &str, now: &str) -> (Fixture, Reconciled) {
    let fixture = fixture.gates(gates);
    let spec = json!(fixture.cron_job().spec);
    let reconciled = fixture.reconcile_at(now);
    let fixture = fixture.after(&reconciled);
    assert_eq!(json!(fixture.cron_job().spec), spec, "the spec is kept");
    (fixture, reconciled)
}

#[test]
fn without_the_time_zone_gate_the_default_zone_applies_until_the_gate_is_on_again() {
    // Nine o'clock in Tokyo is midnight in UTC, the default zone.
    let fixture = fixture(json!({"schedule": "0 9 * * *", "timeZone": "Asia/Tokyo"}));
    let fixture = fixture.last_scheduled("2026-02-28T00:00:00Z");
    let (fixture, on) = reconcile(fixture, "", "2026-03-01T00:00:00Z");
    assert_eq!(on.created, Some(job_name("2026-03-01T00:00:00Z")));
    assert_eq!(on.condition("FeatureDisabled"), None);
    // At noon, nine o'clock in UTC has passed. It was no slot then, so it must not start now.
    let fixture = fixture.job("2026-03-01T00:00:00Z", "Complete");
    let (fixture, off) = reconcile(fixture, "TimeZone=false", "2026-03-01T12:00:00Z");
    assert_eq!((off.created.as_ref(), off.status.skipped_runs), (None, 0));
    assert_eq!(off.next_scheduled().as_deref(), Some("2026-03-02T09:00:00Z"));
    assert_eq!(off.condition("FeatureDisabled").as_deref(), Some("True FeatureGateOff"));
    let message = off.message("FeatureDisabled").unwrap();
    assert!(message.contains("spec.timeZone is ignored"), "{message}");
    assert!(message.contains("default zone UTC"), "{message}");
    let (fixture, unchanged) = reconcile(fixture, "TimeZone=false", "2026-03-02T00:30:00Z");
    assert_eq!((unchanged.created, unchanged.settled.zone_gate_to_record), (None, None));
    let (fixture, due) = reconcile(fixture, "TimeZone=false", "2026-03-02T09:00:00Z");
    assert_eq!(due.created, Some(job_name("2026-03-02T09:00:00Z")));
    // The gate is on again: midnight in UTC of March 3 was no slot, that of March 4 is one.
    let fixture = fixture.job("2026-03-02T09:00:00Z", "Complete");
    let (fixture, again) = reconcile(fixture, "", "2026-03-03T05:00:00Z");
    assert_eq!((again.created.as_ref(), again.condition("FeatureDisabled")), (None, None));
    assert_eq!(again.next_scheduled().as_deref(), Some("2026-03-04T00:00:00Z"));
    let (_, due) = reconcile(fixture, "", "2026-03-04T00:00:00Z");
    assert_eq!(due.created, Some(job_name("2026-03-04T00:00:00Z")));
}

#[test]
fn without_the_time_zone_gate_an_unknown_zone_is_no_error() {
    let fixture = fixture(json!({"timeZone": "Mars/Olympus"}));
    let on = fixture.reconcile_at("2026-03-01T11:00:00Z");
    assert!(matches!(on.start_decision, StartDecision::NoSchedule(_)));
    let off = fixture.gates("TimeZone=false").reconcile_at("2026-03-01T11:00:00Z");
    assert_eq!(off.condition("InvalidTimeZone"), None);
    assert_eq!(off.next_scheduled().as_deref(), Some("2026-03-01T12:00:00Z"));
}

#[test]
fn a_run_once_is_not_repeated_when_the_time_zone_gate_moves_its_slot() {
    let spec = json!({"schedule": "@at 2026-03-01T09:00", "timeZone": "Asia/Tokyo"});
    let (fixture, on) = reconcile(fixture(spec), "", "2026-03-01T00:00:00Z");
    assert_eq!(on.created, Some(job_name("2026-03-01T00:00:00Z")));
    let fixture = fixture.job("2026-03-01T00:00:00Z", "Complete");
    let (fixture, _) = reconcile(fixture, "TimeZone=false", "2026-03-01T01:00:00Z");
    let (fixture, off) = reconcile(fixture, "TimeZone=false", "2026-03-01T09:00:00Z");
    assert_eq!((off.created.as_ref(), off.next_scheduled()), (None, None));
    assert_eq!(off.condition("Complete").as_deref(), Some("True Fulfilled"));
    let (_, again) = reconcile(fixture, "", "2026-03-01T10:00:00Z");
    assert_eq!(again.created, None);
    assert_eq!(again.condition("Complete").as_deref(), Some("True Fulfilled"));
}

#[test]
fn without_the_catch_up_gate_the_policy_is_forbid_until_the_gate_is_on_again() {
    for spec in [
        json!({"concurrencyPolicy": "CatchUp"}),
        json!({"concurrencyPolicy": "Allow", "annotated": true}),
    ] {
        let mut cron_job = fixture(spec.clone()).last_scheduled("2026-03-01T10:00:00Z");
        if spec["annotated"] == true {
            let annotations = json!({"punctual.dev/concurrency-policy": "CatchUp"});
            cron_job = cron_job.metadata(json!({ "annotations": annotations }));
        }
        let (_, on) = reconcile(cron_job.clone(), "", "2026-03-01T13:20:00Z");
        assert_eq!(on.created, Some(job_name("2026-03-01T11:00:00Z")), "the oldest");
        let (after, off) = reconcile(cron_job, "CatchUp=false", "2026-03-01T13:20:00Z");
        assert_eq!(off.created, Some(job_name("2026-03-01T13:00:00Z")), "the latest");
        assert_eq!(off.status.skipped_runs, 2);
        let message = off.message("FeatureDisabled").unwrap();
        assert!(message.contains("the policy is Forbid"), "{message}");
        let after = after.job("2026-03-01T13:00:00Z", "");
        let (after, blocked) = reconcile(after, "CatchUp=false", "2026-03-01T15:20:00Z");
        assert_eq!(blocked.reasons(), ["JobAlreadyActive"]);
        let (_, again) = reconcile(after, "", "2026-03-01T15:20:00Z");
        let oldest = at("2026-03-01T14:00:00Z");
        assert_eq!(again.start_decision, StartDecision::Blocked { slot: oldest });
        assert_eq!(again.condition("FeatureDisabled"), None);
    }
}

#[test]
fn without_the_jitter_gate_runs_start_at_their_slot_until_the_gate_is_on_again() {
    let fixture = fixture(json!({"jitter": 50})).last_scheduled("2026-03-01T10:00:00Z");
    let effective = fixture.timetable().effective_time(at("2026-03-01T11:00:00Z"));
    let (fixture, on) = reconcile(fixture, "", "2026-03-01T11:00:00Z");
    assert_eq!((on.created.as_ref(), on.settled.wake_at), (None, Some(effective)));
    let (fixture, off) = reconcile(fixture, "Jitter=false", "2026-03-01T11:00:00Z");
    assert_eq!(off.created, Some(job_name("2026-03-01T11:00:00Z")));
    assert_eq!(off.next_scheduled().as_deref(), Some("2026-03-01T12:00:00Z"));
    let message = off.message("FeatureDisabled").unwrap();
    assert!(message.starts_with("spec.jitter is ignored"), "{message}");
    let fixture = fixture.job("2026-03-01T11:00:00Z", "Complete");
    let (fixture, again) = reconcile(fixture, "", "2026-03-01T11:00:01Z");
    let next = fixture.timetable().effective_time(at("2026-03-01T12:00:00Z"));
    assert!(next > at("2026-03-01T12:00:00Z"));
    assert_eq!((again.created.as_ref(), again.settled.wake_at), (None, Some(next)));
    assert_eq!(again.condition("FeatureDisabled"), None);
}

#[test]
fn without_the_one_shot_gate_nothing_starts_until_the_gate_is_on_again() {
    let fixture = fixture(json!({"schedule": "@at 2026-03-01T11:00:00Z"}));
    let (fixture, on) = reconcile(fixture, "", "2026-03-01T10:00:00Z");
    assert_eq!(on.next_scheduled().as_deref(), Some("2026-03-01T11:00:00Z"));
    let (fixture, off) = reconcile(fixture, "OneShot=false", "2026-03-01T11:00:00Z");
    assert_eq!(off.start_decision, StartDecision::OneShotDisabled);
    assert_eq!(
        (off.created.as_ref(), off.next_scheduled(), off.settled.wake_at),
        (None, None, None)
    );
    let message = off.message("FeatureDisabled").unwrap();
    assert!(message.contains("no run starts"), "{message}");
    let (fixture, again) = reconcile(fixture, "", "2026-03-01T11:30:00Z");
    assert_eq!(
        again.created,
        Some(job_name("2026-03-01T11:00:00Z")),
        "late, but without a deadline"
    );
    assert_eq!(again.condition("FeatureDisabled"), None);
    let fixture = fixture.job("2026-03-01T11:00:00Z", "Complete");
    let (_, off) = reconcile(fixture, "OneShot=false", "2026-03-01T12:00:00Z");
    assert_eq!(off.condition("Complete").as_deref(), Some("True Fulfilled"));
}

#[test]
fn a_gate_that_is_off_changes_nothing_for_a_cron_job_without_its_field() {
    let off = "TimeZone=false,CatchUp=false,Jitter=false,OneShot=false";
    let fixture = fixture(json!({})).last_scheduled("2026-03-01T10:00:00Z");
    let on = fixture.clone().reconcile_at("2026-03-01T11:00:00Z");
    let off = fixture.gates(off).reconcile_at("2026-03-01T11:00:00Z");
    assert_eq!(on.status, off.status);
    assert_eq!((off.condition("FeatureDisabled"), off.settled.zone_gate_to_record), (None, None));
}

#[test]
fn gates_are_parsed_like_those_of_kubernetes() {
    let parse = |text: &str| text.parse::<FeatureGates>();
    assert_eq!(parse(""), Ok(FeatureGates::default()));
    let off = parse("TimeZone=false, Jitter=F,OneShot=0,").unwrap();
    assert_eq!(off.disabled(), ["TimeZone", "Jitter", "OneShot"]);
    assert_eq!(parse("Jitter=false,Jitter=True").unwrap().disabled(), [""; 0]);
    assert_eq!(parse("CronJobTimeZone=false").unwrap().disabled(), ["TimeZone"]);
    assert_eq!(parse("TimeZone=false,CronJobTimeZone=true").unwrap().disabled(), [""; 0]);
    for (text, want) in [
        ("Timezone=false", "unknown feature gate \"Timezone\""),
        ("Jitter", "\"Jitter\" has no value; write it like TimeZone=false"),
        ("Jitter=off", "the value \"off\" of Jitter is neither true nor false"),
        ("=", "unknown feature gate \"\""),
    ] {
        let known = "; known gates: TimeZone, CatchUp, Jitter, OneShot";
        assert_eq!(parse(text).unwrap_err().to_string(), format!("{want}{known}"));
    }
}

#[test]
fn a_malformed_record_of_the_time_zone_gate_counts_as_absent() {
    for record in ["", "off", "yesterday off", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z maybe"]
    {
        let annotations = json!({"punctual.dev/time-zone-gate": record});
        let fixture = fixture(json!({"timeZone": "Asia/Tokyo"}));
        let fixture = fixture.metadata(json!({ "annotations": annotations }));
        let on = fixture.clone().reconcile_at("2026-03-01T11:00:00Z");
        assert_eq!(on.settled.zone_gate_to_record, None, "{record}");
        let off = fixture.gates("TimeZone=false").reconcile_at("2026-03-01T11:00:00Z");
        let written = off.settled.zone_gate_to_record.unwrap().to_annotation();
        assert_eq!(Value::from(written), "2026-03-01T11:00:00Z off", "{record}");
    }
}
