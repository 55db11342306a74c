//! The fields of a Pod that the Job controller reads: a few hundred bytes for each cached Pod.

mod failure_text;

use jiff::{SignedDuration, Timestamp};
use punctual_api::Pod;
use punctual_api::pod::status::phase;
use punctual_api::pod::{ContainerStatus, PodCondition};
use punctual_api::well_known::{annotations, finalizers};

/// The fields of a Pod that the decision reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
    /// The completion index, if its annotation is valid.
    pub index: Option<u32>,
    /// The phase.
    pub phase: PodPhase,
    /// Whether it has the finalizer that keeps it until it is counted.
    pub is_tracked: bool,
    /// Whether it has a deletion timestamp.
    pub is_deleting: bool,
    /// Whether it is assigned to a node.
    pub is_assigned: bool,
    /// `Some` if it is ready, with the time since when, if known.
    pub ready: Option<Option<Timestamp>>,
    /// The restart counts of its containers.
    pub restarts: RestartCounts,
    /// The creation time.
    pub created_at: Option<Timestamp>,
    /// When it finished. For a Pod that has not finished, the time that Kubernetes would use.
    pub finished_at: Timestamp,
    /// The failures of its index before this Pod.
    pub index_failures: IndexFailures,
    /// The non-zero exit codes of its containers, followed by those of its init containers.
    pub exits: Vec<ContainerExit>,
    /// Why it failed, or why a container was restarted, as far as its messages say.
    pub failure: Option<Box<str>>,
    /// The types and statuses of its conditions, in their order.
    pub conditions: Vec<(String, String)>,
}

/// The phase of a Pod. Pods in lower phases are removed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodPhase {
    /// Not all containers have started.
    Pending,
    /// The state cannot be determined.
    Unknown,
    /// At least one container runs, starts or restarts.
    Running,
    /// All containers succeeded.
    Succeeded,
    /// All containers have finished and at least one failed.
    Failed,
}

/// The restart counts of the containers of a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestartCounts {
    /// The sum over all containers, including init containers.
    pub total: i64,
    /// The highest count of a container.
    pub max_of_containers: i32,
    /// The highest count of a sidecar.
    pub max_of_sidecars: i32,
}

/// The failures of an index before a Pod was created for it, from the annotations of the Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexFailures {
    /// The failures that count.
    pub counted: i32,
    /// The failures that the pod failure policy ignored.
    pub ignored: i32,
}

impl IndexFailures {
    /// All failures. Ignored ones also increase the delay before the next Pod.
    pub fn total(self) -> u32 {
        self.counted.max(0).unsigned_abs() + self.ignored.max(0).unsigned_abs()
    }
}

/// A container that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerExit {
    /// The name of the container.
    pub container: String,
    /// The exit code, not 0.
    pub code: i32,
}

impl PodView {
    /// Copies the fields from a Pod.
    pub fn from_pod(pod: &Pod) -> Self {
        let meta = &pod.metadata;
        let status = &pod.status;
        PodView {
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            index: annotation_number(pod, annotations::JOB_COMPLETION_INDEX).map(i32::unsigned_abs),
            phase: PodPhase::parse(&status.phase),
            is_tracked: meta.finalizers.iter().any(|name| name == finalizers::JOB_TRACKING),
            is_deleting: meta.deletion_timestamp.is_some(),
            is_assigned: !pod.spec.node_name.is_empty(),
            ready: ready_condition(pod).filter(|ready| ready.status == "True").map(transition_time),
            restarts: RestartCounts::from_pod(pod),
            created_at: meta.creation_timestamp.map(|time| time.timestamp()),
            finished_at: finished_at(pod),
            index_failures: IndexFailures {
                counted: annotation_number(pod, annotations::JOB_INDEX_FAILURE_COUNT).unwrap_or(0),
                ignored: annotation_number(pod, annotations::JOB_INDEX_IGNORED_FAILURE_COUNT)
                    .unwrap_or(0),
            },
            exits: exits(pod),
            failure: failure_text::describe_pod(pod).map(Into::into),
            conditions: (status.conditions.iter())
                .map(|condition| (condition.condition_type.clone(), condition.status.clone()))
                .collect(),
        }
    }

    /// Whether it has succeeded or failed.
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether it has not finished and is not being deleted.
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && !self.is_deleting
    }

    /// Whether it is being deleted and has not finished.
    pub fn is_terminating(&self) -> bool {
        !self.is_terminal() && self.is_deleting
    }
}

impl PodPhase {
    fn parse(text: &str) -> Self {
        match text {
            // The response to a create may have no phase yet.
            phase::PENDING | "" => PodPhase::Pending,
            phase::RUNNING => PodPhase::Running,
            phase::SUCCEEDED => PodPhase::Succeeded,
            phase::FAILED => PodPhase::Failed,
            _ => PodPhase::Unknown,
        }
    }
}

impl RestartCounts {
    fn from_pod(pod: &Pod) -> Self {
        let containers = &pod.status.container_statuses;
        let init_containers = &pod.status.init_container_statuses;
        let highest = |statuses: &mut dyn Iterator<Item = &ContainerStatus>| {
            statuses.map(|status| status.restart_count).max().unwrap_or(0)
        };
        RestartCounts {
            total: containers
                .iter()
                .chain(init_containers)
                .map(|status| i64::from(status.restart_count))
                .sum(),
            max_of_containers: highest(&mut containers.iter()),
            max_of_sidecars: highest(&mut sidecars(pod)),
        }
    }
}

/// Returns the number in an annotation. Users can edit annotations, so invalid values are ignored.
fn annotation_number(pod: &Pod, key: &str) -> Option<i32> {
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

fn ready_condition(pod: &Pod) -> Option<&PodCondition> {
    pod.status.conditions.iter().find(|condition| condition.condition_type == "Ready")
}

fn transition_time(condition: &PodCondition) -> Option<Timestamp> {
    condition.last_transition_time.map(|time| time.timestamp())
}

/// Returns when a Pod finished, from the same sources and in the same order as `getFinishedTime` of
/// Kubernetes v1.36.
fn finished_at(pod: &Pod) -> Timestamp {
    containers_finished_at(pod)
        .or_else(|| {
            ready_condition(pod).filter(|ready| ready.status == "False").and_then(transition_time)
        })
        .or_else(|| deleted_at(pod))
        .or_else(|| pod.metadata.creation_timestamp.map(|time| time.timestamp()))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns when the last container finished, if all did. Sidecars count too, because they finish last.
fn containers_finished_at(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.container_statuses.iter().chain(sidecars(pod));
    let times: Option<Vec<Timestamp>> = statuses
        .map(|status| status.state.terminated.as_ref()?.finished_at.map(|time| time.timestamp()))
        .collect();
    times?.into_iter().max()
}

fn sidecars(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.init_container_statuses.iter().filter(|status| {
        let container = pod.spec.init_containers.iter().find(|init| init.name == status.name);
        container.is_some_and(|init| init.restart_policy.as_deref() == Some("Always"))
    })
}

/// Returns when the deletion was requested. The deletion timestamp is the end of the grace period.
fn deleted_at(pod: &Pod) -> Option<Timestamp> {
    let ends_at = pod.metadata.deletion_timestamp?.timestamp();
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    ends_at.checked_sub(SignedDuration::from_secs(grace)).ok()
}

#[cfg(test)]
mod tests;
