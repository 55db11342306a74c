"""Scenarios with the official client: python client.py SCENARIO NAMESPACE.

Prints the results of the calls. The test normalizes values that differ between runs.
"""

import datetime
import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException


def cron_job(name, schedule="0 5 29 2 *"):
    container = client.V1Container(name="main", image="busybox:1.37", command=["true"])
    pod = client.V1PodSpec(containers=[container], restart_policy="Never")
    job = client.V1JobSpec(template=client.V1PodTemplateSpec(spec=pod))
    spec = client.V1CronJobSpec(schedule=schedule, job_template=client.V1JobTemplateSpec(spec=job))
    meta = client.V1ObjectMeta(name=name, labels={"app": name})
    return client.V1CronJob(api_version="batch/v1", kind="CronJob", metadata=meta, spec=spec)


def error_status(call, *args, **kwargs):
    """Returns the Status of a call that must fail."""
    try:
        call(*args, **kwargs)
    except ApiException as error:
        return json.loads(error.body)
    return {"code": 200, "reason": "no error", "message": ""}


def print_error(call, *args, **kwargs):
    status = error_status(call, *args, **kwargs)
    print(status["code"], status["reason"], status["message"])


def create(batch, core, namespace):
    created = batch.create_namespaced_cron_job(namespace, cron_job("hello"))
    print(created.metadata.name, created.metadata.generation, created.spec.concurrency_policy)
    print(created.spec.successful_jobs_history_limit, created.spec.failed_jobs_history_limit, created.spec.suspend)
    print(type(created.metadata.creation_timestamp).__name__, created.status.active, created.status.last_schedule_time)
    pod = created.spec.job_template.spec.template.spec
    print(pod.dns_policy, pod.termination_grace_period_seconds, pod.containers[0].image_pull_policy)
    print([(entry.manager, entry.operation) for entry in created.metadata.managed_fields])
    print_error(batch.create_namespaced_cron_job, namespace, cron_job("hello"))
    print_error(batch.create_namespaced_cron_job, namespace, cron_job("wrong", "61 * * * *"))
    print_error(batch.create_namespaced_cron_job, namespace, {"metadata": {"name": "empty"}, "spec": {"schedule": "@daily"}})
    print_error(batch.create_namespaced_cron_job, "nowhere", cron_job("hello"))
    dry = batch.create_namespaced_cron_job(namespace, cron_job("dry"), dry_run="All")
    print(dry.metadata.name, dry.metadata.uid is not None)
    print_error(batch.read_namespaced_cron_job, "dry", namespace)


def read(batch, core, namespace):
    for name in ("a", "b", "c"):
        batch.create_namespaced_cron_job(namespace, cron_job(name))
    found = batch.list_namespaced_cron_job(namespace)
    print([item.metadata.name for item in found.items])
    print([item.metadata.name for item in batch.list_namespaced_cron_job(namespace, label_selector="app!=b").items])
    fields = f"metadata.name=c,metadata.namespace={namespace}"
    print([item.metadata.name for item in batch.list_cron_job_for_all_namespaces(field_selector=fields).items])
    page = batch.list_namespaced_cron_job(namespace, limit=2)
    print([item.metadata.name for item in page.items], page.metadata.remaining_item_count)
    rest = batch.list_namespaced_cron_job(namespace, limit=2, _continue=page.metadata._continue)
    print([item.metadata.name for item in rest.items], rest.metadata._continue)
    print(error_status(batch.list_namespaced_cron_job, namespace, limit=2, _continue="nonsense")["code"])
    print_error(batch.list_namespaced_cron_job, namespace, label_selector="a b")
    print_error(batch.read_namespaced_cron_job, "missing", namespace)
    print(batch.read_namespaced_cron_job_status("a", namespace).metadata.name)


def watch_events(batch, core, namespace):
    since = batch.list_namespaced_cron_job(namespace).metadata.resource_version
    batch.create_namespaced_cron_job(namespace, cron_job("hello"))
    batch.patch_namespaced_cron_job("hello", namespace, {"spec": {"suspend": True}})
    batch.patch_namespaced_cron_job("hello", namespace, {"metadata": {"labels": {"app": "other"}}})
    batch.delete_namespaced_cron_job("hello", namespace)
    print_events(batch, namespace, 4, resource_version=since)
    # An object that no longer matches the selector is deleted for this watch.
    print_events(batch, namespace, 3, resource_version=since, label_selector="app=hello")
    print_events(batch, namespace, 0, resource_version=since, timeout_seconds=1, field_selector="metadata.name=other")


def print_events(batch, namespace, count, **arguments):
    stream = watch.Watch()
    seen = []
    for event in stream.stream(batch.list_namespaced_cron_job, namespace, **{"timeout_seconds": 20, **arguments}):
        seen.append((event["type"], event["object"].metadata.name, event["object"].spec.suspend))
        if len(seen) == count:
            stream.stop()
    print(seen)


