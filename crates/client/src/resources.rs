//! The kinds that our programs read and write, and the URL paths of their objects.

use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use punctual_api::CronJobKind;

/// A kind as the API serves it.
#[derive(Debug, PartialEq, Eq)]
pub struct ResourceType {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The plural name, as in paths.
    pub plural: &'static str,
    /// Whether objects are in a namespace.
    pub is_namespaced: bool,
}

const fn namespaced(group: &'static str, kind: &'static str, plural: &'static str) -> ResourceType {
    ResourceType { group, version: "v1", kind, plural, is_namespaced: true }
}

const fn cluster_scoped(kind: &'static str, plural: &'static str) -> ResourceType {
    ResourceType { group: "", version: "v1", kind, plural, is_namespaced: false }
}

/// `v1` ConfigMaps.
pub static CONFIG_MAPS: ResourceType = namespaced("", "ConfigMap", "configmaps");
/// `v1` Events.
pub static EVENTS: ResourceType = namespaced("", "Event", "events");
/// `v1` Namespaces.
pub static NAMESPACES: ResourceType = cluster_scoped("Namespace", "namespaces");
/// `v1` Nodes.
pub static NODES: ResourceType = cluster_scoped("Node", "nodes");
/// `v1` Pods.
pub static PODS: ResourceType = namespaced("", "Pod", "pods");
/// `v1` ResourceQuotas.
pub static RESOURCE_QUOTAS: ResourceType = namespaced("", "ResourceQuota", "resourcequotas");
/// `v1` Secrets.
pub static SECRETS: ResourceType = namespaced("", "Secret", "secrets");
/// `v1` ServiceAccounts.
pub static SERVICE_ACCOUNTS: ResourceType = namespaced("", "ServiceAccount", "serviceaccounts");
/// `batch/v1` CronJobs.
pub static CRON_JOBS: ResourceType = namespaced("batch", "CronJob", "cronjobs");
/// `batch/v1beta1` CronJobs.
pub static CRON_JOBS_V1BETA1: ResourceType =
    ResourceType { version: "v1beta1", ..namespaced("batch", "CronJob", "cronjobs") };
/// `batch/v1` Jobs.
pub static JOBS: ResourceType = namespaced("batch", "Job", "jobs");
/// `coordination.k8s.io/v1` Leases.
pub static LEASES: ResourceType = namespaced("coordination.k8s.io", "Lease", "leases");
/// `punctual.dev/v1` ScheduledJobs.
pub static SCHEDULED_JOBS: ResourceType =
    namespaced("punctual.dev", "ScheduledJob", "scheduledjobs");

/// `punctual.dev/v1` RunRequests.
pub static RUN_REQUESTS: ResourceType = namespaced("punctual.dev", "RunRequest", "runrequests");
/// `punctual.dev/v1` slot records.
pub static SLOT_RECORDS: ResourceType = namespaced("punctual.dev", "SlotRecord", "slotrecords");

/// The resource type of a kind of CronJob.
pub fn cron_jobs_of(kind: CronJobKind) -> &'static ResourceType {
    match kind {
        CronJobKind::BatchV1 => &CRON_JOBS,
        CronJobKind::BatchV1Beta1 => &CRON_JOBS_V1BETA1,
        CronJobKind::ScheduledJob => &SCHEDULED_JOBS,
    }
}

impl ResourceType {
    /// Group and version, as in an object's `apiVersion`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The descriptor that kube's `Api` takes.
    pub fn api_resource(&self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(self.group, self.version, self.kind);
        ApiResource::from_gvk_with_plural(&gvk, self.plural)
    }

    /// The path of all objects in a namespace. An empty namespace gives the path of all objects.
    pub fn collection_path(&self, namespace: &str) -> String {
        let api_version = self.api_version();
        let plural = self.plural;
        let root = if self.group.is_empty() { "api" } else { "apis" };
        if namespace.is_empty() {
            format!("/{root}/{api_version}/{plural}")
        } else {
            format!("/{root}/{api_version}/namespaces/{namespace}/{plural}")
        }
    }

    /// The path of an object.
    pub fn object_path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection_path(namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_the_layout_of_the_api() {
        assert_eq!(PODS.object_path("n", "p"), "/api/v1/namespaces/n/pods/p");
        assert_eq!(JOBS.collection_path("n"), "/apis/batch/v1/namespaces/n/jobs");
        assert_eq!(JOBS.collection_path(""), "/apis/batch/v1/jobs");
        assert_eq!(NODES.object_path("", "a"), "/api/v1/nodes/a");
    }

    #[test]
    fn every_kind_of_cron_job_has_the_names_that_the_api_crate_gives_it() {
        for kind in [CronJobKind::BatchV1, CronJobKind::BatchV1Beta1, CronJobKind::ScheduledJob] {
            let resource = cron_jobs_of(kind);
            let names = (resource.api_version(), resource.kind, resource.plural);
            assert_eq!(names, (kind.api_version().to_owned(), kind.kind(), kind.plural()));
        }
    }
}
