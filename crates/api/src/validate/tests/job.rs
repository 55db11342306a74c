//! Tests of the validation of Jobs: creates, updates and status updates.

use super::*;

#[track_caller]
fn create(changes: &[(&str, Value)], want: &[&str]) {
    check(job_create(&read_job(with(job(), changes))), want);
}

#[test]
fn a_valid_job_is_accepted() {
    create(&[], &[]);
    create(&[("/spec/completionMode", json!("Indexed")), ("/spec/completions", json!(3))], &[]);
}

#[test]
fn job_counts_are_validated() {
    create(
        &[
            ("/spec/maxFailedIndexes", json!(-1)),
            ("/spec/managedBy", json!("other")),
            ("/spec/podReplacementPolicy", json!("Never")),
        ],
        &[
            "spec.maxFailedIndexes: Invalid value: -1: must be greater than or equal to 0",
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.managedBy: Invalid value: \"other\": must be a domain-prefixed path (such as \
             \"acme.io/foo\")",
            "spec.maxFailedIndexes: Invalid value: -1: requires indexed completion mode",
            "spec.podReplacementPolicy: Unsupported value: \"Never\": supported values: \
             \"Failed\", \"TerminatingOrFailed\"",
        ],
    );
    create(
        &[
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(200_000)),
            ("/spec/parallelism", json!(100_001)),
            ("/spec/backoffLimitPerIndex", json!(1)),
        ],
        &[
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when \
             completion mode is Indexed",
            "spec.maxFailedIndexes: Required value: must be specified when completions is above \
             100000",
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 10000 when \
             completions are above 100000 and used with backoff limit per index",
        ],
    );
}

#[test]
fn the_name_of_an_indexed_job_leaves_room_for_the_index() {
    let name = "n".repeat(60);
    let mut object = with(
        job(),
        &[
            ("/metadata/name", json!(name)),
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(1000)),
            ("/spec/template/metadata/labels", Value::Null),
        ],
    );
    defaults::generate_selector(&mut object, "u");
    let want = format!(
        "metadata.name: Invalid value: \"{name}\": will not able to create pod with invalid DNS \
         label: {name}-999"
    );
    check(job_create(&read_job(object)), &[&want]);
}

#[test]
fn failure_policy_rules_are_validated() {
    let rules = json!([
        {"action": "Explode", "onExitCodes": {"operator": "In", "values": [0, 3, 2, 3],
            "containerName": "x"}},
        {"action": "FailIndex", "onPodConditions": [{"type": "a b", "status": "Maybe"}]},
        {"action": "Count", "onExitCodes": {"operator": "Some", "values": []},
         "onPodConditions": [{"type": "DisruptionTarget"}]},
        {},
    ]);
    let rule = "spec.podFailurePolicy.rules";
    create(
        &[
            ("/spec/podFailurePolicy/rules", rules),
            ("/spec/template/spec/restartPolicy", json!("OnFailure")),
        ],
        &[
            &format!(
                "{rule}[0].action: Unsupported value: \"Explode\": supported values: \"Count\", \
                      \"FailIndex\", \"FailJob\", \"Ignore\""
            ),
            &format!(
                "{rule}[0].onExitCodes.containerName: Invalid value: \"x\": must be one of the \
                      container or initContainer names in the pod template"
            ),
            &format!(
                "{rule}[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In \
                 operator"
            ),
            &format!("{rule}[0].onExitCodes.values[3]: Duplicate value: 3"),
            &format!("{rule}[0].onExitCodes.values: Invalid value: [0,3,2,3]: must be ordered"),
            &format!(
                "{rule}[1].action: Invalid value: \"FailIndex\": requires the \
                      backoffLimitPerIndex to be set"
            ),
            &format!(
                "{rule}[1].onPodConditions[0].type: Invalid value: \"a b\": name part must \
                      consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                      with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', \
                      regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ),
            &format!(
                "{rule}[1].onPodConditions[0].status: Unsupported value: \"Maybe\": supported \
                      values: \"False\", \"True\", \"Unknown\""
            ),
            &format!(
                "{rule}[2].onExitCodes.operator: Unsupported value: \"Some\": supported values: \
                      \"In\", \"NotIn\""
            ),
            &format!(
                "{rule}[2].onExitCodes.values: Invalid value: []: at least one value is required"
            ),
            &format!(
                "{rule}[2]: Invalid value: specifying both OnExitCodes and OnPodConditions is \
                      not supported"
            ),
            &format!(
                "{rule}[3].action: Required value: valid values: [\"Count\" \"FailIndex\" \
                      \"FailJob\" \"Ignore\"]"
            ),
            &format!(
                "{rule}[3]: Invalid value: specifying one of OnExitCodes and OnPodConditions is \
                      required"
            ),
            "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is \
             supported when podFailurePolicy is specified",
        ],
    );
}

#[test]
fn success_policies_are_validated_and_need_an_indexed_job() {
    let policy = ("/spec/successPolicy/rules", json!([{"succeededIndexes": "0-1"}]));
    create(
        std::slice::from_ref(&policy),
        &["spec.successPolicy: Invalid value: {\"Rules\":[{\"SucceededIndexes\":\"0-1\",\
           \"SucceededCount\":null}]}: requires indexed completion mode"],
    );
    let rules =
        json!([{}, {"succeededIndexes": "3,1"}, {"succeededIndexes": "0", "succeededCount": 5}]);
    create(
        &[
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(4)),
            ("/spec/successPolicy/rules", rules),
        ],
        &[
            "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or \
             succeededIndexes must be specified",
            "spec.successPolicy.rules[1].succeededIndexes: Invalid value: \"3,1\": error parsing \
             succeededIndexes: non-increasing order, previous: 3, current: 1",
            "spec.successPolicy.rules[2].succeededCount: Invalid value: 5: must be less than or \
             equal to 4 (the number of specified completions)",
            "spec.successPolicy.rules[2].succeededCount: Invalid value: 5: must be less than or \
             equal to 1 (the number of indexes in the specified succeededIndexes field)",
        ],
    );
}

