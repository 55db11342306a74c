//! Those who ask for things, and take no for an answer but not silence.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use crate::history::Happened;
use crate::scenario::{Asked, Millis, Wish};
use crate::site::Site;
use crate::stage::Stage;

const RETRY_EVERY: Millis = 1000;

/// The users.
pub(crate) struct Users {
    pub(crate) stage: Arc<Stage>,
    pub(crate) site: Arc<Site>,
}

impl Users {
    /// Does all deeds of the scenario, one after the other.
    pub(crate) async fn run(self: Arc<Users>) {
        let scenario = self.stage.scenario.clone();
        for (place, deed) in scenario.deeds.iter().enumerate() {
            self.stage.until(deed.at).await;
            let code = self.ask(&deed.what).await;
            self.stage.record(Happened::Told { deed: place, code });
        }
    }

    async fn ask(&self, what: &Asked) -> u16 {
        match what {
            Asked::Create(which, wish) => {
                let object = wish.object(*which);
                self.insist(Method::POST, &collection(wish.is_scheduled_job), &object).await.0
            }
            Asked::Replace(which, wish) => self.replace(*which, wish).await,
            Asked::Suspend(which, is_suspended) => self.suspend(*which, *is_suspended).await,
            Asked::Touch(which) => self.touch(*which).await,
            Asked::Delete(which) => {
                let options = json!({"propagationPolicy": "Background"});
                self.either(Method::DELETE, *which, &options).await
            }
            Asked::DeleteJob(which) => self.delete_job(*which).await,
            Asked::TakeName(which, slot) => {
                let name = format!("c{which}-{}", slot.as_second() / 60);
                let job = json!({"metadata": {"name": name}, "spec": job_spec(1000, 0)});
                self.insist(Method::POST, JOBS, &job).await.0
            }
        }
    }

    /// The spec of what is there gives way, if it is of this kind.
    async fn replace(&self, which: usize, wish: &Wish) -> u16 {
        let path = format!("{}/c{which}", collection(wish.is_scheduled_job));
        let (code, mut object) = self.insist(Method::GET, &path, &Value::Null).await;
        if code != 200 {
            return code;
        }
        if let (Some(object), Some(wanted)) =
            (object.as_object_mut(), wish.object(which).get_mut("spec"))
        {
            object.insert("spec".to_owned(), wanted.take());
        }
        // Last one wins.
        if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("resourceVersion");
        }
        self.insist(Method::PUT, &path, &object).await.0
    }

    pub(crate) async fn suspend(&self, which: usize, is_suspended: bool) -> u16 {
        let patch = json!({"spec": {"suspend": is_suspended}});
        self.either(Method::PATCH, which, &patch).await
    }

    async fn touch(&self, which: usize) -> u16 {
        let patch = json!({"metadata": {"annotations": {"touched": self.stage.now().to_string()}}});
        self.either(Method::PATCH, which, &patch).await
    }

    /// Of either kind, whichever there is.
    async fn either(&self, method: Method, which: usize, body: &Value) -> u16 {
        let mut code = 404;
        for is_scheduled_job in [false, true] {
            let path = format!("{}/c{which}", collection(is_scheduled_job));
            match self.insist(method.clone(), &path, body).await.0 {
                404 => {}
                other => code = other,
            }
        }
        code
    }

    async fn delete_job(&self, which: usize) -> u16 {
        let (_, jobs) = self.insist(Method::GET, JOBS, &Value::Null).await;
        let jobs = jobs.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let name = |job: &Value| job.pointer("/metadata/name")?.as_str().map(str::to_owned);
        let prefix = format!("c{which}-");
        let names = jobs.iter().filter_map(name).filter(|name| name.starts_with(&prefix));
        let Some(newest) = names.max() else { return 404 };
        let options = json!({"propagationPolicy": "Background"});
        self.insist(Method::DELETE, &format!("{JOBS}/{newest}"), &options).await.0
    }

    async fn insist(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.site.insist(RETRY_EVERY, &method, path, body).await
    }
}

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn collection(is_scheduled_job: bool) -> String {
    match is_scheduled_job {
        false => "/apis/batch/v1/namespaces/default/cronjobs".to_owned(),
        true => "/apis/punctual.dev/v1/namespaces/default/scheduledjobs".to_owned(),
    }
}

impl Wish {
    fn object(&self, which: usize) -> Value {
        let mut job = job_spec(self.work, self.failures_of_ten);
        if let (Some(ttl), Some(job)) = (self.ttl, job.as_object_mut()) {
            job.insert("ttlSecondsAfterFinished".to_owned(), json!(ttl));
        }
        let mut spec = json!({
            "schedule": self.schedule,
            "concurrencyPolicy": format!("{:?}", self.policy),
            "suspend": self.is_suspended,
            "successfulJobsHistoryLimit": self.history.0,
            "failedJobsHistoryLimit": self.history.1,
            "jobTemplate": {"spec": job},
        });
        let more = [
            ("timeZone", self.zone.map(|zone| json!(zone))),
            ("startingDeadlineSeconds", self.deadline.map(|deadline| json!(deadline))),
            ("jitter", (self.jitter > 0).then(|| json!(self.jitter))),
        ];
        if let Some(spec) = spec.as_object_mut() {
            let more = more.into_iter().filter_map(|(field, value)| Some((field, value?)));
            spec.extend(more.map(|(field, value)| (field.to_owned(), value)));
        }
        json!({"metadata": {"name": format!("c{which}")}, "spec": spec})
    }
}

/// A Job whose Pod takes so long, and fails so many times in ten.
fn job_spec(work: Millis, failures_of_ten: u8) -> Value {
    let command = ["run".to_owned(), work.to_string(), failures_of_ten.to_string()];
    json!({"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "none", "command": command}]}}})
}
