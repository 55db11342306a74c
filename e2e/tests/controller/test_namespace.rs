//! A namespace with objects of one kind, for one check.

use anyhow::Context;
use punctual_e2e::{
    Client, Cluster,
    json::{items, text},
    probe,
};
use serde_json::{Value, json};

/// The kinds that the controller reconciles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScheduledKind {
    CronJob,
    ScheduledJob,
}

impl ScheduledKind {
    pub(super) const BOTH: [ScheduledKind; 2] =
        [ScheduledKind::CronJob, ScheduledKind::ScheduledJob];

    pub(super) fn name(self) -> &'static str {
        match self {
            ScheduledKind::CronJob => "CronJob",
            ScheduledKind::ScheduledJob => "ScheduledJob",
        }
    }

    pub(super) fn api_version(self) -> &'static str {
        match self {
            ScheduledKind::CronJob => "batch/v1",
            ScheduledKind::ScheduledJob => "punctual.dev/v1",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            ScheduledKind::CronJob => "cronjobs",
            ScheduledKind::ScheduledJob => "scheduledjobs",
        }
    }
}

/// A namespace with objects of one kind.
pub(super) struct TestNamespace {
    pub(super) kind: ScheduledKind,
    pub(super) name: String,
    pub(super) client: Client,
}

impl TestNamespace {
    /// Creates the namespace.
    pub(super) fn new(
        cluster: &Cluster,
        kind: ScheduledKind,
        name: &str,
    ) -> anyhow::Result<TestNamespace> {
        let mut client = Client::new(cluster)?;
        let namespace = format!("{name}-{}", kind.plural());
        client.create("/api/v1/namespaces", &json!({ "metadata": { "name": namespace } }))?;
        Ok(TestNamespace { kind, name: namespace, client })
    }

    pub(super) fn path(&self, name: &str) -> String {
        let api_version = self.kind.api_version();
        let plural = self.kind.plural();
        format!("/apis/{api_version}/namespaces/{}/{plural}/{name}", self.name)
    }

    pub(super) fn jobs_path(&self) -> String {
        format!("/apis/batch/v1/namespaces/{}/jobs", self.name)
    }

    /// Creates an object whose Pods run a command. The spec may also have `ttl` for the Job and
    /// `annotations` for the object.
    pub(super) fn create(
        &mut self,
        name: &str,
        command: &[&str],
        spec: &Value,
    ) -> anyhow::Result<Value> {
        let mut spec = spec.clone();
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

    /// The Jobs of an object, sorted by name and so by slot.
    pub(super) fn jobs(&mut self, name: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.client.get(&self.jobs_path())?;
        let is_owned = |job: &&Value| {
            text(job, "/metadata/ownerReferences/0/kind") == self.kind.name()
                && text(job, "/metadata/ownerReferences/0/name") == name
        };
        let mut jobs: Vec<Value> =
            items(&list, "/items").iter().filter(is_owned).cloned().collect();
        jobs.sort_by_key(|job| text(job, "/metadata/name").to_owned());
        Ok(jobs)
    }

    /// The messages of an object's events with a reason.
    pub(super) fn events(&mut self, name: &str, reason: &str) -> anyhow::Result<Vec<String>> {
        let list = self.client.get(&format!("/api/v1/namespaces/{}/events", self.name))?;
        let is_wanted = |event: &&Value| {
            text(event, "/involvedObject/kind") == self.kind.name()
                && text(event, "/involvedObject/name") == name
                && text(event, "/reason") == reason
        };
        let events = items(&list, "/items").iter().filter(is_wanted);
        Ok(events.map(|event| text(event, "/message").to_owned()).collect())
    }

    /// Waits until a condition holds.
    pub(super) fn wait_for(
        &mut self,
        condition: &str,
        mut holds: impl FnMut(&mut TestNamespace) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        probe::wait_for(condition, || holds(self))
    }

    /// Waits until an object starts another Job.
    pub(super) fn wait_for_next_run(&mut self, name: &str) -> anyhow::Result<()> {
        let last = |namespace: &mut TestNamespace| -> anyhow::Result<String> {
            Ok(text(&namespace.get(name)?, "/status/lastScheduleTime").to_owned())
        };
        let before = last(self)?;
        self.wait_for(&format!("{name} starts another Job"), |namespace| {
            Ok(last(namespace)? > before)
        })
    }
}