#[track_caller]
fn update(old: &[(&str, Value)], new: &[(&str, Value)], want: &[&str]) {
    let old = read_job(with(job(), old));
    let new = read_job(with(job(), new));
    check(job_update(&new, &old), want);
}

#[test]
fn immutable_fields_of_a_job_cannot_change() {
    update(
        &[],
        &[("/spec/parallelism", json!(5)), ("/spec/suspend", json!(true))],
        &[
            // Completions were defaulted with parallelism absent.
            "spec.completions: Invalid value: null: field is immutable",
        ],
    );
    update(
        &[],
        &[
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(1)),
            ("/spec/managedBy", json!("a.io/b")),
            ("/spec/backoffLimitPerIndex", json!(2)),
            ("/spec/backoffLimit", json!(6)),
        ],
        &[
            "spec.completionMode: Invalid value: \"Indexed\": field is immutable",
            "spec.backoffLimitPerIndex: Invalid value: 2: field is immutable",
            "spec.managedBy: Invalid value: \"a.io/b\": field is immutable",
        ],
    );
}

#[test]
fn completions_may_change_only_together_with_parallelism() {
    let indexed = |completions: i32, parallelism: i32| {
        [
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(completions)),
            ("/spec/parallelism", json!(parallelism)),
        ]
    };
    update(&indexed(2, 2), &indexed(4, 4), &[]);
    update(
        &indexed(2, 2),
        &indexed(4, 2),
        &["spec.completions: Invalid value: 4: can only be modified in tandem with \
             spec.parallelism"],
    );
}

#[test]
fn only_scheduling_and_resources_of_a_suspended_job_may_change() {
    let suspended = ("/spec/suspend", json!(true));
    let moved = [
        suspended.clone(),
        ("/spec/template/spec/nodeSelector", json!({"a": "b"})),
        ("/spec/template/spec/tolerations", json!([{"operator": "Exists"}])),
        ("/spec/template/spec/schedulingGates", json!([{"name": "g"}])),
        ("/spec/template/spec/affinity/nodeAffinity", json!({"x": 1})),
        ("/spec/template/spec/containers/0/resources/limits", json!({"cpu": "1"})),
    ];
    update(std::slice::from_ref(&suspended), &moved, &[]);
    let changed = [suspended.clone(), ("/spec/template/spec/containers/0/image", json!("other"))];
    let old = read_job(with(job(), &[suspended]));
    let new = read_job(with(job(), &changed));
    let errors = job_update(&new, &old);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].path, "spec.template.spec");
    let running = [("/status/active", json!(1)), ("/spec/suspend", json!(true))];
    let errors = job_update(&read_job(with(job(), &moved)), &read_job(with(job(), &running)));
    assert_eq!(errors.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(), ["spec.template"]);
}

