//! Tests of the validation of CronJobs and ScheduledJobs, in both dialects.

use super::*;

#[track_caller]
fn create(dialect: Dialect, changes: &[(&str, Value)], want: &[&str]) {
    check(rules(dialect).cron_job_create(&read_cron_job(with(cron_job(), changes))), want);
}

#[test]
fn a_valid_cron_job_is_accepted_in_both_dialects() {
    create(Dialect::Punctual, &[], &[]);
    create(Dialect::Kubernetes, &[], &[]);
}

#[test]
fn extensions_are_validated_in_our_dialect_and_rejected_in_the_strict_one() {
    let ours = Dialect::Punctual;
    create(ours, &[("/spec/concurrencyPolicy", json!("CatchUp"))], &[]);
    create(ours, &[("/spec/schedule", json!("@at 2030-01-01T00:00:00Z"))], &[]);
    create(ours, &[("/spec/jitter", json!(50))], &[]);
    create(ours, &[("/spec/catchUpLimit", json!(100_000))], &[]);
    create(
        ours,
        &[("/spec/catchUpLimit", json!(0))],
        &["spec.catchUpLimit: Invalid value: 0: must be between 1 and 100000, inclusive"],
    );
    for jitter in [-1, 51] {
        let text =
            format!("spec.jitter: Invalid value: {jitter}: must be between 0 and 50, inclusive");
        create(ours, &[("/spec/jitter", json!(jitter))], &[&text]);
    }
    create(
        Dialect::Kubernetes,
        &[("/spec/concurrencyPolicy", json!("CatchUp"))],
        &["spec.concurrencyPolicy: Unsupported value: \"CatchUp\": supported values: \"Allow\", \
           \"Forbid\", \"Replace\""],
    );
    create(
        Dialect::Kubernetes,
        &[("/spec/schedule", json!("@at 2030-01-01T00:00:00Z"))],
        &["spec.schedule: Invalid value: \"@at 2030-01-01T00:00:00Z\": unrecognized descriptor: \
           @at 2030-01-01T00:00:00Z"],
    );
}

