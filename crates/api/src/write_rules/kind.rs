//! The kinds that the server stores, and what differs between their writes: defaults, generation,
//! status subresource, namespace.

use serde_json::Value;

use crate::cronjob::CronJobKind;
use crate::defaults;
use crate::status::GroupKind;

/// A kind that the server stores. Events are those of the core group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A CronJob of one of its kinds.
    CronJob(CronJobKind),
    /// A Job.
    Job,
    /// A Pod.
    Pod,
    /// A Namespace.
    Namespace,
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
    /// A ServiceAccount.
    ServiceAccount,
    /// An Event.
    Event,
    /// A Lease.
    Lease,
    /// A Node.
    Node,
    /// A ResourceQuota.
    ResourceQuota,
    /// A RunRequest.
    RunRequest,
}

impl ResourceKind {
    /// Finds the kind by `apiVersion` and `kind`.
    pub fn from_gvk(api_version: &str, kind: &str) -> Option<ResourceKind> {
        if let Some(cron_job_kind) = CronJobKind::from_gvk(api_version, kind) {
            return Some(ResourceKind::CronJob(cron_job_kind));
        }
        Some(match kind {
            "Job" => ResourceKind::Job,
            "Pod" => ResourceKind::Pod,
            "Namespace" => ResourceKind::Namespace,
            "ConfigMap" => ResourceKind::ConfigMap,
            "Secret" => ResourceKind::Secret,
            "ServiceAccount" => ResourceKind::ServiceAccount,
            "Event" => ResourceKind::Event,
            "Lease" => ResourceKind::Lease,
            "Node" => ResourceKind::Node,
            "ResourceQuota" => ResourceKind::ResourceQuota,
            "RunRequest" => ResourceKind::RunRequest,
            _ => return None,
        })
    }

    pub(super) fn group_kind(self) -> GroupKind<'static> {
        let core = |kind| GroupKind { group: "", kind };
        match self {
            ResourceKind::CronJob(kind) => GroupKind { group: kind.group(), kind: kind.kind() },
            ResourceKind::Job => GroupKind { group: "batch", kind: "Job" },
            ResourceKind::Lease => GroupKind { group: "coordination.k8s.io", kind: "Lease" },
            ResourceKind::Pod => core("Pod"),
            ResourceKind::Namespace => core("Namespace"),
            ResourceKind::ConfigMap => core("ConfigMap"),
            ResourceKind::Secret => core("Secret"),
            ResourceKind::ServiceAccount => core("ServiceAccount"),
            ResourceKind::Event => core("Event"),
            ResourceKind::Node => core("Node"),
            ResourceKind::ResourceQuota => core("ResourceQuota"),
            ResourceKind::RunRequest => GroupKind { group: "punctual.dev", kind: "RunRequest" },
        }
    }

    /// Sets default values and brings the object into canonical form.
    pub fn apply_defaults(self, object: &mut Value) {
        match self {
            ResourceKind::CronJob(_) => defaults::cron_job(object),
            ResourceKind::Job => defaults::job(object),
            ResourceKind::Pod => defaults::pod(object),
            ResourceKind::Namespace => defaults::namespace(object),
            ResourceKind::Secret => defaults::secret(object),
            ResourceKind::RunRequest => defaults::run_request(object),
            _ => defaults::plain(object, self.group_kind().kind),
        }
    }

    /// Whether the server counts spec changes in `metadata.generation`.
    pub(super) fn has_generation(self) -> bool {
        matches!(
            self,
            ResourceKind::CronJob(_)
                | ResourceKind::Job
                | ResourceKind::Pod
                | ResourceKind::RunRequest
        )
    }

    /// Whether the kind has a status subresource.
    pub(super) fn has_status(self) -> bool {
        matches!(
            self,
            ResourceKind::CronJob(_)
                | ResourceKind::Job
                | ResourceKind::Pod
                | ResourceKind::Namespace
                | ResourceKind::Node
                | ResourceKind::ResourceQuota
                | ResourceKind::RunRequest
        )
    }

    pub(super) fn is_namespaced(self) -> bool {
        !matches!(self, ResourceKind::Namespace | ResourceKind::Node)
    }
}
