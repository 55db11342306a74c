//! The kinds that `punctual validate` checks, and with which rules.

use punctual_api::{CronJobKind, write_rules};

use super::simple_kind::SimpleKind;

/// How a kind is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckedKind {
    /// With all rules that the server applies to a create.
    Full(write_rules::ResourceKind),
    /// With the rules for its metadata and a few fields.
    Simple(SimpleKind),
}

/// API versions whose kinds are all in `CHECKED_KINDS`. Any other kind in them does not exist.
const COMPLETE_VERSIONS: [&str; 3] = ["batch/v1", "batch/v1beta1", "punctual.dev/v1"];

const CHECKED_KINDS: [(&str, &str, CheckedKind); 15] = [
    (
        "batch/v1",
        "CronJob",
        CheckedKind::Full(write_rules::ResourceKind::CronJob(CronJobKind::BatchV1)),
    ),
    (
        "batch/v1beta1",
        "CronJob",
        CheckedKind::Full(write_rules::ResourceKind::CronJob(CronJobKind::BatchV1Beta1)),
    ),
    (
        "punctual.dev/v1",
        "ScheduledJob",
        CheckedKind::Full(write_rules::ResourceKind::CronJob(CronJobKind::ScheduledJob)),
    ),
    ("punctual.dev/v1", "RunRequest", CheckedKind::Full(write_rules::ResourceKind::RunRequest)),
    ("batch/v1", "Job", CheckedKind::Full(write_rules::ResourceKind::Job)),
    ("v1", "Pod", CheckedKind::Full(write_rules::ResourceKind::Pod)),
    ("v1", "ResourceQuota", CheckedKind::Full(write_rules::ResourceKind::ResourceQuota)),
    ("v1", "ConfigMap", CheckedKind::Simple(SimpleKind::ConfigMap)),
    ("v1", "Secret", CheckedKind::Simple(SimpleKind::Secret)),
    ("v1", "Namespace", CheckedKind::Simple(SimpleKind::Namespace)),
    ("v1", "ServiceAccount", CheckedKind::Simple(SimpleKind::Other)),
    ("v1", "Event", CheckedKind::Simple(SimpleKind::Other)),
    ("events.k8s.io/v1", "Event", CheckedKind::Simple(SimpleKind::Other)),
    ("v1", "Node", CheckedKind::Simple(SimpleKind::Node)),
    ("coordination.k8s.io/v1", "Lease", CheckedKind::Simple(SimpleKind::Lease)),
];

/// The result of looking up a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindLookup {
    /// The kind can be checked.
    Checked(CheckedKind),
    /// The kind does not exist, so the server would reject it.
    Unknown,
    /// The kind may exist but cannot be checked.
    Unchecked,
}

/// Looks up a kind.
pub(super) fn find(api_version: &str, kind: &str) -> KindLookup {
    let matches =
        |(version, name, _): &&(&str, &str, CheckedKind)| *version == api_version && *name == kind;
    if let Some((_, _, kind)) = CHECKED_KINDS.iter().find(matches) {
        return KindLookup::Checked(*kind);
    }
    // Kubernetes' own groups have no dot. A CronJob in the wrong one of them is an error. A CronJob in
    // `batch.example.com` may be a custom resource.
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let is_misplaced =
        !group.contains('.') && CHECKED_KINDS.iter().any(|(_, name, _)| *name == kind);
    if is_misplaced || COMPLETE_VERSIONS.contains(&api_version) {
        KindLookup::Unknown
    } else {
        KindLookup::Unchecked
    }
}
