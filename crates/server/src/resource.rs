//! What is served: every resource under every name, in one table.
//!
//! A [`Resource`] is what is stored; a [`Served`] is one group and version under which it is seen.
//! CronJobs and Events are served under two versions and stored once.

use punctual_api::decode::ExpectedKind;
use punctual_api::status::{GroupKind, GroupResource};

/// One stored collection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Plural name, also the last part of its path.
    pub(crate) plural: &'static str,
    /// Singular name, for people.
    pub(crate) singular: &'static str,
    /// Kind of its objects.
    pub(crate) kind: &'static str,
    /// Short names, for people.
    pub(crate) short_names: &'static [&'static str],
    /// Groups of resources that people ask for together.
    pub(crate) categories: &'static [&'static str],
    /// Whether its objects live in namespaces.
    pub(crate) is_namespaced: bool,
    /// What can be asked below an object.
    pub(crate) subresources: &'static [Subresource],
    /// Under which names it is served; the first is the one it is stored in.
    pub(crate) served: &'static [Served],
}

/// A group and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// Group; empty for the core group.
    pub(crate) group: &'static str,
    /// Version.
    pub(crate) version: &'static str,
    /// Both, as objects say it.
    pub(crate) api_version: &'static str,
}

/// What can be asked below an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subresource {
    /// What was seen of it.
    Status,
    /// What its processes wrote.
    Log,
    /// The end of a namespace.
    Finalize,
}

impl Subresource {
    /// As it is written in a path.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Subresource::Status => "status",
            Subresource::Log => "log",
            Subresource::Finalize => "finalize",
        }
    }

    /// What can be done with it, as discovery lists it.
    pub(crate) fn verbs(self) -> &'static [&'static str] {
        match self {
            Subresource::Status => &["get", "patch", "update"],
            Subresource::Log => &["get"],
            Subresource::Finalize => &["update"],
        }
    }
}

/// What can be done with every resource.
pub(crate) const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

const CORE: Served = Served { group: "", version: "v1", api_version: "v1" };
const BATCH: Served = Served { group: "batch", version: "v1", api_version: "batch/v1" };
const BATCH_BETA: Served =
    Served { group: "batch", version: "v1beta1", api_version: "batch/v1beta1" };
const EVENTS: Served =
    Served { group: "events.k8s.io", version: "v1", api_version: "events.k8s.io/v1" };
const COORDINATION: Served =
    Served { group: "coordination.k8s.io", version: "v1", api_version: "coordination.k8s.io/v1" };
const OURS: Served =
    Served { group: "punctual.dev", version: "v1", api_version: "punctual.dev/v1" };

/// A resource of the core group without anything special.
const PLAIN: Resource = Resource {
    plural: "",
    singular: "",
    kind: "",
    short_names: &[],
    categories: &[],
    is_namespaced: true,
    subresources: &[],
    served: &[CORE],
};

/// CronJobs.
pub(crate) static CRON_JOBS: Resource = Resource {
    plural: "cronjobs",
    singular: "cronjob",
    kind: "CronJob",
    short_names: &["cj"],
    categories: &["all"],
    subresources: &[Subresource::Status],
    served: &[BATCH, BATCH_BETA],
    ..PLAIN
};

/// Jobs.
pub(crate) static JOBS: Resource = Resource {
    plural: "jobs",
    singular: "job",
    kind: "Job",
    categories: &["all"],
    subresources: &[Subresource::Status],
    served: &[BATCH],
    ..PLAIN
};

/// ScheduledJobs, our own kind.
pub(crate) static SCHEDULED_JOBS: Resource = Resource {
    plural: "scheduledjobs",
    singular: "scheduledjob",
    kind: "ScheduledJob",
    short_names: &["sj"],
    categories: &["all"],
    subresources: &[Subresource::Status],
    served: &[OURS],
    ..PLAIN
};

/// Namespaces.
pub(crate) static NAMESPACES: Resource = Resource {
    plural: "namespaces",
    singular: "namespace",
    kind: "Namespace",
    short_names: &["ns"],
    is_namespaced: false,
    subresources: &[Subresource::Finalize, Subresource::Status],
    ..PLAIN
};

/// Pods.
pub(crate) static PODS: Resource = Resource {
    plural: "pods",
    singular: "pod",
    kind: "Pod",
    short_names: &["po"],
    categories: &["all"],
    subresources: &[Subresource::Log, Subresource::Status],
    ..PLAIN
};