#[track_caller]
fn status(old: Value, new: Value, want: &[&str]) {
    let old = [("/status", old)];
    let new = [("/status", new)];
    let old = read_job(with(job(), &old));
    let new = read_job(with(job(), &new));
    check(job_status_update(&new, &old), want);
}

fn true_of(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({"type": kind, "status": "True"})).collect()
}

#[test]
fn a_job_finishes_once_and_after_its_criteria_condition() {
    let started = json!({"startTime": "2026-01-01T00:00:00Z"});
    status(json!({}), started.clone(), &[]);
    status(
        started.clone(),
        json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "terminating": 1, "ready": 2,
            "conditions": true_of(&["Failed"])}),
        &[
            "status.conditions: Invalid value: cannot set Failed=True condition without the \
             FailureTarget=true condition",
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
            "status.ready: Invalid value: 2: cannot set more ready pods than active",
        ],
    );
    status(
        started.clone(),
        json!({"startTime": "2026-01-01T00:00:00Z", "completionTime": "2025-01-01T00:00:00Z",
            "conditions": true_of(&["SuccessCriteriaMet", "Complete"]),
            "uncountedTerminatedPods": {"succeeded": ["p", ""], "failed": ["p"]}}),
        &[
            "status.uncountedTerminatedPods.succeeded[1]: Invalid value: \"\": must not be empty",
            "status.uncountedTerminatedPods.failed[0]: Duplicate value: \"p\"",
            "status.completionTime: Invalid value: \"2025-01-01T00:00:00Z\": must be equal to or \
             after `startTime`",
            "status.uncountedTerminatedPods: Invalid value: {\"Succeeded\":[\"p\",\"\"],\
             \"Failed\":[\"p\"]}: must be empty for finished job",
        ],
    );
}

#[test]
fn final_conditions_and_times_cannot_change() {
    status(
        json!({"startTime": "2026-01-01T00:00:00Z", "failed": 3, "succeeded": 2,
            "completionTime": "2026-01-02T00:00:00Z",
            "conditions": true_of(&["SuccessCriteriaMet", "Complete"])}),
        json!({"startTime": "2026-01-01T00:00:01Z", "failed": 2, "succeeded": 1,
            "completionTime": "2026-01-03T00:00:00Z", "conditions": true_of(&["Complete"])}),
        &[
            "status.conditions: Invalid value: cannot set Complete=True condition without the \
             SuccessCriteriaMet=true condition",
            "status.failed: Invalid value: 2: cannot decrease the failed counter",
            "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
            "status.completionTime: Invalid value: \"2026-01-03T00:00:00Z\": field is immutable",
            "status.startTime: Invalid value: \"2026-01-01T00:00:01Z\": field is immutable for \
             unsuspended job once set",
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True \
             condition",
        ],
    );
}

#[test]
fn completed_indexes_may_shrink_with_an_elastic_job() {
    let with_status = |parallelism: i32, succeeded: i32| {
        read_job(with(
            job(),
            &[
                ("/spec/completionMode", json!("Indexed")),
                ("/spec/completions", json!(2)),
                ("/spec/parallelism", json!(parallelism)),
                ("/status/succeeded", json!(succeeded)),
            ],
        ))
    };
    check(job_status_update(&with_status(2, 1), &with_status(2, 2)), &[]);
    check(
        job_status_update(&with_status(1, 1), &with_status(1, 2)),
        &["status.succeeded: Invalid value: 1: cannot decrease the succeeded counter"],
    );
}

#[test]
fn only_indexed_jobs_may_have_indexes_in_their_status() {
    status(
        json!({}),
        json!({"completedIndexes": "0", "failedIndexes": "0"}),
        &[
            "status.completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes \
             when non-indexed completion mode",
            "status.failedIndexes: Invalid value: \"0\": cannot set non-null failedIndexes when \
             backoffLimitPerIndex is null",
            "status.failedIndexes: Invalid value: \"0\": failedIndexes and completedIndexes \
             overlap \
             at index: 0",
        ],
    );
}
