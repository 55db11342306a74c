//! Which kinds can be checked, and what is to be said of the others.

use punctual_api::{Flavor, strategy};

use super::small::Small;

/// How a document is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As a server does on create.
    Strategic(strategy::Kind),
    /// By the rules for its metadata and its few fields.
    Small(Small),
}

/// Versions of which every kind is known, so that any other kind in them is a mistake.
const COMPLETE: [&str; 3] = ["batch/v1", "batch/v1beta1", "punctual.dev/v1"];

const KNOWN: [(&str, &str, Kind); 13] = [
    ("batch/v1", "CronJob", Kind::Strategic(strategy::Kind::CronJob(Flavor::BatchV1))),
    ("batch/v1beta1", "CronJob", Kind::Strategic(strategy::Kind::CronJob(Flavor::BatchV1Beta1))),
    (
        "punctual.dev/v1",
        "ScheduledJob",
        Kind::Strategic(strategy::Kind::CronJob(Flavor::ScheduledJob)),
    ),
    ("batch/v1", "Job", Kind::Strategic(strategy::Kind::Job)),
    ("v1", "Pod", Kind::Strategic(strategy::Kind::Pod)),
    ("v1", "ConfigMap", Kind::Small(Small::ConfigMap)),
    ("v1", "Secret", Kind::Small(Small::Secret)),
    ("v1", "Namespace", Kind::Small(Small::Namespace)),
    ("v1", "ServiceAccount", Kind::Small(Small::Other)),
    ("v1", "Event", Kind::Small(Small::Other)),
    ("events.k8s.io/v1", "Event", Kind::Small(Small::Other)),
    ("v1", "Node", Kind::Small(Small::Node)),
    ("coordination.k8s.io/v1", "Lease", Kind::Small(Small::Lease)),
];

/// What is known about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// How to check it.
    Yes(Kind),
    /// There is no such kind: a server would not take it.
    Mistaken,
    /// It may exist elsewhere.
    No,
}

/// Looks a kind up.
pub(super) fn find(api_version: &str, kind: &str) -> Known {
    let is_it = |(version, name, _): &&(&str, &str, Kind)| *version == api_version && *name == kind;
    if let Some((_, _, kind)) = KNOWN.iter().find(is_it) {
        return Known::Yes(*kind);
    }
    // Kubernetes' own groups have no dot. A Job or a CronJob in the wrong one of them is a
    // mistake; one in somebody's `batch.example.com` is none.
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let is_misplaced = !group.contains('.') && KNOWN.iter().any(|(_, name, _)| *name == kind);
    if is_misplaced || COMPLETE.contains(&api_version) { Known::Mistaken } else { Known::No }
}