/// Events, of both groups.
pub(crate) static EVENT_LOG: Resource = Resource {
    plural: "events",
    singular: "event",
    kind: "Event",
    short_names: &["ev"],
    served: &[CORE, EVENTS],
    ..PLAIN
};

/// Config maps.
pub(crate) static CONFIG_MAPS: Resource = Resource {
    plural: "configmaps",
    singular: "configmap",
    kind: "ConfigMap",
    short_names: &["cm"],
    ..PLAIN
};

/// Secrets.
pub(crate) static SECRETS: Resource =
    Resource { plural: "secrets", singular: "secret", kind: "Secret", ..PLAIN };

/// Service accounts.
pub(crate) static SERVICE_ACCOUNTS: Resource = Resource {
    plural: "serviceaccounts",
    singular: "serviceaccount",
    kind: "ServiceAccount",
    short_names: &["sa"],
    ..PLAIN
};

/// Nodes.
pub(crate) static NODES: Resource = Resource {
    plural: "nodes",
    singular: "node",
    kind: "Node",
    short_names: &["no"],
    is_namespaced: false,
    subresources: &[Subresource::Status],
    ..PLAIN
};

/// Leases.
pub(crate) static LEASES: Resource = Resource {
    plural: "leases",
    singular: "lease",
    kind: "Lease",
    served: &[COORDINATION],
    ..PLAIN
};

/// Everything that is served.
pub(crate) static ALL: [&Resource; 11] = [
    &CONFIG_MAPS,
    &EVENT_LOG,
    &NAMESPACES,
    &NODES,
    &PODS,
    &SECRETS,
    &SERVICE_ACCOUNTS,
    &CRON_JOBS,
    &JOBS,
    &LEASES,
    &SCHEDULED_JOBS,
];

/// A review: posted, answered, never stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Review {
    /// Plural name.
    pub(crate) plural: &'static str,
    /// Kind.
    pub(crate) kind: &'static str,
    /// Group and version.
    pub(crate) served: Served,
}

const AUTHORIZATION: Served =
    Served { group: "authorization.k8s.io", version: "v1", api_version: "authorization.k8s.io/v1" };
const AUTHENTICATION: Served = Served {
    group: "authentication.k8s.io",
    version: "v1",
    api_version: "authentication.k8s.io/v1",
};

/// The reviews that are answered.
pub(crate) static REVIEWS: [Review; 3] = [
    Review {
        plural: "selfsubjectaccessreviews",
        kind: "SelfSubjectAccessReview",
        served: AUTHORIZATION,
    },
    Review {
        plural: "selfsubjectrulesreviews",
        kind: "SelfSubjectRulesReview",
        served: AUTHORIZATION,
    },
    Review { plural: "selfsubjectreviews", kind: "SelfSubjectReview", served: AUTHENTICATION },
];

/// Every group and version once, the core group first, the preferred version of a group first.
pub(crate) static GROUP_VERSIONS: [Served; 8] =
    [CORE, BATCH, BATCH_BETA, EVENTS, COORDINATION, AUTHENTICATION, AUTHORIZATION, OURS];

impl Resource {
    /// The group and version that objects are stored in.
    pub(crate) fn stored(&self) -> Served {
        self.served.first().copied().unwrap_or(CORE)
    }

    /// The resource of that plural name in a group and version.
    pub(crate) fn find(
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<(&'static Resource, Served)> {
        ALL.into_iter().filter(|resource| resource.plural == plural).find_map(|resource| {
            let is_it = |served: &&Served| served.group == group && served.version == version;
            Some((resource, *resource.served.iter().find(is_it)?))
        })
    }

    /// The subresource of that name.
    pub(crate) fn subresource(&self, name: &str) -> Option<Subresource> {
        self.subresources.iter().copied().find(|subresource| subresource.name() == name)
    }
}

/// A resource under one of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// What is stored.
    pub(crate) resource: &'static Resource,
    /// The name it is asked for under.
    pub(crate) served: Served,
}

impl View {
    /// As messages name it.
    pub(crate) fn name(&self) -> GroupResource<'static> {
        GroupResource { group: self.served.group, name: self.resource.plural }
    }

    /// Its kind, as messages name it.
    pub(crate) fn group_kind(&self) -> GroupKind<'static> {
        GroupKind { group: self.served.group, kind: self.resource.kind }
    }

    /// What a body is to contain.
    pub(crate) fn expected(&self) -> ExpectedKind<'static> {
        ExpectedKind { api_version: self.served.api_version, kind: self.resource.kind }
    }

    /// Whether objects are stored in this very form.
    pub(crate) fn is_stored_form(&self) -> bool {
        self.resource.stored() == self.served
    }
}
