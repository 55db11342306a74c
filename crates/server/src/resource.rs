//! The table of served resources.
//!
//! A [`Resource`] is a stored collection. It is served under one or more group-versions; CronJobs
//! and Events are served under two and stored once.

use punctual_api::decode::ExpectedKind;
use punctual_api::status::{GroupKind, GroupResource};

/// A stored collection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// The plural name, which is also the path segment.
    pub(crate) plural: &'static str,
    /// The singular name.
    pub(crate) singular: &'static str,
    /// The kind of its objects.
    pub(crate) kind: &'static str,
    /// Short names for kubectl.
    pub(crate) short_names: &'static [&'static str],
    /// Categories for kubectl, such as `all`.
    pub(crate) categories: &'static [&'static str],
    /// Whether its objects are namespaced.
    pub(crate) is_namespaced: bool,
    /// Whether clients can only read it, because its objects are computed.
    pub(crate) is_read_only: bool,
    /// The served subresources.
    pub(crate) subresources: &'static [Subresource],
    /// The group-versions under which it is served; objects are stored in the first one.
    pub(crate) group_versions: &'static [GroupVersion],
}

/// An API group and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupVersion {
    /// The group; empty for the core group.
    pub(crate) group: &'static str,
    /// The version.
    pub(crate) version: &'static str,
    /// Both, in the form of the field `apiVersion`.
    pub(crate) api_version: &'static str,
}

/// A subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subresource {
    /// The status of an object.
    Status,
    /// The log of a Pod.
    Log,
    /// The finalizers of a namespace.
    Finalize,
}

impl Subresource {
    /// Returns the path segment.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Subresource::Status => "status",
            Subresource::Log => "log",
            Subresource::Finalize => "finalize",
        }
    }

    /// Returns the verbs that discovery lists.
    pub(crate) fn verbs(self) -> &'static [&'static str] {
        match self {
            Subresource::Status => &["get", "patch", "update"],
            Subresource::Log => &["get"],
            Subresource::Finalize => &["update"],
        }
    }
}

/// The verbs of a resource that clients can only read.
pub(crate) const READ_VERBS: [&str; 3] = ["get", "list", "watch"];

/// The verbs of every other resource.
pub(crate) const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

const CORE: GroupVersion = GroupVersion { group: "", version: "v1", api_version: "v1" };
const BATCH: GroupVersion = GroupVersion { group: "batch", version: "v1", api_version: "batch/v1" };
const BATCH_BETA: GroupVersion =
    GroupVersion { group: "batch", version: "v1beta1", api_version: "batch/v1beta1" };
const EVENTS: GroupVersion =
    GroupVersion { group: "events.k8s.io", version: "v1", api_version: "events.k8s.io/v1" };
const COORDINATION: GroupVersion = GroupVersion {
    group: "coordination.k8s.io",
    version: "v1",
    api_version: "coordination.k8s.io/v1",
};
const PUNCTUAL: GroupVersion =
    GroupVersion { group: "punctual.dev", version: "v1", api_version: "punctual.dev/v1" };

/// Defaults for the resources below.
const PLAIN: Resource = Resource {
    plural: "",
    singular: "",
    kind: "",
    short_names: &[],
    categories: &[],
    is_namespaced: true,
    is_read_only: false,
    subresources: &[],
    group_versions: &[CORE],
};

/// CronJobs.
pub(crate) static CRON_JOBS: Resource = Resource {
    plural: "cronjobs",
    singular: "cronjob",
    kind: "CronJob",
    short_names: &["cj"],
    categories: &["all"],
    subresources: &[Subresource::Status],
    group_versions: &[BATCH, BATCH_BETA],
    ..PLAIN
};

/// Jobs.
pub(crate) static JOBS: Resource = Resource {
    plural: "jobs",
    singular: "job",
    kind: "Job",
    categories: &["all"],
    subresources: &[Subresource::Status],
    group_versions: &[BATCH],
    ..PLAIN
};

/// ScheduledJobs, a kind of Punctual.
pub(crate) static SCHEDULED_JOBS: Resource = Resource {
    plural: "scheduledjobs",
    singular: "scheduledjob",
    kind: "ScheduledJob",
    short_names: &["sj"],
    categories: &["all"],
    subresources: &[Subresource::Status],
    group_versions: &[PUNCTUAL],
    ..PLAIN
};

/// RunRequests, a kind of Punctual.
pub(crate) static RUN_REQUESTS: Resource = Resource {
    plural: "runrequests",
    singular: "runrequest",
    kind: "RunRequest",
    short_names: &["rr"],
    subresources: &[Subresource::Status],
    group_versions: &[PUNCTUAL],
    ..PLAIN
};

