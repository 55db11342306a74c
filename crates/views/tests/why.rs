//! Every situation in which a slot does or does not run, and what `why` says about it.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;

use serde_json::{Value, json};

use fixture::{SnapshotBuilder, at};
use punctual_views::{
    Cause, ChosenSlot, Explanation, choose_slot, explain_latest_not_run, explain_now, explain_slot,
};

/// The slot that most situations ask about.
const SLOT: &str = "2026-11-17T05:05:00Z";
const NOW: &str = "2026-11-17T06:00:30Z";

/// One situation: the state of a CronJob, the slot that is asked for, and the answer.
struct Situation {
    name: &'static str,
    build: fn(SnapshotBuilder) -> SnapshotBuilder,
    slot: &'static str,
    cause: Cause,
    /// Texts that the answer, the details or the remedies must contain.
    mentions: &'static [&'static str],
}

fn record(extra: Value) -> Value {
    let mut record = json!({"slot": SLOT, "decision": "Started", "reason": "Scheduled",
        "job": {"name": "sync-29913425", "uid": "j"}, "createdTime": "2026-11-17T05:05:01Z"});
    for (key, value) in extra.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

fn not_run(decision: &str, reason: &str, message: &str) -> Value {
    json!({"slot": SLOT, "decision": decision, "reason": reason, "message": message})
}

fn finished(result: &str) -> Value {
    record(
        json!({"result": result, "startTime": "2026-11-17T05:05:01Z", "completionTime": "2026-11-17T05:06:01Z"}),
    )
}

/// The run of the slot before, which was active at the slot, and that of the slot after it.
fn neighbours() -> [Value; 2] {
    [
        json!({"slot": "2026-11-17T05:00:00Z", "decision": "Started", "reason": "Scheduled", "result": "Succeeded",
            "job": {"name": "sync-29913420", "uid": "a"}, "createdTime": "2026-11-17T05:00:00Z",
            "completionTime": "2026-11-17T05:12:40Z"}),
        json!({"slot": "2026-11-17T05:10:00Z", "decision": "Started", "reason": "Scheduled", "result": "Succeeded",
            "job": {"name": "sync-29913430", "uid": "b"}, "createdTime": "2026-11-17T05:12:40Z",
            "completionTime": "2026-11-17T05:13:40Z"}),
    ]
}

/// Everything up to now has run.
fn up_to_date(builder: SnapshotBuilder) -> SnapshotBuilder {
    builder.status(json!({"lastScheduleTime": "2026-11-17T06:00:00Z"}))
}

/// Nothing has run since the slot before `SLOT`.
fn stale(builder: SnapshotBuilder) -> SnapshotBuilder {
    builder.status(json!({"lastScheduleTime": "2026-11-17T05:00:00Z"}))
}

const SITUATIONS: &[Situation] = &[
    Situation {
        name: "the run succeeded",
        build: |b| up_to_date(b).record(finished("Succeeded")).job("sync-29913425"),
        slot: SLOT,
        cause: Cause::Succeeded,
        mentions: &["ran, and succeeded after 1m"],
    },
    Situation {
        name: "the run failed",
        build: |b| {
            let mut failed = finished("Failed");
            failed["failureReason"] = json!("BackoffLimitExceeded");
            up_to_date(b).record(failed).job("sync-29913425")
        },
        slot: SLOT,
        cause: Cause::Failed,
        mentions: &[
            "failed after 1m",
            "BackoffLimitExceeded",
            "backoffLimit",
            "tool logs sync --slot",
        ],
    },
    Situation {
        name: "the run is active",
        build: |b| up_to_date(b).record(record(json!({"result": "Running"}))).job("sync-29913425"),
        slot: SLOT,
        cause: Cause::Running,
        mentions: &["is running: Job sync-29913425", "logs sync -f"],
    },
    Situation {
        name: "the controller was away, or the leader changed",
        build: |b| {
            let mut late = finished("Succeeded");
            late["createdTime"] = json!("2026-11-17T05:05:45Z");
            up_to_date(b).record(late).job("sync-29913425")
        },
        slot: SLOT,
        cause: Cause::StartedLate,
        mentions: &["45s late", "another replica became leader", "startingDeadlineSeconds"],
    },
    Situation {
        name: "a request asked for the run",
        build: |b| {
            let mut requested = finished("Succeeded");
            requested["request"] = json!("rerun");
            requested["reason"] = json!("Requested");
            up_to_date(b).record(requested).job("sync-29913425")
        },
        slot: SLOT,
        cause: Cause::Requested,
        mentions: &["it was asked for", "RunRequest rerun"],
    },
    Situation {
        name: "the run was replaced",
        build: |b| {
            let [_, after] = neighbours();
            up_to_date(b).record(finished("Replaced")).record(after)
        },
        slot: SLOT,
        cause: Cause::Replaced,
        mentions: &["policy Replace", "sync-29913430 started", "CatchUp"],
    },
    Situation {
        name: "the Job was deleted",
        build: |b| up_to_date(b).record(finished("Deleted")),
        slot: SLOT,
        cause: Cause::Deleted,
        mentions: &["deleted while it was active", "audit log"],
    },
    Situation {
        name: "the Job is gone and its record is there",
        build: |b| up_to_date(b).record(finished("Succeeded")),
        slot: SLOT,
        cause: Cause::JobGone,
        mentions: &["ran, and succeeded", "are gone", "ttlSecondsAfterFinished"],
    },
    Situation {
        name: "a later slot superseded it",
        build: |b| {
            let [before, after] = neighbours();
            up_to_date(b).record(before).record(not_run("Skipped", "Superseded", "")).record(after)
        },
        slot: SLOT,
        cause: Cause::Superseded,
        mentions: &["sync-29913420", "05:12:40", "Then slot Tue 2026-11-17 05:10", "CatchUp"],
    },
    Situation {
        name: "Forbid skipped it",
        build: |b| {
            let [before, _] = neighbours();
            up_to_date(b).record(before).record(not_run("Skipped", "ConcurrencyForbidden", ""))
        },
        slot: SLOT,
        cause: Cause::ConcurrencyForbidden,
        mentions: &["policy Forbid", "sync-29913420", "was active until", "CatchUp"],
    },
    Situation {
        name: "it was suspended then",
        build: |b| up_to_date(b).record(not_run("Skipped", "Suspended", "")),
        slot: SLOT,
        cause: Cause::Suspended,
        mentions: &["the CronJob was suspended", "skipped when it is resumed"],
    },
    Situation {
        name: "it is suspended now",
        build: |b| {
            stale(b)
                .spec(json!({"suspend": true}))
                .annotation("punctual.dev/suspended-reason", "db upgrade")
                .annotation("punctual.dev/suspended-by", "alice")
                .annotation("punctual.dev/suspended-until", "2026-11-17T14:00:00Z")
        },
        slot: SLOT,
        cause: Cause::Suspended,
        mentions: &["is suspended", "db upgrade", "alice", "14:00", "tool resume sync"],
    },
    Situation {
        name: "the schedule was changed, and the record says so",
        build: |b| up_to_date(b).record(not_run("Skipped", "ScheduleChanged", "")),
        slot: SLOT,
        cause: Cause::ScheduleChanged,
        mentions: &["schedule was changed", "never starts slots of the past"],
    },
    Situation {
        name: "the schedule was changed after it",
        build: |b| b.annotation("punctual.dev/schedule-since", "2026-11-17T05:30:00Z */5 * * * *"),
        slot: SLOT,
        cause: Cause::ScheduleChanged,
        mentions: &["applies since Tue 2026-11-17 05:30"],
    },
    Situation {
        name: "the deadline passed while a run was active",
        build: |b| {
            let [before, _] = neighbours();
            up_to_date(b)
                .spec(json!({"startingDeadlineSeconds": 60}))
                .record(before)
                .record(not_run("Missed", "DeadlineExceeded", ""))
        },
        slot: SLOT,
        cause: Cause::DeadlineExceeded,
        mentions: &[
            "startingDeadlineSeconds is 60",
            "sync-29913420",
            "Raise startingDeadlineSeconds",
        ],
    },
    Situation {
        name: "a quota refused the Job",
        build: |b| {
            up_to_date(b).record(not_run(
                "Missed",
                "CreateRejected",
                "jobs.batch \"x\" is forbidden: exceeded quota: q",
            ))
        },
        slot: SLOT,
        cause: Cause::QuotaExceeded,
        mentions: &["ResourceQuota", "exceeded quota: q", "Raise the quota"],
    },
    Situation {
        name: "the template is invalid",
        build: |b| {
            up_to_date(b).record(not_run(
                "Missed",
                "CreateRejected",
                "Job.batch \"x\" is invalid: spec.template: no",
            ))
        },
        slot: SLOT,
        cause: Cause::TemplateInvalid,
        mentions: &["template is invalid", "tool validate"],
    },
    Situation {
        name: "an admission policy refused the Job",
        build: |b| {
            up_to_date(b).record(not_run(
                "Missed",
                "CreateRejected",
                "admission webhook denied the request",
            ))
        },
        slot: SLOT,
        cause: Cause::CreateRejected,
        mentions: &["denied", "admission policy"],
    },
    Situation {
        name: "the name was taken",
        build: |b| up_to_date(b).record(not_run("Missed", "NameTaken", "Job sync-29913425 exists")),
        slot: SLOT,
        cause: Cause::NameTaken,
        mentions: &["has the name", "sync-29913425 exists", "rename"],
    },
    Situation {
        name: "CatchUp had too many slots",
        build: |b| up_to_date(b).record(not_run("Missed", "CatchUpLimitExceeded", "")),
        slot: SLOT,
        cause: Cause::CatchUpLimitExceeded,
        mentions: &["The limit is 1000", "catchUpLimit"],
    },
    Situation {
        name: "a newer version gave a reason that is unknown here",
        build: |b| up_to_date(b).record(not_run("Skipped", "Novel", "the moon was full")),
        slot: SLOT,
        cause: Cause::OtherReason,
        mentions: &["Novel", "the moon was full"],
    },
    Situation {
        name: "the time zone is unknown",
        build: |b| stale(b).spec(json!({"timeZone": "Europe/Berln"})),
        slot: SLOT,
        cause: Cause::UnknownTimeZone,
        mentions: &["Europe/Berln", "spec.timeZone"],
    },
    Situation {
        name: "the schedule is invalid",
        build: |b| stale(b).spec(json!({"schedule": "61 * * * *"})),
        slot: SLOT,
        cause: Cause::InvalidSchedule,
        mentions: &["61 * * * *", "spec.schedule"],
    },
    Situation {
        name: "a clock was ahead",
        build: |b| b.status(json!({"lastScheduleTime": "2027-01-01T00:00:00Z"})),
        slot: SLOT,
        cause: Cause::ClockJump,
        mentions: &["status.lastScheduleTime", "2027-01-01", "tool repair sync -n shop"],
    },
    Situation {
        name: "the controller is down",
        build: stale,
        slot: "2026-11-17T06:00:00Z",
        cause: Cause::ControllerDown,
        mentions: &["no controller acted", "punctual controller"],
    },
    Situation {
        name: "the clocks went forward",
        build: |b| stale(b).spec(json!({"timeZone": "Europe/Berlin", "schedule": "30 2 * * *"})),
        slot: "2026-03-29T02:30",
        cause: Cause::DstGap,
        mentions: &["did not exist in Europe/Berlin", "forward by 1h", "UTC"],
    },
    Situation {
        name: "the jitter has not passed",
        build: |b| {
            b.spec(json!({"schedule": "0 * * * *", "jitter": 50}))
                .status(json!({"lastScheduleTime": "2026-11-17T05:00:00Z"}))
        },
        slot: "2026-11-17T06:00:00Z",
        cause: Cause::NotYetEffective,
        mentions: &["because of its jitter", "jitter is 50%"],
    },
    Situation {
        name: "CatchUp is behind",
        build: |b| stale(b).spec(json!({"concurrencyPolicy": "CatchUp"})).active("sync-29913420"),
        slot: SLOT,
        cause: Cause::CatchUpBehind,
        mentions: &["policy CatchUp", "sync-29913420", "backlog"],
    },
    Situation {
        name: "a run is active under Forbid",
        build: |b| stale(b).spec(json!({"concurrencyPolicy": "Forbid"})).active("sync-29913420"),
        slot: "2026-11-17T06:00:00Z",
        cause: Cause::WaitingForActiveRun,
        mentions: &[
            "another run is active (policy Forbid)",
            "sync-29913420",
            "activeDeadlineSeconds",
        ],
    },
    Situation {
        name: "the create fails and is tried again",
        build: |b| {
            b.status(json!({"lastScheduleTime": "2026-11-17T05:00:00Z", "conditions": [
                {"type": "Settled", "status": "False", "reason": "ReconcileError",
                 "message": "Error creating job: etcd is unavailable"}]}))
        },
        slot: "2026-11-17T06:00:00Z",
        cause: Cause::CreatePending,
        mentions: &["could not be created", "etcd is unavailable", "tries again"],
    },
    Situation {
        name: "a quota refuses the Job now",
        build: |b| {
            b.status(json!({"lastScheduleTime": "2026-11-17T05:00:00Z", "conditions": [
                {"type": "Settled", "status": "False", "reason": "ReconcileError",
                 "message": "Error creating job: exceeded quota: q"}]}))
        },
        slot: "2026-11-17T06:00:00Z",
        cause: Cause::QuotaExceeded,
        mentions: &["exceeded quota", "tries again"],
    },
    Situation {
        name: "it is in the future",
        build: up_to_date,
        slot: "2026-11-17T07:00:00Z",
        cause: Cause::NotYetDue,
        mentions: &["due in 59m 30s"],
    },
    Situation {
        name: "the schedule has no such slot",
        build: up_to_date,
        slot: "2026-11-17T05:07:00Z",
        cause: Cause::NeverDue,
        mentions: &[
            "has no slot then",
            "before: Tue 2026-11-17 05:05",
            "after: Tue 2026-11-17 05:10",
        ],
    },
    Situation {
        name: "the CronJob did not exist",
        build: up_to_date,
        slot: "2020-01-01T00:00:00Z",
        cause: Cause::BeforeCreation,
        mentions: &["did not exist yet"],
    },
    Situation {
        name: "its record is gone",
        build: up_to_date,
        slot: SLOT,
        cause: Cause::NoRecord,
        mentions: &["no record of this slot is kept"],
    },
    Situation {
        name: "the deadline is zero",
        build: |b| stale(b).spec(json!({"startingDeadlineSeconds": 0})),
        slot: SLOT,
        cause: Cause::NeverRuns,
        mentions: &["startingDeadlineSeconds is 0"],
    },
];

fn all_text(explanation: &Explanation) -> String {
    let lines = [
        vec![explanation.answer.clone()],
        explanation.details.clone(),
        explanation.remedies.clone(),
    ];
    lines.concat().join("\n")
}

#[test]
fn every_situation_has_its_cause_and_says_what_to_do() {
    let mut failures = Vec::new();
    for situation in SITUATIONS {
        let snapshot = (situation.build)(SnapshotBuilder::new()).build();
        let now = at(NOW);
        let chosen = choose_slot(&snapshot, situation.slot, now).unwrap();
        let explanation = explain_slot(&snapshot, &chosen, now).with_program("tool");
        let text = all_text(&explanation);
        let missing: Vec<_> = situation.mentions.iter().filter(|it| !text.contains(**it)).collect();
        if explanation.cause != situation.cause || !missing.is_empty() {
            failures.push(format!(
                "{}: {:?}, wanted {:?}; missing {missing:?} in\n{text}",
                situation.name, explanation.cause, situation.cause
            ));
        }
        assert!(!text.contains("{program}"), "{}: {text}", situation.name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn every_situation_is_another_one() {
    let mut names: Vec<&str> = SITUATIONS.iter().map(|situation| situation.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SITUATIONS.len());
    assert!(SITUATIONS.len() >= 20);
}

#[test]
fn without_a_slot_the_newest_that_did_not_run_is_explained() {
    let now = at(NOW);
    let healthy = up_to_date(SnapshotBuilder::new())
        .record(not_run("Missed", "DeadlineExceeded", ""))
        .build();
    let latest = explain_latest_not_run(&healthy, now).unwrap();
    assert_eq!((latest.cause, latest.slot), (Cause::DeadlineExceeded, Some(at(SLOT))));
    let present = explain_now(&healthy, now);
    assert_eq!(present.cause, Cause::NotYetDue);
    assert!(present.answer.contains("in 4m 30s"), "{}", present.answer);
    let pending =
        stale(SnapshotBuilder::new()).record(not_run("Missed", "DeadlineExceeded", "")).build();
    let latest = explain_latest_not_run(&pending, now).unwrap();
    assert_eq!(
        latest.slot,
        Some(at("2026-11-17T06:00:00Z")),
        "a pending slot is newer than the record"
    );
    assert!(explain_latest_not_run(&up_to_date(SnapshotBuilder::new()).build(), now).is_none());
}

#[test]
fn why_nothing_runs_now_has_the_cause_of_now() {
    let now = at(NOW);
    let explain = |builder: SnapshotBuilder| explain_now(&builder.build(), now).cause;
    let new = SnapshotBuilder::new;
    assert_eq!(explain(stale(new()).spec(json!({"suspend": true}))), Cause::Suspended);
    assert_eq!(explain(stale(new()).spec(json!({"timeZone": "X/Y"}))), Cause::UnknownTimeZone);
    assert_eq!(explain(stale(new()).spec(json!({"startingDeadlineSeconds": 0}))), Cause::NeverRuns);
    assert_eq!(explain(stale(new())), Cause::ControllerDown);
    assert_eq!(explain(up_to_date(new()).active("sync-1")), Cause::Running);
    assert_eq!(
        explain(up_to_date(new()).metadata("deletionTimestamp", json!(NOW))),
        Cause::BeingDeleted
    );
    let future = json!({"lastScheduleTime": "2027-01-01T00:00:00Z"});
    assert_eq!(explain(new().status(future)), Cause::ClockJump);
    let once = new().spec(json!({"schedule": "@at 2026-11-17T05:00:00Z"}));
    assert_eq!(
        explain(once.status(json!({"lastScheduleTime": "2026-11-17T05:00:00Z"}))),
        Cause::Complete
    );
}

#[test]
fn a_slot_is_named_by_an_instant_a_local_time_a_time_of_day_or_a_job() {
    let now = at(NOW);
    let snapshot = up_to_date(SnapshotBuilder::new().spec(json!({"timeZone": "Europe/Berlin"})))
        .record(finished("Succeeded"))
        .build();
    for text in [
        SLOT,
        "2026-11-17T06:05:00+01:00",
        "2026-11-17T06:05",
        "2026-11-17 06:05:00",
        "06:05",
        "sync-29913425",
        // A Job without a record: its name ends with the minutes since 1970.
        "sync-29914865",
    ] {
        let chosen =
            choose_slot(&snapshot, text, now).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(chosen, ChosenSlot::At(at(SLOT)), "{text}");
    }
    for text in ["", "soon", "06:07", "25:00", "other-29914865"] {
        assert!(choose_slot(&snapshot, text, now).is_err(), "{text}");
    }
    let repeated = choose_slot(&snapshot, "2026-10-25T02:30", now).unwrap();
    assert_eq!(repeated, ChosenSlot::At(at("2026-10-25T00:30:00Z")), "the first of two is meant");
}
