//! The Jobs of the cluster, by the UID of their controller.

use std::collections::{HashMap, HashSet};

use punctual_api::Job;
use punctual_client::CachedFields;
use punctual_engine::cronjob::JobView;

/// The fields of a Job that the cache keeps.
#[derive(Clone)]
pub(super) struct FleetJob {
    pub(super) namespace: String,
    pub(super) view: JobView,
}

impl CachedFields for FleetJob {
    fn from_json(text: &str) -> Result<FleetJob, serde_json::Error> {
        let job: Job = serde_json::from_str(text)?;
        Ok(FleetJob { view: JobView::from_job(&job), namespace: job.metadata.namespace })
    }
}

/// The Jobs of the cluster.
#[derive(Default)]
pub(super) struct CachedJobs {
    by_uid: HashMap<String, FleetJob>,
    by_controller: HashMap<String, HashSet<String>>,
    /// The number of the last change of each Job, by namespace and name.
    revisions: HashMap<(String, String), u64>,
}

impl CachedJobs {
    pub(super) fn insert(&mut self, job: FleetJob, revision: u64) {
        let uid = job.view.uid.clone();
        self.remove(&uid);
        let controlled = self.by_controller.entry(job.view.controller_uid.clone()).or_default();
        controlled.insert(uid.clone());
        self.revisions.insert((job.namespace.clone(), job.view.name.clone()), revision);
        self.by_uid.insert(uid, job);
    }

    pub(super) fn remove(&mut self, uid: &str) -> Option<FleetJob> {
        let job = self.by_uid.remove(uid)?;
        if let Some(controlled) = self.by_controller.get_mut(&job.view.controller_uid) {
            controlled.remove(uid);
            if controlled.is_empty() {
                self.by_controller.remove(&job.view.controller_uid);
            }
        }
        self.revisions.remove(&(job.namespace.clone(), job.view.name.clone()));
        Some(job)
    }

    pub(super) fn of_controller(&self, uid: &str) -> Vec<JobView> {
        let uids = self.by_controller.get(uid).into_iter().flatten();
        uids.filter_map(|uid| self.by_uid.get(uid)).map(|job| job.view.clone()).collect()
    }

    pub(super) fn revision_of(&self, namespace: &str, name: &str) -> Option<u64> {
        self.revisions.get(&(namespace.to_owned(), name.to_owned())).copied()
    }

    pub(super) fn missing_from(&self, uids: &HashSet<String>) -> Vec<String> {
        self.by_uid.keys().filter(|uid| !uids.contains(*uid)).cloned().collect()
    }
}
