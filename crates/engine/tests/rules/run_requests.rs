//! Tests of the runs that RunRequests ask for.

use punctual_api::run_request::{RunRequestStatus, condition_reason, condition_type};
use serde_json::{Value, json};

use crate::fixture::{CreateResponse, Fixture, Reconciled, at, fixture, job_name};

const NINE: &str = "2026-03-01T09:00:00Z";
const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";
const TWELVE: &str = "2026-03-01T12:00:00Z";
const NOW: &str = "2026-03-01T12:30:05Z";

/// The request asks for the slots of nine to twelve o'clock.
fn interval() -> Value {
    json!({"from": NINE, "to": "2026-03-01T12:00:01Z"})
}

/// A CronJob that has run at twelve. Nine and ten were missed, eleven failed.
fn with_history(policy: &str) -> Fixture {
    let run = |slot: &str, result: &str| {
        json!({"slot": slot, "decision": "Started", "reason": "Scheduled", "result": result,
            "job": {"name": job_name(slot), "uid": format!("old-{slot}")}})
    };
    let missed = json!({"slot": NINE, "through": TEN, "count": 2, "decision": "Missed",
        "reason": "DeadlineExceeded"});
    fixture(json!({"concurrencyPolicy": policy}))
        .waiting_for_replaced_pods()
        .counting_manual_jobs()
        .last_scheduled(TWELVE)
        .status(json!({"slots": [run(TWELVE, "Succeeded")]}))
        .archived(json!([missed, run(ELEVEN, "Failed")]))
}

/// Reconciles until nothing changes any more. Returns the names of the created Jobs.
fn run(mut fixture: Fixture, now: &str) -> (Fixture, Vec<String>) {
    let mut created = Vec::new();
    for _ in 0..10 {
        let reconciled = fixture.reconcile_at(now);
        created.extend(reconciled.created.clone());
        fixture = fixture.after_all(&reconciled);
    }
    (fixture, created)
}

fn status(fixture: &Fixture) -> &RunRequestStatus {
    &fixture.requests.first().unwrap().status
}

/// The reason of a condition of the first request.
fn reason(fixture: &Fixture, condition: &str) -> String {
    let mut conditions = status(fixture).conditions.iter();
    let found = conditions.find(|found| found.condition_type == condition);
    found.map(|found| format!("{} {}", found.status, found.reason)).unwrap_or_default()
}

/// Ends the active runs of the first request, one after another, until none starts any more.
fn run_to_the_end(fixture: Fixture, result: &str) -> (Fixture, Vec<String>) {
    let (mut fixture, mut created) = run(fixture, NOW);
    for _ in 0..20 {
        let Some(active) = status(&fixture).active.first().cloned() else { break };
        let (next, more) = run(fixture.end_job(&active.name, result), NOW);
        fixture = next;
        created.extend(more);
    }
    (fixture, created)
}

fn counts(fixture: &Fixture) -> [i64; 5] {
    let RunRequestStatus { total, started, succeeded, failed, skipped, .. } = *status(fixture);
    [total, started, succeeded, failed, skipped]
}

#[test]
fn a_run_now_is_accepted_started_counted_and_recorded_once() {
    let (fixture, created) = run(with_history("Allow").request("r", json!({"now": true})), NOW);
    let name = punctual_api::names::requested_job_name("job", "uid-r", 0);
    assert_eq!(created, std::slice::from_ref(&name));
    assert_eq!(counts(&fixture), [1, 1, 0, 0, 0]);
    assert_eq!(reason(&fixture, condition_type::ACCEPTED), "True Accepted");
    assert_eq!(reason(&fixture, condition_type::COMPLETE), "False Running");
    let before = fixture.cron_job().status;
    let record = before.slots.iter().find(|record| record.request == "r").unwrap();
    assert_eq!((record.reason.as_str(), record.is_running()), ("Requested", true));
    assert_eq!(record.slot.unwrap().timestamp(), at("2026-03-01T12:30:00Z"));
    assert_eq!(before.last_schedule_time.unwrap().timestamp(), at(TWELVE), "not the schedule's");

    let (fixture, _) = run(fixture.end_job(&name, "Complete"), NOW);
    assert_eq!(counts(&fixture), [1, 1, 1, 0, 0]);
    assert_eq!(reason(&fixture, condition_type::COMPLETE), "True Succeeded");
    assert_eq!(fixture.cron_job().status.successful_runs, before.successful_runs + 1);
    assert!(fixture.views().iter().all(|job| !job.has_finalizer));
}