def patch(batch, core, namespace):
    batch.create_namespaced_cron_job(namespace, cron_job("hello"))
    side = {"name": "side", "image": "busybox:1.37"}
    template = {"spec": {"template": {"spec": {"containers": [side]}}}}
    # By default, a dictionary is a strategic merge patch and a list is a JSON patch.
    strategic = batch.patch_namespaced_cron_job("hello", namespace, {"spec": {"jobTemplate": template}})
    print("strategic", containers(strategic))
    merge = batch.patch_namespaced_cron_job(
        "hello", namespace, {"spec": {"jobTemplate": template}}, _content_type="application/merge-patch+json"
    )
    print("merge", containers(merge))
    change = [{"op": "replace", "path": "/spec/schedule", "value": "1 5 29 2 *"}, {"op": "add", "path": "/spec/suspend", "value": True}]
    patched = batch.patch_namespaced_cron_job("hello", namespace, change)
    print("json", patched.spec.schedule, patched.spec.suspend)
    print_error(batch.patch_namespaced_cron_job, "hello", namespace, [{"op": "test", "path": "/spec/suspend", "value": False}])
    print_error(batch.patch_namespaced_cron_job, "hello", namespace, {"spec": {"schedule": "never"}})
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "hello"}, "spec": {"schedule": "2 5 29 2 *"}}
    apply = {"field_manager": "python", "_content_type": "application/apply-patch+yaml"}
    print_error(batch.patch_namespaced_cron_job, "hello", namespace, body, **apply)
    forced = batch.patch_namespaced_cron_job("hello", namespace, body, force=True, **apply)
    print("apply", forced.spec.schedule)
    status = batch.patch_namespaced_cron_job_status(
        "hello", namespace, {"status": {"lastScheduleTime": "2024-02-29T05:00:00Z"}, "spec": {"suspend": False}}
    )
    print("status", status.status.last_schedule_time.year, status.spec.suspend)


def containers(item):
    return [container.name for container in item.spec.job_template.spec.template.spec.containers]


def replace(batch, core, namespace):
    old = batch.create_namespaced_cron_job(namespace, cron_job("hello"))
    old.spec.suspend = True
    new = batch.replace_namespaced_cron_job("hello", namespace, old)
    print(new.spec.suspend, new.metadata.generation, new.metadata.uid == old.metadata.uid)
    print_error(batch.replace_namespaced_cron_job, "hello", namespace, old)
    print_error(batch.replace_namespaced_cron_job, "other", namespace, new)
    same = batch.replace_namespaced_cron_job("hello", namespace, new)
    print(same.metadata.resource_version == new.metadata.resource_version)
    status = batch.read_namespaced_cron_job_status("hello", namespace)
    status.status.last_schedule_time = "2024-02-29T05:00:00Z"
    print(batch.replace_namespaced_cron_job_status("hello", namespace, status).status.last_schedule_time)


def delete(batch, core, namespace):
    for name in ("a", "b", "c"):
        batch.create_namespaced_cron_job(namespace, cron_job(name))
    print(batch.delete_namespaced_cron_job("a", namespace, dry_run="All").status)
    deleted = batch.delete_namespaced_cron_job("a", namespace)
    print(deleted.kind, deleted.status, deleted.details.name, deleted.details.group, deleted.details.kind)
    print_error(batch.delete_namespaced_cron_job, "a", namespace)
    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="00000000-0000-0000-0000-000000000000"))
    print_error(batch.delete_namespaced_cron_job, "b", namespace, body=wrong)
    batch.delete_collection_namespaced_cron_job(namespace, label_selector="app=b")
    print([item.metadata.name for item in batch.list_namespaced_cron_job(namespace).items])


def others(batch, core, namespace):
    name = f"{namespace}-second"
    created = core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    print(created.metadata.labels, created.spec.finalizers, created.status.phase)
    settings = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="settings"), data={"colour": "blue"}, immutable=True)
    print(core.create_namespaced_config_map(name, settings).data)
    print_error(core.patch_namespaced_config_map, "settings", name, {"data": {"colour": "red"}})
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="secret"), string_data={"password": "secret"})
    created = core.create_namespaced_secret(name, secret)
    print(created.type, created.data, created.string_data)
    events(core, name)
    print(core.delete_namespace(name).status)


def events(core, namespace):
    about = client.V1ObjectReference(kind="CronJob", name="hello", namespace=namespace, api_version="batch/v1")
    event = client.EventsV1Event(
        metadata=client.V1ObjectMeta(name="hello.1"),
        event_time=datetime.datetime.now(datetime.timezone.utc),
        reporting_controller="example.com/test",
        reporting_instance="test",
        action="Testing",
        reason="Tested",
        type="Normal",
        regarding=about,
        note="seen",
    )
    created = client.EventsV1Api().create_namespaced_event(namespace, event)
    print(created.note, created.regarding.kind, created.event_time == event.event_time)
    found = core.list_namespaced_event(namespace, field_selector="involvedObject.name=hello,reason=Tested")
    print([(item.metadata.name, item.message, item.type, item.action) for item in found.items])


SCENARIOS = {
    "create": create,
    "read": read,
    "watch": watch_events,
    "patch": patch,
    "replace": replace,
    "delete": delete,
    "others": others,
}

if __name__ == "__main__":
    scenario, namespace = sys.argv[1:3]
    config.load_kube_config()
    core_api = client.CoreV1Api()
    core_api.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))
    SCENARIOS[scenario](client.BatchV1Api(), core_api, namespace)
