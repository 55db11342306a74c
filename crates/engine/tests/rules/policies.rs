//! Concurrency policies, suspend, and the list of active Jobs.

use punctual_engine::cronjob::StartDecision;
use serde_json::json;

use crate::scene::{at, name, scene};

const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";
const NOW: &str = "2026-03-01T11:00:05Z";

#[test]
fn allow_starts_beside_what_is_running() {
    let done = scene(json!({"concurrencyPolicy": "Allow"})).last(TEN).running(TEN).at(NOW);
    assert_eq!(done.created, Some(name(ELEVEN)));
    assert_eq!(done.active, [name(TEN), name(ELEVEN)]);
    assert_eq!(done.last().as_deref(), Some(ELEVEN));
    assert_eq!(done.events, [format!("SuccessfulCreate: Created job {}", name(ELEVEN))]);
}

#[test]
fn forbid_does_not_start_while_one_is_running() {
    let done = scene(json!({"concurrencyPolicy": "Forbid"})).last(TEN).running(TEN).at(NOW);
    assert_eq!(done.created, None);
    assert_eq!(done.reasons(), ["JobAlreadyActive"]);
    assert_eq!(done.last().as_deref(), Some(TEN), "the slot still waits");
}

#[test]
fn forbid_starts_the_latest_slot_once_the_running_one_has_ended() {
    let scene = scene(json!({"concurrencyPolicy": "Forbid"})).last(TEN).listed(TEN);
    let done = scene.job(TEN, "Complete").at("2026-03-01T13:20:00Z");
    assert_eq!(done.created, Some(name("2026-03-01T13:00:00Z")));
    assert_eq!(done.reasons(), ["SawCompletedJob", "SuccessfulCreate"]);
}

#[test]
fn forbid_counts_a_run_that_the_status_has_forgotten() {
    let done = scene(json!({"concurrencyPolicy": "Forbid"})).last(TEN).job(TEN, "").at(NOW);
    assert_eq!(done.created, None);
    assert_eq!(done.active, [name(TEN)]);
    assert_eq!(done.reasons(), ["JobAlreadyActive"]);
}

#[test]
fn replace_deletes_what_is_running_and_starts() {
    let done = scene(json!({"concurrencyPolicy": "Replace"})).last(TEN).running(TEN).at(NOW);
    assert_eq!(done.deleted, [name(TEN)]);
    assert_eq!(done.created, Some(name(ELEVEN)));
    assert_eq!(done.active, [name(ELEVEN)]);
    assert_eq!(done.reasons(), ["SuccessfulDelete", "SuccessfulCreate"]);
}

#[test]
fn replace_does_not_delete_a_run_before_its_slot_is_recorded() {
    // The controller died between creating the Job of 10:00 and writing the status.
    let scene = scene(json!({"concurrencyPolicy": "Replace"}));
    let done = scene.last("2026-03-01T09:00:00Z").job(TEN, "").at(NOW);
    assert_eq!((done.created, done.deleted), (None, vec![]));
    assert_eq!(done.status.last_schedule_time.map(|time| time.timestamp()), Some(at(TEN)));
    assert_eq!(done.verdict, StartDecision::Postponed { slot: at(ELEVEN) });
    assert_eq!(done.settled.wake_at, Some(at(NOW)));
}

#[test]
fn catch_up_starts_the_oldest_unmet_slot_first() {
    let done = scene(json!({"concurrencyPolicy": "CatchUp"})).last(TEN).at("2026-03-01T14:30:00Z");
    assert_eq!(done.created, Some(name(ELEVEN)));
    assert_eq!(done.last().as_deref(), Some(ELEVEN));
}

#[test]
fn catch_up_order_is_slot_by_slot_until_none_is_left() {
    let mut last = TEN.to_string();
    for wanted in ["2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"] {
        let scene = scene(json!({"concurrencyPolicy": "CatchUp"})).last(&last);
        // While the one before runs nothing starts; when it has ended, well or not, the next does.
        let blocked = scene.clone().running(&last).at("2026-03-01T13:30:00Z");
        assert_eq!((blocked.created, blocked.events.len()), (None, 0));
        let ended = scene.listed(&last).job(&last, "Failed").at("2026-03-01T13:30:00Z");
        assert_eq!(ended.created, Some(name(wanted)));
        last = wanted.into();
    }
    let scene = scene(json!({"concurrencyPolicy": "CatchUp"})).last(&last);
    assert_eq!(scene.at("2026-03-01T13:30:00Z").created, None);
}

#[test]
fn catch_up_can_be_asked_for_by_annotation() {
    let scene = scene(json!({}))
        .metadata(json!({"annotations": {"punctual.dev/concurrency-policy": "CatchUp"}}));
    assert_eq!(scene.last(TEN).at("2026-03-01T14:30:00Z").created, Some(name(ELEVEN)));
}

#[test]
fn suspend_starts_nothing_and_lets_what_runs_go_on() {
    let done = scene(json!({"suspend": true})).last(TEN).running(TEN).at(NOW);
    assert_eq!((done.created, done.deleted.len()), (None, 0));
    assert_eq!(done.active, [name(TEN)]);
    assert_eq!(done.settled.wake_at, None);
}

#[test]
fn resume_starts_the_latest_slot_that_was_missed_while_suspended() {
    let done = scene(json!({"suspend": false})).last(TEN).at("2026-03-03T07:10:00Z");
    assert_eq!(done.created, Some(name("2026-03-03T07:00:00Z")));
}

#[test]
fn the_active_list_forgets_a_job_after_its_deletion() {
    let done = scene(json!({})).last(TEN).listed(TEN).at("2026-03-01T10:20:00Z");
    assert_eq!(done.active, Vec::<String>::new());
    assert_eq!(done.events, [format!("MissingJob: Active job went missing: {}", name(TEN))]);
    assert_eq!((done.status.successful_runs, done.status.failed_runs), (0, 0));
}

#[test]
fn a_job_started_by_hand_is_a_surprise_and_blocks_nothing() {
    let manual = json!({"name": "by-hand", "uid": "x", "annotations":
        {"cronjob.kubernetes.io/instantiate": "manual"}});
    let scene = scene(json!({"concurrencyPolicy": "Forbid"})).last(TEN);
    let done = scene.job_with(TEN, "", manual).at(NOW);
    assert_eq!(done.created, Some(name(ELEVEN)));
    assert_eq!(done.reasons(), ["UnexpectedJob", "SuccessfulCreate"]);
}

#[test]
fn a_cron_job_that_is_being_deleted_starts_nothing() {
    let scene = scene(json!({})).metadata(json!({"deletionTimestamp": TEN})).last(TEN);
    let done = scene.at(NOW);
    assert_eq!((done.created, done.verdict), (None, StartDecision::Deleted));
}

#[test]
fn no_unexpected_warnings_in_an_ordinary_life() {
    let first = scene(json!({})).last(TEN).at(NOW);
    let second = scene(json!({})).last(ELEVEN).running(ELEVEN).at("2026-03-01T11:20:00Z");
    let third = scene(json!({})).last(ELEVEN).listed(ELEVEN).job(ELEVEN, "Complete").at(NOW);
    let reasons = [first.reasons(), second.reasons(), third.reasons()].concat();
    assert_eq!(reasons, ["SuccessfulCreate", "SawCompletedJob"]);
}