#[test]
fn missing_slots_run_under_their_own_names_oldest_first() {
    let (fixture, created) =
        run_to_the_end(with_history("Forbid").request("r", interval()), "Complete");
    assert_eq!(created, [job_name(NINE), job_name(TEN)]);
    assert_eq!(counts(&fixture), [2, 2, 2, 0, 0]);
    assert_eq!(fixture.cron_job().status.last_schedule_time.unwrap().timestamp(), at(TWELVE));
}

#[test]
fn failed_slots_run_again_under_other_names() {
    let spec = json!({"from": NINE, "to": "2026-03-01T13:00:00Z", "runs": "Failed", "order": "NewestFirst"});
    let (fixture, created) = run_to_the_end(with_history("Forbid").request("r", spec), "Failed");
    let name = |index| punctual_api::names::requested_job_name("job", "uid-r", index);
    assert_eq!(created, [name(0), name(1), name(2)]);
    assert_eq!(counts(&fixture), [3, 3, 0, 3, 0]);
    assert_eq!(reason(&fixture, condition_type::COMPLETE), "True Failed");
    let slots: Vec<_> = fixture.views().iter().filter_map(|job| job.slot).collect();
    assert_eq!(slots, [at(ELEVEN), at(TEN), at(NINE)]);
}

#[test]
fn slots_that_are_unknown_or_not_decided_run_only_if_all_are_asked_for() {
    let spec = |runs: &str| json!({"from": "2026-03-01T07:00:00Z", "to": "2026-03-02T00:00:00Z", "runs": runs});
    let (fixture, _) = run(with_history("Forbid").request("r", spec("Missing")), NOW);
    assert_eq!(counts(&fixture)[0], 2, "nine and ten");
    let (fixture, _) = run(with_history("Forbid").request("r", spec("All")), NOW);
    assert_eq!(counts(&fixture)[0], 6, "seven to twelve");
    let (fixture, created) =
        run(with_history("Forbid").request("r", json!({"slots": [TWELVE]})), NOW);
    assert_eq!((counts(&fixture)[0], created.len()), (0, 0));
    assert_eq!(reason(&fixture, condition_type::COMPLETE), "True NothingToRun");
}

#[test]
fn slots_of_an_interval_are_those_of_the_records() {
    let records = json!([{"slot": "2026-03-01T09:10:00Z", "through": "2026-03-01T09:30:00Z", "count": 3,
        "decision": "Skipped", "reason": "Superseded"}]);
    let fixture = fixture(json!({"schedule": "@every 10m", "concurrencyPolicy": "Forbid"}))
        .last_scheduled("2026-03-01T12:25:00Z")
        .archived(records)
        .request("r", json!({"from": NINE, "to": TEN}));
    let (fixture, created) = run(fixture, NOW);
    assert_eq!((counts(&fixture)[0], created), (3, vec![job_name("2026-03-01T09:10:00Z")]));
}

#[test]
fn a_crash_after_any_write_starts_no_run_twice() {
    let request = || with_history("Allow").request("r", interval());
    let accepted = {
        let fixture = request();
        let reconciled = fixture.reconcile_at(NOW);
        fixture.after_all(&reconciled)
    };
    let started = accepted.reconcile_at(NOW);
    assert_eq!(started.created, Some(job_name(NINE)));
    let crashes = [
        accepted.clone().after_create(&started),
        accepted.clone().after_cron_job_status(&started),
        accepted.clone().after_all(&started),
    ];
    for crashed in crashes {
        let (fixture, created) = run(crashed, NOW);
        assert!(created.is_empty(), "{created:?}");
        assert_eq!(counts(&fixture), [2, 1, 0, 0, 0]);
        let active = &fixture.cron_job().status.active;
        assert_eq!(active.len(), 1, "the run is recorded once");
        // The run ends, and the controller crashes before it writes the status of the request.
        let ended = fixture.end_job(&job_name(NINE), "Complete");
        let counted = ended.reconcile_at(NOW);
        assert_eq!(counted.created, Some(job_name(TEN)));
        let (fixture, created) = run(ended.after_cron_job_status(&counted), NOW);
        assert!(created.is_empty(), "{created:?}");
        assert_eq!(counts(&fixture), [2, 2, 1, 0, 0]);
        assert_eq!(fixture.cron_job().status.successful_runs, 1, "counted once");
    }
}

