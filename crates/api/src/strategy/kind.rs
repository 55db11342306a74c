//! The kinds that can be written, and how they differ.

use serde_json::Value;

use crate::cronjob::Flavor;
use crate::defaults;
use crate::status::GroupKind;

/// A kind with a strategy of its own. Events are those of the core group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A CronJob under one of its names.
    CronJob(Flavor),
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

impl Kind {
    /// The kind of that name.
    pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
        if let Some(flavor) = Flavor::of(api_version, kind) {
            return Some(Kind::CronJob(flavor));
        }
        Some(match kind {
            "Job" => Kind::Job,
            "Pod" => Kind::Pod,
            "Namespace" => Kind::Namespace,
            "ConfigMap" => Kind::ConfigMap,
            "Secret" => Kind::Secret,
            "ServiceAccount" => Kind::ServiceAccount,
            "Event" => Kind::Event,
            "Lease" => Kind::Lease,
            "Node" => Kind::Node,
            _ => return None,
        })
    }

    pub(super) fn group_kind(self) -> GroupKind<'static> {
        let core = |kind| GroupKind { group: "", kind };
        match self {
            Kind::CronJob(flavor) => GroupKind { group: flavor.group(), kind: flavor.kind() },
            Kind::Job => GroupKind { group: "batch", kind: "Job" },
            Kind::Lease => GroupKind { group: "coordination.k8s.io", kind: "Lease" },
            Kind::Pod => core("Pod"),
            Kind::Namespace => core("Namespace"),
            Kind::ConfigMap => core("ConfigMap"),
            Kind::Secret => core("Secret"),
            Kind::ServiceAccount => core("ServiceAccount"),
            Kind::Event => core("Event"),
            Kind::Node => core("Node"),
        }
    }

    /// Fills in what was left out, and brings the rest into canonical form.
    pub fn fill_in(self, object: &mut Value) {
        match self {
            Kind::CronJob(_) => defaults::cron_job(object),
            Kind::Job => defaults::job(object),
            Kind::Pod => defaults::pod(object),
            Kind::Namespace => defaults::namespace(object),
            Kind::Secret => defaults::secret(object),
            _ => defaults::plain(object, self.group_kind().kind),
        }
    }

    /// Whether changes of its spec are numbered.
    pub(super) fn has_generation(self) -> bool {
        matches!(self, Kind::CronJob(_) | Kind::Job | Kind::Pod)
    }

    /// Whether its status is written apart from the rest.
    pub(super) fn has_status(self) -> bool {
        matches!(self, Kind::CronJob(_) | Kind::Job | Kind::Pod | Kind::Namespace | Kind::Node)
    }

    pub(super) fn is_namespaced(self) -> bool {
        !matches!(self, Kind::Namespace | Kind::Node)
    }
}
