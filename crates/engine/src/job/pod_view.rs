//! What the decision needs to know of a Pod: a few hundred bytes that a cache can hold.

use jiff::{SignedDuration, Timestamp};
use punctual_api::Pod;
use punctual_api::pod::status::phase;
use punctual_api::pod::{ContainerStatus, PodCondition};
use punctual_api::well_known::{annotations, finalizers};

/// A Pod of a Job, as far as the decision looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Its index, if it has one that can be read.
    pub index: Option<u32>,
    /// How far it is.
    pub phase: PodPhase,
    /// Whether it carries the finalizer that keeps it until it is counted.
    pub is_tracked: bool,
    /// Whether it was asked to go.
    pub is_deleting: bool,
    /// Whether it was given to a node.
    pub is_assigned: bool,
    /// Whether it is ready, and since when as far as that is known.
    pub ready: Option<Option<Timestamp>>,
    /// How often its containers were restarted.
    pub restarts: RestartCounts,
    /// When it was created.
    pub created_at: Option<Timestamp>,
    /// When it ended; for a Pod that did not end, when it would be said to have.
    pub finished_at: Timestamp,
    /// Failures of its index before it, and those of them that a policy ignored.
    pub index_failures: IndexFailures,
    /// How its containers ended, where that was badly: containers first, then init containers.
    pub exits: Vec<ContainerExit>,
    /// Types and statuses of its conditions, in their order.
    pub conditions: Vec<(String, String)>,
}

/// How far a Pod is. The order is that in which Pods are spared when some must go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodPhase {
    /// Not all containers run yet.
    Pending,
    /// Nothing was heard of it.
    Unknown,
    /// At least one container runs or is about to.
    Running,
    /// All containers ended well.
    Succeeded,
    /// All containers ended, one badly.
    Failed,
}

/// How often the containers of a Pod were restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestartCounts {
    /// All together, init containers included.
    pub total: i64,
    /// The container that was restarted most, and the sidecar that was.
    pub most: (i32, i32),
}

/// Failures of an index before a Pod was made for it, as its annotations tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexFailures {
    /// Those that count.
    pub counted: i32,
    /// Those that a policy ignored.
    pub ignored: i32,
}

impl IndexFailures {
    /// All of them: the wait before the next Pod grows with ignored failures too.
    pub fn total(self) -> u32 {
        self.counted.max(0).unsigned_abs() + self.ignored.max(0).unsigned_abs()
    }
}

/// A container that ended badly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerExit {
    /// The container.
    pub container: String,
    /// Its exit code, not 0.
    pub code: i32,
}

impl PodView {
    /// Summarizes a Pod.
    pub fn from_pod(pod: &Pod) -> Self {
        let (meta, status) = (&pod.metadata, &pod.status);
        PodView {
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            index: number(pod, annotations::JOB_COMPLETION_INDEX).map(i32::unsigned_abs),
            phase: PodPhase::of(&status.phase),
            is_tracked: meta.finalizers.iter().any(|name| name == finalizers::JOB_TRACKING),
            is_deleting: meta.deletion_timestamp.is_some(),
            is_assigned: !pod.spec.node_name.is_empty(),
            ready: ready(pod).filter(|ready| ready.status == "True").map(transition),
            restarts: RestartCounts::of(pod),
            created_at: meta.creation_timestamp.map(|time| time.timestamp()),
            finished_at: finished_at(pod),
            index_failures: IndexFailures {
                counted: number(pod, annotations::JOB_INDEX_FAILURE_COUNT).unwrap_or(0),
                ignored: number(pod, annotations::JOB_INDEX_IGNORED_FAILURE_COUNT).unwrap_or(0),
            },
            exits: exits(pod),
            conditions: (status.conditions.iter())
                .map(|condition| (condition.condition_type.clone(), condition.status.clone()))
                .collect(),
        }
    }

    /// Whether it ended, either way.
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether it runs or is about to.
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && !self.is_deleting
    }

    /// Whether it was asked to go and has not ended yet.
    pub fn is_terminating(&self) -> bool {
        !self.is_terminal() && self.is_deleting
    }
}

impl PodPhase {
    fn of(text: &str) -> Self {
        match text {
            // A Pod that was just created has no phase in a cache that no server has defaulted.
            phase::PENDING | "" => PodPhase::Pending,
            phase::RUNNING => PodPhase::Running,
            phase::SUCCEEDED => PodPhase::Succeeded,
            phase::FAILED => PodPhase::Failed,
            _ => PodPhase::Unknown,
        }
    }
}

impl RestartCounts {
    fn of(pod: &Pod) -> Self {
        let (main, init) = (&pod.status.container_statuses, &pod.status.init_container_statuses);
        let most = |statuses: &mut dyn Iterator<Item = &ContainerStatus>| {
            statuses.map(|status| status.restart_count).max().unwrap_or(0)
        };
        RestartCounts {
            total: main.iter().chain(init).map(|status| i64::from(status.restart_count)).sum(),
            most: (most(&mut main.iter()), most(&mut sidecars(pod))),
        }
    }
}

/// A number in an annotation; anybody can write there, so what is none is passed over.
fn number(pod: &Pod, key: &str) -> Option<i32> {
    pod.metadata.annotation(key)?.parse().ok().filter(|number| *number >= 0)
}

fn exits(pod: &Pod) -> Vec<ContainerExit> {
    let main = pod.status.container_statuses.iter();
    main.chain(&pod.status.init_container_statuses)
        .filter_map(|status| Some((status, status.exit_code()?)))
        .filter(|(_, code)| *code != 0)
        .map(|(status, code)| ContainerExit { container: status.name.clone(), code })
        .collect()
}

fn ready(pod: &Pod) -> Option<&PodCondition> {
    pod.status.conditions.iter().find(|condition| condition.condition_type == "Ready")
}

fn transition(condition: &PodCondition) -> Option<Timestamp> {
    condition.last_transition_time.map(|time| time.timestamp())
}

/// When a Pod ended, from the best witness there is, in the order of `getFinishedTime` in v1.36.
fn finished_at(pod: &Pod) -> Timestamp {
    containers_finished_at(pod)
        .or_else(|| ready(pod).filter(|ready| ready.status == "False").and_then(transition))
        .or_else(|| deleted_at(pod))
        .or_else(|| pod.metadata.creation_timestamp.map(|time| time.timestamp()))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

/// When the last container ended, if all did. Sidecars outlive the others and are asked too.
fn containers_finished_at(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.container_statuses.iter().chain(sidecars(pod));
    let ends: Option<Vec<Timestamp>> = statuses
        .map(|status| status.state.terminated.as_ref()?.finished_at.map(|time| time.timestamp()))
        .collect();
    ends?.into_iter().max()
}

fn sidecars(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.init_container_statuses.iter().filter(|status| {
        let container = pod.spec.init_containers.iter().find(|init| init.name == status.name);
        container.is_some_and(|init| init.restart_policy.as_deref() == Some("Always"))
    })
}

/// When the deletion was asked for: the timestamp in the metadata is the end of the grace period.
fn deleted_at(pod: &Pod) -> Option<Timestamp> {
    let ends_at = pod.metadata.deletion_timestamp?.timestamp();
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    ends_at.checked_sub(SignedDuration::from_secs(grace)).ok()
}

#[cfg(test)]
mod tests;