#[test]
fn a_run_whose_create_has_an_unknown_result_is_adopted() {
    let fixture = with_history("Allow").request("r", interval());
    let accepted = fixture.clone().after_all(&fixture.reconcile_at(NOW));
    let started = accepted.reconcile_at(NOW);
    let mut view = accepted.clone().after_create(&started).views().pop().unwrap();
    view.controller_uid = "cron-uid".to_owned();
    let again = accepted.create(CreateResponse::NameTaken(Box::new(view)));
    let reconciled = again.reconcile_at(NOW);
    assert_eq!(reconciled.active, [job_name(NINE)]);
    let fixture = again.after_all(&reconciled);
    assert_eq!(counts(&fixture), [2, 1, 0, 0, 0]);
}

#[test]
fn a_name_that_another_job_has_is_skipped() {
    let fixture = with_history("Allow").request("r", interval());
    let accepted = fixture.clone().after_all(&fixture.reconcile_at(NOW));
    let other = fixture.job(NINE, "").views().pop().unwrap();
    let again = accepted.create(CreateResponse::NameTaken(Box::new(other)));
    let reconciled = again.reconcile_at(NOW);
    assert!(reconciled.events.iter().any(|event| event.contains("another job has the name")));
    assert_eq!(counts(&again.after_all(&reconciled)), [2, 0, 0, 0, 1]);
}

#[test]
fn a_deleted_job_counts_as_failed_and_does_not_run_again() {
    let (fixture, _) = run(with_history("Allow").request("r", json!({"now": true})), NOW);
    let name = status(&fixture).active.first().unwrap().name.clone();
    let deleting = fixture.job_metadata_by_name(&name, json!({"deletionTimestamp": NOW}));
    let (fixture, created) = run(deleting, NOW);
    assert!(created.is_empty());
    assert!(fixture.views().iter().all(|job| !job.has_finalizer), "so that it can be deleted");
    let (fixture, created) = run(fixture.without_job_named(&name), NOW);
    assert!(created.is_empty());
    assert_eq!(counts(&fixture), [1, 1, 0, 1, 0]);
    assert_eq!(fixture.cron_job().status.active.len(), 0);
}

fn active_names(reconciled: &Reconciled) -> usize {
    reconciled.active.len()
}

#[test]
fn forbid_lets_a_requested_run_and_one_of_the_schedule_wait_for_each_other() {
    let (fixture, created) = run(with_history("Forbid").request("r", json!({"now": true})), NOW);
    assert_eq!(created.len(), 1);
    let due = fixture.reconcile_at("2026-03-01T13:00:00Z");
    assert_eq!((due.created.clone(), active_names(&due)), (None, 1));
    assert!(due.reasons().contains(&"JobAlreadyActive"));

    let scheduled = with_history("Forbid").active_job(TWELVE).request("r", json!({"now": true}));
    let (fixture, created) = run(scheduled, NOW);
    assert!(created.is_empty());
    assert_eq!(reason(&fixture, condition_type::COMPLETE), "False Waiting");
    // The slot of one o'clock is due when the active run ends, so it starts first.
    let ended = fixture.end_job(&job_name(TWELVE), "Complete");
    assert_eq!(
        ended.reconcile_at("2026-03-01T13:00:00Z").created,
        Some(job_name("2026-03-01T13:00:00Z"))
    );
    assert_eq!(run(ended, NOW).1.len(), 1);
}

