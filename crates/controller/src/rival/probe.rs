//! Asking whether another controller of CronJobs is at work.
//!
//! Nothing on a cluster says which controllers run, and what they did lately says little: where all CronJobs
//! are daily, a controller that was switched off a minute ago looks like one that is at work. Nor can one
//! wait for what it does beside us: one that is always second writes nothing. So it is given something to
//! do. A CronJob that is suspended, and whose schedule never comes, says of a Job that it runs, which does
//! not exist. Kubernetes' controller takes that off the list as soon as it sees it. Nothing is ever run, and
//! we leave it alone ourselves. It stays for as long as we work: a controller that is switched on later looks
//! at all CronJobs first.

use std::time::Duration;

use punctual_api::CronJob;
use punctual_api::well_known::annotations::PROBE;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::Rival;
use crate::calls::{Calls, Refused};
use crate::fence::Fence;
use crate::tools::Tools;

const NAME: &str = "punctual-probe";

/// How long a controller may take. Mostly it takes a few milliseconds.
const WAIT: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often we look whether a controller has come.
const LOOK_AGAIN_EVERY: Duration = Duration::from_secs(10);

/// Another of us may set it up, or take it away, at the same time.
const TRIES: usize = 5;

/// A CronJob by which another controller of `batch/v1` CronJobs shows.
pub struct Probe {
    calls: Calls,
    collection: String,
    path: String,
}

impl Probe {
    /// A probe in a namespace. Nobody needs to lead to ask.
    pub fn new(tools: &Tools, namespace: &str) -> Probe {
        let collection = format!("/apis/batch/v1/namespaces/{namespace}/cronjobs");
        let calls = tools.calls().behind(Fence::open());
        Probe { calls, path: format!("{collection}/{NAME}"), collection }
    }

    /// Sets it up and waits for what happens to it. An error says why nobody could be asked.
    pub async fn ask(&self) -> Result<Option<Rival>, String> {
        let mut set_up = self.set_up().await;
        for _ in 1..TRIES {
            match &set_up {
                Err(refused) if refused.is_outdated() => set_up = self.set_up().await,
                _ => break,
            }
        }
        set_up.map_err(|refused| refused.message().to_owned())?;
        for _ in 0..WAIT.as_millis() / LOOK_EVERY.as_millis() {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Some(rival) = self.look().await {
                return Ok(Some(rival));
            }
        }
        Ok(None)
    }

    /// Waits until another controller shows.
    pub async fn rival(&self) -> Rival {
        loop {
            tokio::time::sleep(LOOK_AGAIN_EVERY).await;
            if let Some(rival) = self.look().await {
                return rival;
            }
        }
    }

    /// Takes it away. What is left over harms nobody, and is used by whoever asks next.
    pub async fn remove(&self) {
        let deleted = self.calls.delete::<IgnoredAny>(&self.path, "Background", &Value::Null);
        if let Err(refused) = deleted.await
            && !refused.is_not_found()
        {
            tracing::debug!(why = refused.message(), "{NAME} was left over");
        }
    }

    /// Whoever has answered; if there is nothing to answer any more, it is set up again.
    async fn look(&self) -> Option<Rival> {
        let is_missing = match self.calls.find::<CronJob>(&self.path).await {
            Ok(Some(seen)) => match State::of(&seen) {
                State::TakenUp => return Some(Rival::TookUp { cron_job: seen.key().into_owned() }),
                State::Waits => false,
                State::New => true,
            },
            Ok(None) => true,
            Err(_) => false,
        };
        if is_missing && let Err(refused) = self.set_up().await {
            tracing::debug!(why = refused.message(), "{NAME} could not be set up again");
        }
        None
    }

    async fn set_up(&self) -> Result<(), Refused> {
        let made = self.calls.create::<Value>(&self.collection, cron_job().to_string()).await;
        let mut made = match made {
            // Another of us was faster, or it is left over.
            Err(refused) if refused.is_conflict() => {
                match State::of(&self.calls.get(&self.path).await?) {
                    State::Waits => return Ok(()),
                    State::New => self.calls.get(&self.path).await?,
                    State::TakenUp => {
                        self.remove().await;
                        return Err(refused);
                    }
                }
            }
            made => made?,
        };
        if let Some(object) = made.as_object_mut() {
            object.insert("status".to_owned(), status());
        }
        let path = format!("{}/status", self.path);
        self.calls.replace::<IgnoredAny>(&path, made.to_string()).await.map(drop)
    }
}

/// What became of a probe.
enum State {
    /// It was created, and has nothing to take up yet.
    New,
    /// Nobody has taken it up.
    Waits,
    /// Somebody has.
    TakenUp,
}

impl State {
    fn of(probe: &CronJob) -> State {
        let status = &probe.status;
        match (status.last_successful_time, status.active.as_slice()) {
            (None, _) => State::New,
            (Some(_), []) => State::TakenUp,
            (Some(_), _) => State::Waits,
        }
    }
}

/// A Job that does not exist, and a success, which stays when the Job is taken off the list.
fn status() -> Value {
    let no_job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": format!("{NAME}-none"),
        "uid": "00000000-0000-4000-8000-000000000000",
    });
    json!({"active": [no_job], "lastSuccessfulTime": "1970-01-01T00:00:00Z"})
}

/// February has no 31st, and it is suspended besides.
fn cron_job() -> Value {
    let container = json!({"name": "none", "image": "none"});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    let purpose = "shows whether another controller of CronJobs is at work; never runs";
    json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": NAME,
            "labels": {"app.kubernetes.io/managed-by": "punctual"},
            "annotations": {(PROBE): purpose},
        },
        "spec": {
            "schedule": "0 0 31 2 *",
            "suspend": true,
            "jobTemplate": {"spec": {"template": {"spec": pod}}},
        },
    })
}
