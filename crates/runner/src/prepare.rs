//! Turns a Pod into a plan that a supervisor can run without the API.
//!
//! The caller first fetches the config maps and secrets that the Pod refers to ([`References`]). A
//! missing one is no failure: the Pod waits for it ([`MissingReference`]).

mod env;
mod expand;
mod fields;
mod references;
mod volumes;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use punctual_api::Pod;
use punctual_api::pod::Container;

pub(crate) use self::fields::NODE_ADDRESS;
pub use self::references::{MissingReference, ReferenceKind, References};
use self::volumes::Volumes;
use crate::pod_folder::{PodFolder, is_file_name};
use crate::pod_plan::{
    ContainerPlan, PodPlan, ResourceLimits, RestartBackoff, RestartPolicy, UserPlan,
};

/// The parts of a plan that do not depend on the Pod.
#[derive(Clone, Debug)]
pub(crate) struct PlanSettings {
    pub(crate) restart_backoff: RestartBackoff,
    pub(crate) log_bytes_max: u64,
    pub(crate) use_cgroups: bool,
    /// The values of limits that a container does not set.
    pub(crate) machine: MachineResources,
}

/// The processors and memory of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MachineResources {
    pub(crate) cpus: u64,
    pub(crate) memory_bytes: u64,
}

/// Why a Pod could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// An object that the Pod refers to does not exist yet, or lacks a key.
    #[error("{}", .0.message)]
    MissingReference(MissingReference),
    /// The Pod uses a feature that the runtime does not support. Trying again does not help.
    #[error("{0}")]
    Unsupported(String),
    /// The Pod's folder could not be written.
    #[error("could not write the Pod's folder: {0}")]
    Io(#[from] io::Error),
}

/// Creates the Pod's folder and writes its plan. Blocks on file I/O.
pub(crate) fn prepare(
    pod: &Pod,
    references: &References,
    folder: &PodFolder,
    settings: &PlanSettings,
) -> Result<(), PrepareError> {
    check_names(pod)?;
    folder.create()?;
    let volumes = volumes::create(pod, references, folder, settings)?;
    let mut containers = Vec::new();
    for (list, _, container) in pod.spec.containers_in_order() {
        let mut plan = container_plan(pod, container, references, &volumes, settings)?;
        plan.is_init = list == "initContainers";
        containers.push(plan);
    }
    let seconds = |seconds: Option<i64>| seconds.and_then(|seconds| u64::try_from(seconds).ok());
    folder.write_plan(&PodPlan {
        uid: pod.metadata.uid.clone(),
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        restart_policy: restart_policy(&pod.spec.restart_policy),
        grace_seconds: seconds(pod.spec.termination_grace_period_seconds).unwrap_or(30),
        active_deadline_seconds: seconds(pod.spec.active_deadline_seconds),
        containers,
        restart_backoff: settings.restart_backoff,
        log_bytes_max: settings.log_bytes_max,
        use_cgroups: settings.use_cgroups,
    })?;
    Ok(())
}

/// Checks that names of containers and volumes are valid file names. The API server validates them too,
/// but a mistake there must not reach our file system.
fn check_names(pod: &Pod) -> Result<(), PrepareError> {
    let containers = pod.spec.containers_in_order().map(|(_, _, container)| &container.name);
    let mut names = containers.chain(pod.spec.volumes.iter().map(|volume| &volume.name));
    match names.find(|name| !is_file_name(name)) {
        Some(name) => Err(PrepareError::Unsupported(format!("{name:?} is not a valid name"))),
        None => Ok(()),
    }
}

fn restart_policy(text: &str) -> RestartPolicy {
    match text {
        "Never" => RestartPolicy::Never,
        "OnFailure" => RestartPolicy::OnFailure,
        _ => RestartPolicy::Always,
    }
}

fn container_plan(
    pod: &Pod,
    container: &Container,
    references: &References,
    volumes: &Volumes,
    settings: &PlanSettings,
) -> Result<ContainerPlan, PrepareError> {
    let mut env = env::resolve(pod, container, references, settings)?;
    let arguments = container.command.iter().chain(&container.args);
    let command = arguments.map(|argument| expand::expand(argument, &env)).collect();
    let mounts = volumes.mounts(container, &env)?;
    env::add_defaults(&mut env, pod, container, volumes);
    let working_dir = container.working_dir.clone();
    Ok(ContainerPlan {
        name: container.name.clone(),
        is_init: false,
        unsupported: unsupported_reason(container),
        command,
        env: env.into_iter().collect(),
        working_dir: Some(working_dir).filter(|path| !path.is_empty()),
        mounts,
        user: user_plan(pod, container),
        limits: resource_limits(container),
        termination_message_path: container.termination_message_path.clone(),
        falls_back_to_logs: container.termination_message_policy == "FallbackToLogsOnError",
    })
}

/// Why a container can never run; `None` if it can.
fn unsupported_reason(container: &Container) -> Option<String> {
    let name = &container.name;
    if container.restart_policy.as_deref() == Some("Always") {
        return Some(format!(
            "container {name:?} is an init container with restartPolicy Always, a sidecar, which \
             Punctual does not run; make it a container"
        ));
    }
    container.command.is_empty().then(|| {
        format!(
            "container {name:?} has no command: Punctual runs the programs of this machine and \
             has no image to take one from"
        )
    })
}

fn user_plan(pod: &Pod, container: &Container) -> UserPlan {
    let pod = pod.spec.security_context.clone().unwrap_or_default();
    let own = container.security_context.clone().unwrap_or_default();
    let id = |id: Option<i64>| id.and_then(|id| u32::try_from(id).ok());
    let groups = pod.supplemental_groups.iter().chain(&pod.fs_group);
    UserPlan {
        user: id(own.run_as_user.or(pod.run_as_user)),
        group: id(own.run_as_group.or(pod.run_as_group)),
        groups: groups.filter_map(|group| id(Some(*group))).collect(),
        must_not_be_root: own.run_as_non_root.or(pod.run_as_non_root) == Some(true),
        no_new_privileges: own.allow_privilege_escalation == Some(false),
    }
}

fn resource_limits(container: &Container) -> ResourceLimits {
    let limit = |name: &str| container.resources.limits.get(name);
    let amount = |amount: i64| u64::try_from(amount).ok();
    ResourceLimits {
        memory_bytes: limit("memory").and_then(|quantity| amount(quantity.value())),
        cpu_milli: limit("cpu").and_then(|quantity| amount(quantity.milli_value())),
        pids: limit("pids").and_then(|quantity| amount(quantity.value())),
    }
}

/// Environment variables by name.
type Env = BTreeMap<String, String>;

/// Whether a relative path given by a user stays below the folder that it is joined to.
fn is_below(path: &Path) -> bool {
    use std::path::Component;
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