/// Slot records, a kind of Punctual. They are not stored under keys of their own; see [`crate::ledger`].
pub(crate) static SLOT_RECORDS: Resource = Resource {
    plural: "slotrecords",
    singular: "slotrecord",
    kind: "SlotRecord",
    short_names: &["slots"],
    is_read_only: true,
    group_versions: &[PUNCTUAL],
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

/// Events, of the core group and of `events.k8s.io`.
pub(crate) static EVENT_RESOURCE: Resource = Resource {
    plural: "events",
    singular: "event",
    kind: "Event",
    short_names: &["ev"],
    group_versions: &[CORE, EVENTS],
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

/// Resource quotas.
pub(crate) static RESOURCE_QUOTAS: Resource = Resource {
    plural: "resourcequotas",
    singular: "resourcequota",
    kind: "ResourceQuota",
    short_names: &["quota"],
    subresources: &[Subresource::Status],
    ..PLAIN
};

/// Leases.
pub(crate) static LEASES: Resource = Resource {
    plural: "leases",
    singular: "lease",
    kind: "Lease",
    group_versions: &[COORDINATION],
    ..PLAIN
};

/// All served resources.
pub(crate) static RESOURCES: [&Resource; 14] = [
    &CONFIG_MAPS,
    &EVENT_RESOURCE,
    &NAMESPACES,
    &NODES,
    &PODS,
    &RESOURCE_QUOTAS,
    &SECRETS,
    &SERVICE_ACCOUNTS,
    &CRON_JOBS,
    &JOBS,
    &LEASES,
    &RUN_REQUESTS,
    &SCHEDULED_JOBS,
    &SLOT_RECORDS,
];

/// A self-subject review. It is evaluated and returned, never stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SelfReview {
    /// The plural name.
    pub(crate) plural: &'static str,
    /// The kind.
    pub(crate) kind: &'static str,
    /// The group and version.
    pub(crate) group_version: GroupVersion,
}

const AUTHORIZATION: GroupVersion = GroupVersion {
    group: "authorization.k8s.io",
    version: "v1",
    api_version: "authorization.k8s.io/v1",
};
const AUTHENTICATION: GroupVersion = GroupVersion {
    group: "authentication.k8s.io",
    version: "v1",
    api_version: "authentication.k8s.io/v1",
};

/// The served reviews.
pub(crate) static REVIEWS: [SelfReview; 3] = [
    SelfReview {
        plural: "selfsubjectaccessreviews",
        kind: "SelfSubjectAccessReview",
        group_version: AUTHORIZATION,
    },
    SelfReview {
        plural: "selfsubjectrulesreviews",
        kind: "SelfSubjectRulesReview",
        group_version: AUTHORIZATION,
    },
    SelfReview {
        plural: "selfsubjectreviews",
        kind: "SelfSubjectReview",
        group_version: AUTHENTICATION,
    },
];

/// All group-versions. The core group comes first, and the preferred version of each group.
pub(crate) static GROUP_VERSIONS: [GroupVersion; 8] =
    [CORE, BATCH, BATCH_BETA, EVENTS, COORDINATION, AUTHENTICATION, AUTHORIZATION, PUNCTUAL];

impl Resource {
    /// Returns the group-version in which objects are stored.
    pub(crate) fn storage_version(&self) -> GroupVersion {
        self.group_versions.first().copied().unwrap_or(CORE)
    }

    /// Finds a resource by its plural name in a group-version.
    pub(crate) fn find(
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<(&'static Resource, GroupVersion)> {
        RESOURCES.into_iter().filter(|resource| resource.plural == plural).find_map(|resource| {
            let is_wanted =
                |served: &&GroupVersion| served.group == group && served.version == version;
            Some((resource, *resource.group_versions.iter().find(is_wanted)?))
        })
    }

    /// Finds a subresource by its name.
    pub(crate) fn subresource(&self, name: &str) -> Option<Subresource> {
        self.subresources.iter().copied().find(|subresource| subresource.name() == name)
    }
}

/// A resource in one of its served group-versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServedResource {
    /// The resource.
    pub(crate) resource: &'static Resource,
    /// The group-version of the request.
    pub(crate) group_version: GroupVersion,
}

impl ServedResource {
    /// Returns the group and resource for error messages.
    pub(crate) fn group_resource(&self) -> GroupResource<'static> {
        GroupResource { group: self.group_version.group, name: self.resource.plural }
    }

    /// Returns the group and kind for error messages.
    pub(crate) fn group_kind(&self) -> GroupKind<'static> {
        GroupKind { group: self.group_version.group, kind: self.resource.kind }
    }

    /// Returns the API version and kind that request bodies must have.
    pub(crate) fn expected_kind(&self) -> ExpectedKind<'static> {
        ExpectedKind { api_version: self.group_version.api_version, kind: self.resource.kind }
    }

    /// Returns kube-apiserver's warning about a version that it has removed, and we still serve.
    pub(crate) fn deprecation_warning(&self) -> Option<&'static str> {
        (self.group_version == BATCH_BETA).then_some(
            "batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 \
             CronJob",
        )
    }

    /// Whether this is the version in which objects are stored.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.resource.storage_version() == self.group_version
    }
}
