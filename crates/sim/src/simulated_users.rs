//! Users: they carry out the actions of the scenario, and repeat requests while the server is down.

use std::sync::Arc;

use http::Method;
use jiff::{SignedDuration, Timestamp};
use punctual_testing::history::HistoryEvent;
use punctual_testing::manifest::command_job_spec;
use punctual_testing::scenario::{ActionKind, Millis, ScenarioCronJob, ScenarioRequest};
use serde_json::{Value, json};

use crate::environment::SimulationEnv;
use crate::simulated_server::SimulatedServer;

const RETRY_EVERY: Millis = 1000;
/// The slot records, in small pages.
const SLOT_RECORDS: &str = "/apis/punctual.dev/v1/slotrecords?limit=50";
const RUN_REQUESTS: &str = "/apis/punctual.dev/v1/namespaces/default/runrequests";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// The users.
pub(crate) struct SimulatedUsers {
    pub(crate) env: Arc<SimulationEnv>,
    pub(crate) server: Arc<SimulatedServer>,
}

impl SimulatedUsers {
    /// Carries out all actions of the scenario, one after the other.
    pub(crate) async fn run(self: Arc<SimulatedUsers>) {
        let scenario = self.env.scenario.clone();
        for (index, action) in scenario.actions.iter().enumerate() {
            self.env.sleep_until(action.at).await;
            let code = self.execute(&action.kind).await;
            self.env.record(HistoryEvent::Response { action: index, code });
        }
    }

    async fn execute(&self, action: &ActionKind) -> u16 {
        match action {
            ActionKind::Create(number, spec) => {
                let path = collection(spec.is_scheduled_job);
                self.send(Method::POST, &path, &spec.manifest(&format!("c{number}"))).await.0
            }
            ActionKind::Replace(number, spec) => self.replace(*number, spec).await,
            ActionKind::Suspend(number, is_suspended) => self.suspend(*number, *is_suspended).await,
            ActionKind::SuspendUntil(number, until) => self.suspend_until(*number, *until).await,
            ActionKind::Touch(number) => self.touch(*number).await,
            ActionKind::Delete(number) => {
                let options = json!({"propagationPolicy": "Background"});
                self.send_for_both_kinds(Method::DELETE, *number, &options).await
            }
            ActionKind::DeleteJob(number) => self.delete_newest_job(*number).await,
            ActionKind::RequestRuns(number, request) => self.request_runs(*number, request).await,
            ActionKind::DeleteRequests(number) => self.delete_requests(*number).await,
            ActionKind::CreateForeignJob(number, slot) => {
                let name = format!("c{number}-{}", slot.as_second() / 60);
                let job = json!({"metadata": {"name": name}, "spec": command_job_spec("none", &["run", "1000", "0"])});
                self.send(Method::POST, JOBS, &job).await.0
            }
        }
    }

    /// Replaces the spec of an existing CronJob of this kind.
    async fn replace(&self, number: usize, spec: &ScenarioCronJob) -> u16 {
        let path = format!("{}/c{number}", collection(spec.is_scheduled_job));
        let (code, mut object) = self.send(Method::GET, &path, &Value::Null).await;
        if code != 200 {
            return code;
        }
        if let (Some(object), Some(spec)) =
            (object.as_object_mut(), spec.manifest(&format!("c{number}")).get_mut("spec"))
        {
            object.insert("spec".to_owned(), spec.take());
        }
        // Without a version the write succeeds whatever the controller wrote meanwhile.
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
        self.send(Method::PUT, &path, &object).await.0
    }

    /// Suspends a CronJob without an end, or resumes it and leaves the annotations to the controller.
    pub(crate) async fn suspend(&self, number: usize, is_suspended: bool) -> u16 {
        let annotations =
            if is_suspended { json!({"punctual.dev/suspended-until": null}) } else { json!({}) };
        let patch = json!({
            "metadata": {"annotations": annotations}, "spec": {"suspend": is_suspended},
        });
        self.send_for_both_kinds(Method::PATCH, number, &patch).await
    }

    async fn suspend_until(&self, number: usize, until: Timestamp) -> u16 {
        let annotations = json!({"punctual.dev/suspended-until": until.to_string()});
        let patch = json!({"metadata": {"annotations": annotations}, "spec": {"suspend": true}});
        self.send_for_both_kinds(Method::PATCH, number, &patch).await
    }

    async fn touch(&self, number: usize) -> u16 {
        let patch = json!({"metadata": {"annotations": {"touched": self.env.now().to_string()}}});
        self.send_for_both_kinds(Method::PATCH, number, &patch).await
    }

