//! What the status says, and when it is written.

use serde_json::json;

use crate::scene::scene;

const TEN: &str = "2026-03-01T10:00:00Z";

#[test]
fn next_schedule_time_is_the_coming_slot_under_allow_forbid_and_replace() {
    for policy in ["Allow", "Forbid", "Replace"] {
        let done = scene(json!({"concurrencyPolicy": policy})).last(TEN).running(TEN);
        let done = done.at("2026-03-01T11:00:05Z");
        assert_eq!(done.next().as_deref(), Some("2026-03-01T12:00:00Z"), "{policy}");
    }
}

#[test]
fn next_schedule_time_under_catch_up_is_what_was_put_off() {
    let scene = scene(json!({"concurrencyPolicy": "CatchUp"})).last(TEN);
    let blocked = scene.clone().running(TEN).at("2026-03-01T14:30:00Z");
    assert_eq!(blocked.next().as_deref(), Some("2026-03-01T11:00:00Z"));
    let started = scene.clone().at("2026-03-01T14:30:00Z");
    assert_eq!(started.next().as_deref(), Some("2026-03-01T12:00:00Z"));
    let caught_up = scene.at("2026-03-01T11:00:00Z");
    assert_eq!(caught_up.next().as_deref(), Some("2026-03-01T12:00:00Z"));
}

#[test]
fn there_is_no_next_schedule_time_while_suspended_or_in_trouble() {
    let before = json!({"nextScheduleTime": "2026-03-01T11:00:00Z"});
    for spec in [json!({"suspend": true}), json!({"schedule": "x"}), json!({"timeZone": "X/Y"})] {
        let done = scene(spec.clone()).status(before.clone()).last(TEN).at("2026-03-01T10:30:00Z");
        assert_eq!(done.next(), None, "{spec}");
    }
}

#[test]
fn the_status_is_written_only_when_it_changes() {
    let first = scene(json!({})).last(TEN).at("2026-03-01T10:30:00Z");
    let status = serde_json::to_value(first.settled.status.unwrap()).unwrap();
    let second = scene(json!({})).status(status).at("2026-03-01T10:45:00Z");
    assert!(second.settled.status.is_none());
}

#[test]
fn a_condition_keeps_its_time_until_its_status_changes() {
    let time = |done: &crate::scene::Done| done.status.conditions[0].last_transition_time;
    let bad = scene(json!({"schedule": "x"})).at("2026-03-01T10:30:00Z");
    let status = serde_json::to_value(&bad.status).unwrap();
    let worse = scene(json!({"schedule": "y"})).status(status.clone()).at("2026-03-01T11:30:00Z");
    assert_eq!(time(&worse), time(&bad));
    let good = scene(json!({})).status(status).at("2026-03-01T11:30:00Z");
    assert_eq!(time(&good).unwrap().to_string(), "2026-03-01T11:30:00Z");
}

#[test]
fn last_successful_time_is_that_of_the_latest_success_whoever_started_it() {
    let manual = json!({"name": "by-hand", "uid": "x", "annotations": {}});
    let scene = scene(json!({})).last(TEN).job("2026-03-01T09:00:00Z", "Complete");
    let done =
        scene.job_with("2026-03-01T10:05:00Z", "Complete", manual).at("2026-03-01T10:30:00Z");
    assert_eq!(done.status.last_successful_time.unwrap().to_string(), "2026-03-01T10:05:00Z");
    assert_eq!(done.status.successful_runs, 0, "neither was on the list");
}
