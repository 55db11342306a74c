//! Which kinds can be checked, and what is to be said of the others.

use punctual_api::{CronJobKind, strategy};

use super::simple_kind::SimpleKind;

/// How a document is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckedKind {
    /// As a server does on create.
    Strategic(strategy::ResourceKind),
    /// By the rules for its metadata and its few fields.
    SimpleKind(SimpleKind),
}

/// Versions of which every kind is known, so that any other kind in them is a mistake.
const COMPLETE: [&str; 3] = ["batch/v1", "batch/v1beta1", "punctual.dev/v1"];

const CHECKED_KINDS: [(&str, &str, CheckedKind); 13] = [
    (
        "batch/v1",
        "CronJob",
        CheckedKind::Strategic(strategy::ResourceKind::CronJob(CronJobKind::BatchV1)),
    ),
    (
        "batch/v1beta1",
        "CronJob",
        CheckedKind::Strategic(strategy::ResourceKind::CronJob(CronJobKind::BatchV1Beta1)),
    ),
    (
        "punctual.dev/v1",
        "ScheduledJob",
        CheckedKind::Strategic(strategy::ResourceKind::CronJob(CronJobKind::ScheduledJob)),
    ),
    ("batch/v1", "Job", CheckedKind::Strategic(strategy::ResourceKind::Job)),
    ("v1", "Pod", CheckedKind::Strategic(strategy::ResourceKind::Pod)),
    ("v1", "ConfigMap", CheckedKind::SimpleKind(SimpleKind::ConfigMap)),
    ("v1", "Secret", CheckedKind::SimpleKind(SimpleKind::Secret)),
    ("v1", "Namespace", CheckedKind::SimpleKind(SimpleKind::Namespace)),
    ("v1", "ServiceAccount", CheckedKind::SimpleKind(SimpleKind::Other)),
    ("v1", "Event", CheckedKind::SimpleKind(SimpleKind::Other)),
    ("events.k8s.io/v1", "Event", CheckedKind::SimpleKind(SimpleKind::Other)),
    ("v1", "Node", CheckedKind::SimpleKind(SimpleKind::Node)),
    ("coordination.k8s.io/v1", "Lease", CheckedKind::SimpleKind(SimpleKind::Lease)),
];

/// What is known about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindLookup {
    /// How to check it.
    Checked(CheckedKind),
    /// There is no such kind: a server would not take it.
    Unknown,
    /// It may exist elsewhere.
    Unchecked,
}

/// Looks a kind up.
pub(super) fn find(api_version: &str, kind: &str) -> KindLookup {
    let is_it =
        |(version, name, _): &&(&str, &str, CheckedKind)| *version == api_version && *name == kind;
    if let Some((_, _, kind)) = CHECKED_KINDS.iter().find(is_it) {
        return KindLookup::Checked(*kind);
    }
    // Kubernetes' own groups have no dot. A Job or a CronJob in the wrong one of them is a
    // mistake; one in somebody's `batch.example.com` is none.
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let is_misplaced =
        !group.contains('.') && CHECKED_KINDS.iter().any(|(_, name, _)| *name == kind);
    if is_misplaced || COMPLETE.contains(&api_version) {
        KindLookup::Unknown
    } else {
        KindLookup::Unchecked
    }
}
