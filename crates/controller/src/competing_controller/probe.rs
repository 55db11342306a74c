//! Detects whether another CronJob controller is running on the cluster, by giving it something to
//! do.
//!
//! No API lists the controllers that run on a cluster, and recent writes prove little: where all CronJobs
//! are daily, a controller that was switched off a minute ago looks like one that runs. A controller that runs
//! beside us and always comes second writes nothing either. So the probe is a suspended CronJob whose
//! schedule has no slots and whose status lists a Job that does not exist. Kubernetes' controller removes
//! that Job from `status.active` as soon as it sees the CronJob. Nothing ever runs, and our own controller ignores
//! the probe. The probe exists while we run, because a controller that starts later first reconciles
//! all CronJobs.

use std::time::Duration;

use punctual_api::CronJob;
use punctual_api::well_known::annotations::PROBE;
use punctual_client::resources::CRON_JOBS;
use punctual_client::{ApiClient, ApiError, Fence};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::CompetingController;
use crate::context::Context;

const NAME: &str = "punctual-probe";

/// How long a competing controller has to react. It usually takes a few milliseconds.
const REACTION_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How often to check whether a competing controller was started later.
const RECHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Another replica may create or delete the probe at the same time.
const CREATE_ATTEMPTS: usize = 5;

/// The probe could not be created, so it is unknown whether another controller is running.
#[derive(Debug, thiserror::Error)]
#[error("could not create the CronJob {path}: {message}")]
pub struct ProbeError {
    path: String,
    message: String,
}

/// A CronJob that another controller of `batch/v1` CronJobs cannot leave unchanged.
pub struct ControllerProbe {
    api: ApiClient,
    collection: String,
    path: String,
}

impl ControllerProbe {
    /// A probe in a namespace. It works without leadership.
    pub fn new(context: &Context, namespace: &str) -> ControllerProbe {
        ControllerProbe {
            api: context.api_client().with_fence(Fence::always_open()),
            collection: CRON_JOBS.collection_path(namespace),
            path: CRON_JOBS.object_path(namespace, NAME),
        }
    }

    /// Creates the probe and waits for a competing controller to change it.
    pub async fn detect(&self) -> Result<Option<CompetingController>, ProbeError> {
        let mut created = self.create().await;
        for _ in 1..CREATE_ATTEMPTS {
            match &created {
                Err(error) if error.is_stale() => created = self.create().await,
                _ => break,
            }
        }
        if let Err(error) = created {
            let message = error.message().to_owned();
            return Err(ProbeError { path: self.path.clone(), message });
        }
        for _ in 0..REACTION_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis() {
            tokio::time::sleep(POLL_INTERVAL).await;
            if let Some(controller) = self.check().await {
                return Ok(Some(controller));
            }
        }
        Ok(None)
    }

    /// Waits until a competing controller changes the probe.
    pub async fn competing_controller(&self) -> CompetingController {
        loop {
            tokio::time::sleep(RECHECK_INTERVAL).await;
            if let Some(controller) = self.check().await {
                return controller;
            }
        }
    }

    /// Deletes the probe. A probe that remains does no harm; the next process reuses it.
    pub async fn remove(&self) {
        let deleted = self.api.delete::<IgnoredAny>(&self.path, "Background", &Value::Null);
        if let Err(error) = deleted.await
            && !error.is_not_found()
        {
            tracing::debug!(
                path = self.path,
                error = error.message(),
                "could not delete the probe"
            );
        }
    }

    /// Reads the probe, and creates it again if it is missing or incomplete.
    async fn check(&self) -> Option<CompetingController> {
        let is_missing = match self.api.find::<CronJob>(&self.path).await {
            Ok(Some(probe)) => match ProbeState::from_cron_job(&probe) {
                ProbeState::Reconciled => {
                    let cron_job = probe.key().into_owned();
                    return Some(CompetingController::ReconciledProbe { cron_job });
                }
                ProbeState::Untouched => false,
                ProbeState::WithoutStatus => true,
            },
            Ok(None) => true,
            Err(_) => false,
        };
        if is_missing && let Err(error) = self.create().await {
            tracing::debug!(
                path = self.path,
                error = error.message(),
                "could not create the probe"
            );
        }
        None
    }

    async fn create(&self) -> Result<(), ApiError> {
        let created = self.api.create::<Value>(&self.collection, cron_job().to_string()).await;
        let mut probe = match created {
            // Another replica created it, or an earlier process left it behind.
            Err(error) if error.is_conflict() => {
                match ProbeState::from_cron_job(&self.api.get(&self.path).await?) {
                    ProbeState::Untouched => return Ok(()),
                    ProbeState::WithoutStatus => self.api.get(&self.path).await?,
                    ProbeState::Reconciled => {
                        self.remove().await;
                        return Err(error);
                    }
                }
            }
            created => created?,
        };
        if let Some(object) = probe.as_object_mut() {
            object.insert("status".to_owned(), status());
        }
        let path = format!("{}/status", self.path);
        self.api.replace::<IgnoredAny>(&path, probe.to_string()).await.map(drop)
    }
}

/// What happened to a probe.
enum ProbeState {
    /// It was created, and its status is not written yet.
    WithoutStatus,
    /// Its status is as we wrote it.
    Untouched,
    /// Another controller removed the Job from its status.
    Reconciled,
}

impl ProbeState {
    fn from_cron_job(probe: &CronJob) -> ProbeState {
        let status = &probe.status;
        match (status.last_successful_time, status.active.as_slice()) {
            (None, _) => ProbeState::WithoutStatus,
            (Some(_), []) => ProbeState::Reconciled,
            (Some(_), _) => ProbeState::Untouched,
        }
    }
}

/// A status with a Job that does not exist, and a success that remains when the Job is removed from the list.
fn status() -> Value {
    let no_job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": format!("{NAME}-none"),
        "uid": "00000000-0000-4000-8000-000000000000",
    });
    json!({"active": [no_job], "lastSuccessfulTime": "1970-01-01T00:00:00Z"})
}

/// A CronJob that never runs: it is suspended, and February has no 31st.
fn cron_job() -> Value {
    let container = json!({"name": "none", "image": "none"});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    let purpose = "detects whether another CronJob controller is running; never runs";
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
