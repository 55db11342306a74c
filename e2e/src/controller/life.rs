//! Objects of one kind in a namespace, for one check.

use anyhow::Context;
use serde_json::{Value, json};

use crate::{Client, Cluster, probe};

/// The kinds that the controller looks after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    CronJob,
    ScheduledJob,
}

impl Kind {
    pub(super) const BOTH: [Kind; 2] = [Kind::CronJob, Kind::ScheduledJob];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::CronJob => "CronJob",
            Kind::ScheduledJob => "ScheduledJob",
        }
    }

    pub(super) fn api_version(self) -> &'static str {
        match self {
            Kind::CronJob => "batch/v1",
            Kind::ScheduledJob => "punctual.dev/v1",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::CronJob => "cronjobs",
            Kind::ScheduledJob => "scheduledjobs",
        }
    }
}

/// A namespace with objects of one kind.
pub(super) struct Life {
    pub(super) kind: Kind,
    pub(super) namespace: String,
    pub(super) client: Client,
}

impl Life {
    /// Makes a namespace of its own.
    pub(super) fn new(cluster: &Cluster, kind: Kind, name: &str) -> anyhow::Result<Life> {
        let mut client = Client::new(cluster)?;
        let namespace = format!("{name}-{}", kind.plural());
        client.create("/api/v1/namespaces", &json!({ "metadata": { "name": namespace } }))?;
        Ok(Life { kind, namespace, client })
    }

    pub(super) fn path(&self, name: &str) -> String {
        let Life { kind, namespace, .. } = self;
        let (api, plural) = (kind.api_version(), kind.plural());
        format!("/apis/{api}/namespaces/{namespace}/{plural}/{name}")
    }

    pub(super) fn jobs_path(&self) -> String {
        format!("/apis/batch/v1/namespaces/{}/jobs", self.namespace)
    }

    /// Creates one whose Pods do this.
    pub(super) fn create(
        &mut self,
        name: &str,
        command: &[&str],
        more: &Value,
    ) -> anyhow::Result<Value> {
        let mut spec = more.clone();
        let container = json!({ "name": "main", "image": "none", "command": command });
        let pod = json!({ "restartPolicy": "Never", "containers": [container] });
        let mut job = json!({ "backoffLimit": 0, "template": { "spec": pod } });
        let map = spec.as_object_mut().context("a spec is an object")?;
        if let (Some(ttl), Some(job)) = (map.remove("ttl"), job.as_object_mut()) {
            job.insert("ttlSecondsAfterFinished".to_owned(), ttl);
        }
        let annotations = map.remove("annotations").unwrap_or_else(|| json!({}));
        map.insert("jobTemplate".to_owned(), json!({ "spec": job }));
        let path = self.path("");
        let object = json!({
            "apiVersion": self.kind.api_version(),
            "kind": self.kind.name(),
            "metadata": { "name": name, "annotations": annotations },
            "spec": spec,
        });
        self.client.create(path.trim_end_matches('/'), &object)
    }

    pub(super) fn get(&mut self, name: &str) -> anyhow::Result<Value> {
        let path = self.path(name);
        self.client.get(&path)
    }

    pub(super) fn patch(&mut self, name: &str, patch: &Value) -> anyhow::Result<Value> {
        let path = self.path(name);
        self.client.patch(&path, patch)
    }

    pub(super) fn delete(&mut self, name: &str) -> anyhow::Result<Value> {
        let path = self.path(name);
        self.client.delete(&path)
    }

    /// The Jobs that belong to one, by name, which is by slot.
    pub(super) fn jobs(&mut self, name: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.client.get(&self.jobs_path())?;
        let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let owner = (self.kind.name(), name);
        let mut jobs: Vec<Value> =
            items.into_iter().filter(|job| owner_of(job) == Some(owner)).collect();
        jobs.sort_by_key(|job| text(job, "/metadata/name").to_owned());
        Ok(jobs)
    }

    /// What events with a reason say about one.
    pub(super) fn events(&mut self, name: &str, reason: &str) -> anyhow::Result<Vec<String>> {
        let list = self.client.get(&format!("/api/v1/namespaces/{}/events", self.namespace))?;
        let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_it = |event: &&Value| {
            text(event, "/involvedObject/kind") == self.kind.name()
                && text(event, "/involvedObject/name") == name
                && text(event, "/reason") == reason
        };
        Ok(items.iter().filter(is_it).map(|event| text(event, "/message").to_owned()).collect())
    }

    /// Waits until something is so.
    pub(super) fn until(
        &mut self,
        what: &str,
        mut is_so: impl FnMut(&mut Life) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        probe::until(what, || Ok(is_so(self)?.then_some(())))
    }

    /// Waits until one has a run that was started after now.
    pub(super) fn until_next_run(&mut self, name: &str) -> anyhow::Result<()> {
        let last = |life: &mut Life| -> anyhow::Result<String> {
            Ok(text(&life.get(name)?, "/status/lastScheduleTime").to_owned())
        };
        let before = last(self)?;
        self.until(&format!("{name} is run again"), |life| Ok(last(life)? > before))
    }
}

fn owner_of(job: &Value) -> Option<(&str, &str)> {
    let owner = job.pointer("/metadata/ownerReferences/0")?;
    Some((owner.get("kind")?.as_str()?, owner.get("name")?.as_str()?))
}

/// The text at a place in an object; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a place in an object; 0 if there is none.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// How many things are in a list of an object.
pub(super) fn count(object: &Value, pointer: &str) -> usize {
    object.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len)
}

/// Whether a Job has a condition.
pub(super) fn is(job: &Value, condition: &str) -> bool {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|found| text(found, "/type") == condition && text(found, "/status") == "True")
}
