//! The kinds that can be written, and how they differ.

use serde_json::Value;

use crate::cronjob::CronJobKind;
use crate::defaults;
use crate::status::GroupKind;

/// A kind with a strategy of its own. Events are those of the core group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A CronJob under one of its names.
    CronJob(CronJobKind),
    /// A Job.
    Job,
    /// A Pod.
    Pod,
    /// A namespace.
    Namespace,
    /// A config map.
    ConfigMap,
    /// A secret.
    Secret,
    /// A service account.
    ServiceAccount,
    /// An event.
    Event,
    /// A lease.
    Lease,
    /// A node.
    Node,
}

impl ResourceKind {
    /// The kind of that name.
    pub fn from_gvk(api_version: &str, kind: &str) -> Option<ResourceKind> {
        if let Some(flavor) = CronJobKind::from_gvk(api_version, kind) {
            return Some(ResourceKind::CronJob(flavor));
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
            _ => return None,
        })
    }

    pub(super) fn group_kind(self) -> GroupKind<'static> {
        let core = |kind| GroupKind { group: "", kind };
        match self {
            ResourceKind::CronJob(flavor) => {
                GroupKind { group: flavor.group(), kind: flavor.kind() }
            }
            ResourceKind::Job => GroupKind { group: "batch", kind: "Job" },
            ResourceKind::Lease => GroupKind { group: "coordination.k8s.io", kind: "Lease" },
            ResourceKind::Pod => core("Pod"),
            ResourceKind::Namespace => core("Namespace"),
            ResourceKind::ConfigMap => core("ConfigMap"),
            ResourceKind::Secret => core("Secret"),
            ResourceKind::ServiceAccount => core("ServiceAccount"),
            ResourceKind::Event => core("Event"),
            ResourceKind::Node => core("Node"),
        }
    }

    /// Fills in what was left out, and brings the rest into canonical form.
    pub fn apply_defaults(self, object: &mut Value) {
        match self {
            ResourceKind::CronJob(_) => defaults::cron_job(object),
            ResourceKind::Job => defaults::job(object),
            ResourceKind::Pod => defaults::pod(object),
            ResourceKind::Namespace => defaults::namespace(object),
            ResourceKind::Secret => defaults::secret(object),
            _ => defaults::plain(object, self.group_kind().kind),
        }
    }

    /// Whether changes of its spec are numbered.
    pub(super) fn has_generation(self) -> bool {
        matches!(self, ResourceKind::CronJob(_) | ResourceKind::Job | ResourceKind::Pod)
    }

    /// Whether its status is written apart from the rest.
    pub(super) fn has_status(self) -> bool {
        matches!(
            self,
            ResourceKind::CronJob(_)
                | ResourceKind::Job
                | ResourceKind::Pod
                | ResourceKind::Namespace
                | ResourceKind::Node
        )
    }

    pub(super) fn is_namespaced(self) -> bool {
        !matches!(self, ResourceKind::Namespace | ResourceKind::Node)
    }
}
