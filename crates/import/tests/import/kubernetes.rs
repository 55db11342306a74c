//! Dumped objects become clean manifests of either kind.

use punctual_api::CronJobKind;
use punctual_import::ImportItem;
use serde_json::{Value, json};

use crate::importer_of;

fn import(kind: CronJobKind, object: Value) -> ImportItem {
    let mut importer = importer_of("UTC", kind);
    importer.import_object("dump.yaml", 0, object);
    importer.finish().remove(0)
}

fn dumped(api_version: &str, kind: &str, annotations: Value, spec: Value) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": "a", "namespace": "shop", "uid": "1", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{}],
            "annotations": annotations, "labels": {"app": "a"},
        },
        "spec": spec,
        "status": {"lastScheduleTime": "2026-01-01T00:00:00Z"},
    })
}

fn template() -> Value {
    json!({
        "metadata": {"creationTimestamp": null},
        "spec": {"template": {"metadata": {"creationTimestamp": null, "labels": {"x": "y"}}, "spec": {}}},
    })
}

#[test]
fn what_the_server_wrote_is_removed() {
    let annotations = json!({
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "punctual.dev/schedule-since": "2026-01-01T00:00:00Z",
        "team": "a",
    });
    let spec = json!({"schedule": "0 0 * * *", "timeZone": "UTC", "jobTemplate": template()});
    let item = import(CronJobKind::BatchV1, dumped("batch/v1", "CronJob", annotations, spec));
    assert_eq!(item.warnings, Vec::<String>::new());
    let wanted = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": "a", "namespace": "shop", "annotations": {"team": "a"}, "labels": {"app": "a"},
        },
        "spec": {
            "schedule": "0 0 * * *", "timeZone": "UTC",
            "jobTemplate": {"spec": {"template": {"metadata": {"labels": {"x": "y"}}, "spec": {}}}},
        },
    });
    assert_eq!(item.objects[0].manifest, wanted);
}

#[test]
fn a_cron_job_becomes_a_scheduled_job_and_back() {
    let annotations =
        json!({"punctual.dev/jitter": "20", "punctual.dev/concurrency-policy": "CatchUp"});
    let spec = json!({
        "schedule": "CRON_TZ=Europe/Berlin 0 0 * * *", "concurrencyPolicy": "Forbid",
        "jobTemplate": {},
    });
    let item =
        import(CronJobKind::ScheduledJob, dumped("batch/v1beta1", "CronJob", annotations, spec));
    let scheduled_job = item.objects[0].manifest.clone();
    assert_eq!(
        scheduled_job["spec"],
        json!({
            "schedule": "0 0 * * *", "timeZone": "Europe/Berlin", "concurrencyPolicy": "CatchUp",
            "jitter": 20, "jobTemplate": {},
        })
    );
    assert_eq!(scheduled_job["apiVersion"], "punctual.dev/v1");
    assert_eq!(scheduled_job["metadata"].get("annotations"), None);
    assert_eq!(item.warnings.len(), 2, "{:?}", item.warnings);

    let back = import(CronJobKind::BatchV1, scheduled_job);
    let cron_job = &back.objects[0].manifest;
    assert_eq!(cron_job["spec"]["concurrencyPolicy"], "Forbid");
    assert_eq!(cron_job["spec"].get("jitter"), None);
    let annotations = &cron_job["metadata"]["annotations"];
    assert_eq!(annotations["punctual.dev/jitter"], "20");
    assert_eq!(annotations["punctual.dev/concurrency-policy"], "CatchUp");
    assert_eq!(back.warnings.len(), 3, "{:?}", back.warnings);
}

#[test]
fn a_missing_zone_is_a_warning() {
    let spec = json!({"schedule": "0 0 * * *", "timeZone": "", "jobTemplate": {}});
    let item = import(CronJobKind::BatchV1, dumped("batch/v1", "CronJob", json!({}), spec));
    assert!(item.warnings[0].starts_with("it has no timeZone"), "{:?}", item.warnings);
    assert_eq!(item.objects[0].manifest["spec"].get("timeZone"), None);
}

#[test]
fn what_controllers_create_is_left_out_with_a_warning() {
    let mut job = dumped("batch/v1", "Job", json!({}), json!({}));
    job["metadata"]["ownerReferences"] =
        json!([{"kind": "CronJob", "name": "x", "controller": true}]);
    let pod = dumped("v1", "Pod", json!({}), json!({}));
    for object in [job, pod, json!({"kind": "CronJob"}), json!([])] {
        let item = import(CronJobKind::BatchV1, object);
        assert!(item.objects.is_empty());
        assert!(item.warnings[0].starts_with("not imported: "), "{:?}", item.warnings);
    }
    let config_map = import(CronJobKind::BatchV1, dumped("v1", "ConfigMap", json!({}), json!({})));
    assert_eq!(config_map.objects[0].manifest["metadata"].get("uid"), None);
}