#[test]
fn a_pending_deadline_is_refused_with_what_looks_like_a_pod_that_does_not_start() {
    let deadline = ("/spec/pendingDeadlineSeconds", json!(600));
    let template = "/spec/jobTemplate/spec/template/spec";
    let path = |field: &str| format!("{template}/{field}");
    let never = (path("restartPolicy"), json!("Never"));
    let never = (never.0.as_str(), never.1);
    create(Dialect::Punctual, &[deadline.clone(), never.clone()], &[]);
    create(
        Dialect::Punctual,
        &[("/spec/pendingDeadlineSeconds", json!(0)), never.clone()],
        &[
            "spec.pendingDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        ],
    );
    let probe = json!({"exec": {"command": ["true"]}});
    for (field, value, named) in [
        ("restartPolicy", json!("OnFailure"), "restartPolicy: a container that is restarted"),
        ("containers/0/readinessProbe", probe.clone(), "containers[0].readinessProbe: a Pod"),
        ("containers/0/startupProbe", probe, "containers[0].startupProbe: a Pod"),
        ("readinessGates", json!([{"conditionType": "a/b"}]), "readinessGates: a Pod"),
        ("schedulingGates", json!([{"name": "a/b"}]), "schedulingGates: a Pod that waits"),
    ] {
        let path = path(field);
        for annotated in [false, true] {
            let annotation = json!({"punctual.dev/pending-deadline-seconds": "600"});
            let deadline =
                if annotated { ("/metadata/annotations", annotation) } else { deadline.clone() };
            let changes = [never.clone(), deadline, (path.as_str(), value.clone())];
            let cron_job = read_cron_job(with(cron_job(), &changes));
            let errors = rules(Dialect::Punctual).cron_job_create(&cron_job);
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            let [error] = errors.as_slice() else { panic!("{field}: {errors:?}") };
            let want = "spec.pendingDeadlineSeconds: Forbidden: may not be set together with \
                        spec.jobTemplate.spec.template.spec.";
            assert!(error.starts_with(&format!("{want}{named}")), "{error}");
        }
    }
    let strict = rules(Dialect::Kubernetes);
    let annotation = json!({"punctual.dev/pending-deadline-seconds": "600"});
    let changes = [("/metadata/annotations", annotation)];
    check(strict.cron_job_create(&read_cron_job(with(cron_job(), &changes))), &[]);
}

#[test]
fn a_scheduled_job_has_the_extensions_on_a_strict_server() {
    create(
        Dialect::Kubernetes,
        &[
            ("/apiVersion", json!("punctual.dev/v1")),
            ("/kind", json!("ScheduledJob")),
            ("/spec/concurrencyPolicy", json!("CatchUp")),
            ("/spec/jitter", json!(10)),
        ],
        &[],
    );
}

#[test]
fn zones_are_validated_like_in_go() {
    for (zone, want) in [
        ("Europe/Berlin", vec![]),
        ("UTC", vec![]),
        ("Etc/GMT+5", vec![]),
        ("../etc/passwd", vec!["unknown time zone ../etc/passwd"]),
        ("Europe//Berlin", vec!["unknown time zone Europe//Berlin"]),
        ("a/-b", vec!["unknown time zone a/-b"]),
        ("AVeryLongZoneName", vec!["unknown time zone AVeryLongZoneName"]),
        ("europe/berlin", vec!["unknown time zone europe/berlin"]),
        (
            "LOCAL",
            vec![
                "timeZone must be an explicit time zone as defined in \
                 https://www.iana.org/time-zones",
                "unknown time zone LOCAL",
            ],
        ),
    ] {
        let want: Vec<_> = want
            .iter()
            .map(|why| format!("spec.timeZone: Invalid value: \"{zone}\": {why}"))
            .collect();
        let want: Vec<_> = want.iter().map(String::as_str).collect();
        create(Dialect::Kubernetes, &[("/spec/timeZone", json!(zone))], &want);
    }
}

#[test]
fn an_empty_zone_is_unset_in_our_dialect_and_rejected_in_the_strict_one() {
    let empty = [("/spec/timeZone", json!(""))];
    create(Dialect::Punctual, &empty, &[]);
    let rejected = "spec.timeZone: Invalid value: \"\": timeZone must be nil or non-empty string";
    create(Dialect::Kubernetes, &empty, &[rejected]);
}

#[test]
fn metadata_errors_precede_spec_errors() {
    create(
        Dialect::Punctual,
        &[
            ("/metadata/labels", json!({"a b": "x"})),
            ("/metadata/annotations", json!({"UPPER/ok": "x", "no/no/no": ""})),
            ("/metadata/finalizers", json!(["orphan", "foregroundDeletion"])),
            ("/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "K", "name": "n"}])),
            ("/spec/startingDeadlineSeconds", json!(-1)),
        ],
        &[
            "metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character \
             (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "metadata.annotations: Invalid value: \"no/no/no\": a valid label key must consist of \
             alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
             character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and \
             '/' (e.g. 'example.com/MyName')",
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer \
             orphan and foregroundDeletion cannot be both set",
            "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
}

#[track_caller]
fn update(old: &[(&str, Value)], new: &[(&str, Value)], want: &[&str]) {
    let old = read_cron_job(with(cron_job(), old));
    let new = read_cron_job(with(cron_job(), new));
    check(rules(Dialect::Kubernetes).cron_job_update(&new, &old), want);
}

#[test]
fn an_update_accepts_unchanged_invalid_fields() {
    let long = json!("n".repeat(60));
    let name = ("/metadata/name", long);
    update(std::slice::from_ref(&name), std::slice::from_ref(&name), &[]);
    let zone = ("/spec/timeZone", json!("Mars/Phobos"));
    update(std::slice::from_ref(&zone), std::slice::from_ref(&zone), &[]);
    let schedule = ("/spec/schedule", json!("TZ=UTC 0 * * * *"));
    update(std::slice::from_ref(&schedule), std::slice::from_ref(&schedule), &[]);
}

#[test]
fn a_zone_in_a_schedule_is_accepted_only_on_an_unchanged_schedule() {
    let with_zone = ("/spec/schedule", json!("TZ=UTC 0 * * * *"));
    let both = [with_zone.clone(), ("/spec/timeZone", json!("UTC"))];
    let value = "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": ";
    update(
        &[],
        std::slice::from_ref(&with_zone),
        &[&format!("{value}cannot use TZ or CRON_TZ in schedule, use timeZone field instead")],
    );
    update(
        &[with_zone],
        &both,
        &[&format!("{value}cannot use both timeZone field and TZ or CRON_TZ in schedule")],
    );
}

#[test]
fn name_and_uid_are_immutable() {
    update(
        &[],
        &[
            ("/metadata/name", json!("b")),
            ("/metadata/uid", json!("v")),
            ("/metadata/resourceVersion", json!("")),
        ],
        &[
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
            "metadata.name: Invalid value: \"b\": field is immutable",
            "metadata.uid: Invalid value: \"v\": field is immutable",
        ],
    );
}

#[test]
fn an_object_being_deleted_gets_no_new_finalizers() {
    let deleted = ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"));
    let hold = ("/metadata/finalizers", json!(["example.com/hold"]));
    let more = ("/metadata/finalizers", json!(["example.com/new", "example.com/hold"]));
    update(
        &[deleted.clone(), hold],
        &[deleted, more],
        &["metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
           deleted, found new finalizers []string{\"example.com/new\"}"],
    );
}