    /// Sends a request for the CronJob and for the ScheduledJob of a number, of which one exists.
    async fn send_for_both_kinds(&self, method: Method, number: usize, body: &Value) -> u16 {
        let mut code = 404;
        for is_scheduled_job in [false, true] {
            let path = format!("{}/c{number}", collection(is_scheduled_job));
            match self.send(method.clone(), &path, body).await.0 {
                404 => {}
                other => code = other,
            }
        }
        code
    }

    async fn delete_newest_job(&self, number: usize) -> u16 {
        let (_, jobs) = self.send(Method::GET, JOBS, &Value::Null).await;
        let jobs = jobs.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let name = |job: &Value| job.pointer("/metadata/name")?.as_str().map(str::to_owned);
        let prefix = format!("c{number}-");
        let names = jobs.iter().filter_map(name).filter(|name| name.starts_with(&prefix));
        let Some(newest) = names.max() else { return 404 };
        let options = json!({"propagationPolicy": "Background"});
        self.send(Method::DELETE, &format!("{JOBS}/{newest}"), &options).await.0
    }

    /// Creates a RunRequest for the kind of CronJob that exists.
    async fn request_runs(&self, number: usize, request: &ScenarioRequest) -> u16 {
        let name = format!("c{number}");
        let mut code = 404;
        for (kind, is_scheduled_job) in [("CronJob", false), ("ScheduledJob", true)] {
            let path = format!("{}/{name}", collection(is_scheduled_job));
            if self.send(Method::GET, &path, &Value::Null).await.0 != 200 {
                continue;
            }
            let spec = request_spec(kind, &name, request, self.env.scenario.at(self.env.now()));
            let object = json!({
                "apiVersion": "punctual.dev/v1", "kind": "RunRequest",
                "metadata": {"generateName": format!("{name}-")}, "spec": spec,
            });
            code = self.send(Method::POST, RUN_REQUESTS, &object).await.0;
        }
        code
    }

    async fn delete_requests(&self, number: usize) -> u16 {
        let (_, list) = self.send(Method::GET, RUN_REQUESTS, &Value::Null).await;
        let requests = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let name = |request: &Value| request.pointer("/metadata/name")?.as_str().map(str::to_owned);
        let prefix = format!("c{number}-");
        let mut code = 404;
        for name in requests.iter().filter_map(name).filter(|name| name.starts_with(&prefix)) {
            let path = format!("{RUN_REQUESTS}/{name}");
            code = self.send(Method::DELETE, &path, &json!({})).await.0;
        }
        code
    }

    /// Lists all slot records page by page.
    pub(crate) async fn list_slot_records(&self) -> Vec<Value> {
        let mut records = Vec::new();
        let mut path = SLOT_RECORDS.to_owned();
        loop {
            let (_, mut page) = self.send(Method::GET, &path, &Value::Null).await;
            if let Some(items) = page.get_mut("items").and_then(Value::as_array_mut) {
                records.append(items);
            }
            let next = page.pointer("/metadata/continue").and_then(Value::as_str);
            let Some(next) = next.filter(|next| !next.is_empty()) else { return records };
            path = format!("{SLOT_RECORDS}&continue={next}");
        }
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.server.send_until_answered(RETRY_EVERY, &method, path, body).await
    }
}

fn request_spec(kind: &str, name: &str, request: &ScenarioRequest, now: Timestamp) -> Value {
    let mut spec = json!({
        "target": {"kind": kind, "name": name}, "parallelism": request.parallelism,
    });
    let mut set = |field: &str, value: Value| {
        if let Some(object) = spec.as_object_mut() {
            object.insert(field.to_owned(), value);
        }
    };
    match request.slots_of_last {
        Some(length) => {
            let from = now.saturating_sub(SignedDuration::from_millis(length)).unwrap_or(now);
            set("from", json!(whole_second(from)));
            set("to", json!(whole_second(now)));
        }
        None => set("now", json!(true)),
    }
    if !request.runs.is_empty() && request.slots_of_last.is_some() {
        set("runs", json!(request.runs));
    }
    if request.is_always_allowed {
        set("concurrencyPolicy", json!("Allow"));
    }
    spec
}

fn whole_second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

fn collection(is_scheduled_job: bool) -> String {
    if is_scheduled_job {
        "/apis/punctual.dev/v1/namespaces/default/scheduledjobs".to_owned()
    } else {
        "/apis/batch/v1/namespaces/default/cronjobs".to_owned()
    }
}