#[test]
fn replace_deletes_runs_of_the_schedule_but_no_requested_ones() {
    let scheduled = with_history("Replace").active_job(TWELVE).request("r", json!({"now": true}));
    let accepted = scheduled.clone().after_all(&scheduled.reconcile_at(NOW));
    let replaced = accepted.reconcile_at(NOW);
    assert_eq!((&replaced.deleted, &replaced.created), (&vec![job_name(TWELVE)], &None));
    let gone = accepted.after_all(&replaced).without_job(TWELVE);
    let (fixture, created) = run(gone, NOW);
    assert_eq!(created.len(), 1);
    let due = fixture.reconcile_at("2026-03-01T13:00:00Z");
    assert_eq!((due.created, due.deleted.len()), (None, 0), "the requested run goes on");

    let slots = with_history("Replace").active_job(TWELVE).request("r", interval());
    let (fixture, created) = run(slots, NOW);
    assert!(created.is_empty(), "a backfill does not replace a run of the schedule");
    assert_eq!(reason(&fixture, condition_type::COMPLETE), "False Waiting");
}

#[test]
fn a_run_now_goes_before_slots_that_catch_up() {
    let behind = fixture(json!({"concurrencyPolicy": "CatchUp"}))
        .last_scheduled(NINE)
        .request("r", json!({"now": true}));
    let accepted = behind.clone().after_all(&behind.reconcile_at(NOW));
    let first = behind.reconcile_at(NOW).created;
    assert_eq!(first, Some(job_name(TEN)), "not accepted yet");
    let ended = accepted.without_job(TEN).end_job(&job_name(TEN), "Complete");
    let (_, created) = run(ended.last_scheduled(TEN).status(json!({"active": []})), NOW);
    assert_eq!(created, [punctual_api::names::requested_job_name("job", "uid-r", 0)]);
}

#[test]
fn runs_start_while_the_cron_job_is_suspended_but_not_while_the_request_is() {
    let suspended = with_history("Forbid").request("r", interval());
    let mut spec = interval();
    spec["suspend"] = json!(true);
    let stopped = with_history("Forbid").request("r", spec);
    let suspended = suspended.status(json!({"suspendedSince": NOW})).suspended();
    assert_eq!(run(suspended, NOW).1, [job_name(NINE)]);
    let (stopped, created) = run(stopped, NOW);
    assert!(created.is_empty());
    assert_eq!(reason(&stopped, condition_type::COMPLETE), "False Suspended");
    let resumed = stopped.change_request("r", |request| request.spec.suspend = None);
    assert_eq!(run(resumed, NOW).1, [job_name(NINE)]);
}

#[test]
fn parallelism_bounds_the_active_runs_of_a_request() {
    let spec = json!({"from": NINE, "to": "2026-03-01T13:00:00Z", "runs": "All", "parallelism": 3});
    let (fixture, created) = run(with_history("Allow").request("r", spec), NOW);
    assert_eq!((created.len(), status(&fixture).active.len()), (3, 3));
}

#[test]
fn slots_that_ran_since_the_request_was_accepted_are_skipped() {
    let stopped = |name: &str, fixture: Fixture| {
        let mut spec = interval();
        spec["suspend"] = json!(true);
        fixture.request(name, spec)
    };
    let both = stopped("b", stopped("a", with_history("Forbid")));
    let (both, _) = run(both, NOW);
    let first = both.change_request("b", |request| request.spec.suspend = None);
    let (mut fixture, created) = run(first, NOW);
    assert_eq!(created, [job_name(NINE)]);
    for slot in [NINE, TEN] {
        fixture = run(fixture.end_job(&job_name(slot), "Complete"), "2026-03-01T12:30:09Z").0;
    }
    let (fixture, created) =
        run(fixture.change_request("a", |request| request.spec.suspend = None), NOW);
    assert!(created.is_empty(), "{created:?}");
    assert_eq!(counts(&fixture), [2, 0, 0, 0, 2]);
    assert_eq!(reason(&fixture, condition_type::COMPLETE), "True Succeeded");
}

