//! Tests of what a RunRequest would run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

mod fixture;

use fixture::{SnapshotBuilder, at};
use punctual_api::run_request::RunRequestSpec;
use punctual_views::{ResumePreview, RunPreview, SlotState, preview_runs};
use serde_json::{Value, json};

/// Slots at 01:00 (succeeded), 01:05 (failed), 01:10 to 01:20 (skipped) and 01:25 (missed).
fn builder() -> SnapshotBuilder {
    let run = |slot: &str, result: &str| {
        json!({"slot": slot, "decision": "Started", "reason": "Scheduled", "result": result,
            "failureReason": if result == "Failed" { "BackoffLimitExceeded" } else { "" },
            "job": {"name": format!("sync-{slot}"), "uid": slot}})
    };
    SnapshotBuilder::new()
        .metadata("creationTimestamp", json!("2026-11-01T00:59:30Z"))
        .annotation("punctual.dev/schedule-since", "2026-11-01T00:59:30Z */5 * * * *")
        .status(json!({"lastScheduleTime": "2026-11-01T01:05:00Z",
            "lastMissedTime": "2026-11-01T01:25:00Z"}))
        .record(run("2026-11-01T01:00:00Z", "Succeeded"))
        .record(run("2026-11-01T01:05:00Z", "Failed"))
        .record(
            json!({"slot": "2026-11-01T01:10:00Z", "through": "2026-11-01T01:20:00Z", "count": 3,
            "decision": "Skipped", "reason": "Suspended"}),
        )
        .record(json!({"slot": "2026-11-01T01:25:00Z", "decision": "Missed",
            "reason": "DeadlineExceeded"}))
}

fn preview(spec: Value) -> RunPreview {
    let mut spec = spec;
    spec["target"] = json!({"name": "sync"});
    let spec: RunRequestSpec = serde_json::from_value(spec).unwrap();
    preview_runs(&builder().build(), &spec, at("2026-11-01T01:27:00Z"))
}

/// The minutes of the slots that would run.
fn minutes(preview: &RunPreview) -> Vec<String> {
    assert_eq!(preview.refusal, None);
    let runs = preview.slots.iter().filter(|slot| slot.would_run);
    runs.map(|slot| slot.slot.to_string()[14..16].to_owned()).collect()
}

fn interval(runs: &str) -> RunPreview {
    preview(json!({"from": "2026-11-01T00:50:00Z", "to": "2026-11-01T01:25:00Z", "runs": runs}))
}

#[test]
fn an_interval_runs_what_its_selection_says() {
    assert_eq!(minutes(&interval("Missing")), ["10", "15", "20"]);
    assert_eq!(minutes(&interval("Failed")), ["05", "10", "15", "20"]);
    let all = interval("All");
    assert_eq!(minutes(&all), ["50", "55", "00", "05", "10", "15", "20"], "the end is excluded");
    let states: Vec<_> = all.slots.iter().map(|slot| slot.state).collect();
    let want = [
        SlotState::NoRecord,
        SlotState::NoRecord,
        SlotState::Succeeded,
        SlotState::Failed,
        SlotState::Skipped,
        SlotState::Skipped,
        SlotState::Skipped,
    ];
    assert_eq!(states, want);
    assert_eq!(all.slots[3].reason, "BackoffLimitExceeded");
    assert_eq!(all.slots[4].reason, "Suspended");
}

#[test]
fn slots_that_are_not_decided_are_left_to_the_schedule() {
    let later = preview(json!({"from": "2026-11-01T01:20:00Z", "to": "2026-11-02T00:00:00Z"}));
    assert_eq!(minutes(&later), ["20", "25"]);
    assert_eq!(later.slots.len(), 2, "slots in the future are not shown: {:?}", later.slots);
    let named = preview(json!({"slots": ["2026-11-01T01:05:00Z"], "runs": "All"}));
    assert_eq!(minutes(&named), ["05"]);
}

#[test]
fn an_interval_that_is_too_long_is_refused() {
    let long = preview(json!({"from": "2020-01-01T00:00:00Z", "to": "2026-11-01T00:00:00Z"}));
    assert_eq!(long.refusal.unwrap().reason, "TooManySlots");
    assert_eq!(long.slots, []);
}

#[test]
fn a_resume_starts_all_the_latest_or_none_of_the_slots_of_the_suspension() {
    let snapshot = SnapshotBuilder::new()
        .spec(json!({"suspend": true, "concurrencyPolicy": "Forbid"}))
        .status(json!({"lastScheduleTime": "2026-11-01T01:00:00Z",
            "suspendedSince": "2026-11-01T01:02:00Z"}))
        .build();
    let now = at("2026-11-01T01:21:00Z");
    let preview = |missed| ResumePreview::with_missed(&snapshot, missed, now);
    let all = preview(Some("all"));
    assert_eq!(all.starts_at_once, Some(at("2026-11-01T01:05:00Z")), "{all:?}");
    assert_eq!(all.pending, 4, "{all:?}");
    assert_eq!(preview(None).starts_at_once, Some(at("2026-11-01T01:20:00Z")));
    assert_eq!(preview(Some("drop")).starts_at_once, None);
}
