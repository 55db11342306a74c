//! Tests of warnings about CronJobs and Pod templates.

use punctual_schedule::Zones;
use serde_json::{Value, json};

use super::*;
use crate::validate::tests::{cron_job, job, read_cron_job, read_job, with};

fn rules(dialect: Dialect) -> ValidationOptions {
    ValidationOptions { zones: Zones::bundled(), dialect }
}

fn now() -> Timestamp {
    "2026-11-15T00:00:00Z".parse().unwrap()
}

fn created(dialect: Dialect, changes: &[(&str, Value)]) -> Vec<String> {
    let cron_job = read_cron_job(with(cron_job(), changes));
    cron_job_create(&rules(dialect), &cron_job, now())
}

#[test]
fn an_ordinary_cron_job_gets_no_warning() {
    assert_eq!(created(Dialect::Punctual, &[]), [""; 0]);
}

#[test]
fn a_name_with_dots_causes_a_warning() {
    assert_eq!(
        created(Dialect::Kubernetes, &[("/metadata/name", json!("a.b"))]),
        ["metadata.name: this is used in Pod names and hostnames, which can result in surprising \
          behavior; a DNS label is recommended: [must not contain dots]"]
    );
}

#[test]
fn a_schedule_that_never_runs_causes_a_warning_in_our_dialect_only() {
    let never = [("/spec/schedule", json!("0 0 31 2 *"))];
    assert_eq!(created(Dialect::Kubernetes, &never), [""; 0]);
    let ours = created(Dialect::Punctual, &never);
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert!(ours[0].starts_with("spec.schedule: "), "{ours:?}");
}

#[test]
fn an_unchanged_schedule_causes_no_warning() {
    let never = read_cron_job(with(cron_job(), &[("/spec/schedule", json!("0 0 31 2 *"))]));
    let rules = rules(Dialect::Punctual);
    assert_eq!(cron_job_update(&rules, &never, &never, now()).len(), 0);
    assert_eq!(cron_job_update(&rules, &never, &read_cron_job(cron_job()), now()).len(), 1);
}

#[test]
fn a_zone_in_the_schedule_causes_a_warning_on_every_update() {
    let with_zone =
        read_cron_job(with(cron_job(), &[("/spec/schedule", json!("TZ=UTC 0 * * * *"))]));
    assert_eq!(
        cron_job_update(&rules(Dialect::Kubernetes), &with_zone, &with_zone, now()),
        ["cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
          https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"]
    );
}

#[test]
fn an_unchanged_template_causes_no_warning() {
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let changes = [("/spec/jobTemplate/spec/template/spec/containers/0/env", env)];
    let old = read_cron_job(with(cron_job(), &changes));
    let mut new = old.clone();
    let update =
        |new: &CronJob| cron_job_update(&rules(Dialect::Kubernetes), new, &old, now()).len();
    assert_eq!(update(&new), 0);
    new.metadata.generation += 1;
    assert_eq!(update(&new), 1);
}

/// Returns a Job whose Pod template causes many warnings.
fn questionable_job() -> Value {
    let container = json!({
        "name": "c", "image": "x",
        "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A",
            "value": "3"}],
        "ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "a"},
                  {"containerPort": 80, "hostPort": 8}],
        "resources": {"limits": {"memory": "1500m"}},
    });
    let items = json!([{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}]);
    with(
        job(),
        &[
            ("/spec/template/spec/containers/0", container),
            (
                "/spec/template/spec/volumes",
                json!([{"name": "v", "configMap": {"name": "m", "items": items}},
                {"name": "g", "gitRepo": {"repository": "r"}}]),
            ),
            ("/spec/template/spec/terminationGracePeriodSeconds", json!(-1)),
            ("/spec/template/spec/imagePullSecrets", json!([{"name": ""}])),
            (
                "/spec/template/metadata/annotations",
                json!({"scheduler.alpha.kubernetes.io/critical-pod": ""}),
            ),
        ],
    )
}

#[test]
fn pod_templates_cause_the_warnings_of_kubernetes() {
    let pod = "spec.template.spec";
    assert_eq!(
        job_create(&read_job(questionable_job())),
        [
            "spec.template.metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: \
             non-functional in v1.16+; use the \"priorityClassName\" field instead"
                .to_owned(),
            format!(
                "{pod}.volumes[1].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
            ),
            "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"x/y\" with \"x\"".to_owned(),
            format!("{pod}.imagePullSecrets[0].name: invalid empty name \"\""),
            format!(
                "{pod}.containers[0].resources.limits[memory]: fractional byte value \"1500m\" is \
                     invalid, must be an integer"
            ),
            format!(
                "{pod}.containers[0].env[2]: hides previous definition of \"A\", which may be \
                     dropped when using apply"
            ),
            format!(
                "{pod}.containers[0].ports[1]: duplicate port definition with \
                     {pod}.containers[0].ports[0]"
            ),
            format!(
                "{pod}.containers[0].ports[2]: overlapping port definition with \
                     {pod}.containers[0].ports[0]"
            ),
            format!(
                "{pod}.containers[0].ports[2]: overlapping port definition with \
                     {pod}.containers[0].ports[1]"
            ),
            format!(
                "{pod}.containers[0].ports[1]: duplicate port name \"a\" with \
                     {pod}.containers[0].ports[0], services and probes that select ports by name \
                     will use {pod}.containers[0].ports[0]"
            ),
            format!(
                "{pod}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid \
                     and will be treated as 1"
            ),
        ]
    );
}