#[test]
fn requests_that_cannot_be_accepted_say_why() {
    let refused = |fixture: Fixture| reason(&run(fixture, NOW).0, condition_type::ACCEPTED);
    let far = json!({"from": "1990-01-01T00:00:00Z", "to": NOW, "runs": "All"});
    assert_eq!(refused(with_history("Allow").request("r", far)), "False TooManySlots");
    let year = json!({"from": "2024-11-01T00:00:00Z", "to": NOW, "runs": "All"});
    assert_eq!(refused(with_history("Allow").request("r", year)), "False TooManySlots");
    let unparseable = fixture(json!({"schedule": "x"})).request("r", interval());
    assert_eq!(refused(unparseable), "False NoSchedule");
    let overrides =
        json!({"now": true, "overrides": {"containers": [{"name": "no", "args": ["x"]}]}});
    assert_eq!(refused(with_history("Allow").request("r", overrides)), "False InvalidOverrides");
}

#[test]
fn a_run_now_needs_no_valid_schedule() {
    let (_, created) =
        run(fixture(json!({"schedule": "x"})).request("r", json!({"now": true})), NOW);
    assert_eq!(created.len(), 1);
}

#[test]
fn overrides_change_arguments_and_variables_of_the_named_container() {
    let containers = json!([
        {"name": "a", "args": ["old"], "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}], "novel": 1},
        {"name": "b"},
    ]);
    let template = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let overrides = json!({"containers": [
        {"name": "a", "args": ["new"], "env": [{"name": "X", "value": "9"}, {"name": "Z", "value": "3"}]}]});
    let fixture = fixture(json!({"jobTemplate": template}))
        .request("r", json!({"now": true, "overrides": overrides}));
    let (fixture, _) = run(fixture, NOW);
    let job = fixture.job_named(&status(&fixture).active.first().unwrap().name);
    let containers = &job["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers[0]["args"], json!(["new"]));
    let env = json!([{"name": "Y", "value": "2"}, {"name": "X", "value": "9"}, {"name": "Z", "value": "3"}]);
    assert_eq!((&containers[0]["env"], &containers[0]["novel"]), (&env, &json!(1)));
    assert_eq!(containers[1], json!({"name": "b"}));
}

#[test]
fn a_finished_request_is_deleted_after_its_time_to_live() {
    let spec = json!({"now": true, "ttlSecondsAfterFinished": 60});
    let (fixture, _) = run_to_the_end(with_history("Allow").request("r", spec), "Complete");
    assert_eq!(fixture.reconcile_at(NOW).settled.wake_at, Some(at("2026-03-01T12:31:05Z")));
    let expired = fixture.reconcile_at("2026-03-01T12:31:05Z");
    let deleted: Vec<_> =
        expired.settled.requests_to_delete.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(deleted, ["r"]);
}

#[test]
fn a_request_of_a_replaced_cron_job_ends() {
    let (fixture, _) = run(with_history("Allow").request("r", interval()), NOW);
    let other = fixture.change_request("r", |request| request.status.target_uid = "other".into());
    let (fixture, _) = run(other, NOW);
    assert_eq!(
        reason(&fixture, condition_type::COMPLETE),
        format!("True {}", condition_reason::TARGET_DELETED)
    );
}

#[test]
fn resume_with_all_runs_every_slot_of_the_suspension_in_order() {
    let annotations = json!({"annotations": {"punctual.dev/resume-missed": "all"}});
    let mut fixture = fixture(json!({"concurrencyPolicy": "Allow"}))
        .last_scheduled(NINE)
        .status(json!({"suspendedSince": "2026-03-01T09:30:00Z"}))
        .metadata(annotations);
    let mut created = Vec::new();
    for slot in [TEN, ELEVEN, TWELVE] {
        let reconciled = fixture.reconcile_at(NOW);
        created.extend(reconciled.created.clone());
        let is_last = slot == TWELVE;
        assert_eq!(reconciled.settled.suspension_change.is_some(), is_last, "{slot}");
        fixture = fixture.after(&reconciled).job(slot, "Complete");
    }
    assert_eq!(created, [job_name(TEN), job_name(ELEVEN), job_name(TWELVE)]);
}
