//! Turns a Pod into a plan that a supervisor can run without the API.
//!
//! The caller first fetches the config maps and secrets that the Pod refers to ([`References`]). A
//! missing one is no failure: the Pod waits for it ([`MissingReference`]).

mod env;
mod expand;
mod fields;
mod references;
mod security;
mod user;
mod volumes;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use punctual_api::Pod;
use punctual_api::pod::Container;
use punctual_api::well_known::annotations;

pub(crate) use self::fields::NODE_ADDRESS;
pub use self::references::{MissingReference, ReferenceKind, References};
use self::user::UserDatabase;
use self::volumes::Volumes;
use crate::pod_folder::{PodFolder, is_file_name};
use crate::pod_plan::{ContainerPlan, PodPlan, ResourceLimits, RestartBackoff, RestartPolicy};

/// The resource whose limit is the number of processes. Kubernetes has no such resource, and accepts other
/// resources only with a prefix.
const PIDS_RESOURCE: &str = "punctual.dev/pids";

/// The interval at which the sizes of volumes are checked, as in Kubernetes.
const SIZE_CHECK_MS: u64 = 10_000;

/// The parts of a plan that do not depend on the Pod.
#[derive(Clone, Debug)]
pub(crate) struct PlanSettings {
    pub(crate) restart_backoff: RestartBackoff,
    pub(crate) log_bytes_max: u64,
    pub(crate) use_cgroups: bool,
    /// The present boot of the machine.
    pub(crate) boot_id: String,
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
    /// The Pod may have been started before, and its data is lost, so it must not be started again.
    #[error("the Pod was started before, and what became of it is not known")]
    Lost,
    /// The Pod's folder could not be written.
    #[error("could not write the Pod's directory: {0}")]
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
    let users = UserDatabase::read();
    let inputs = PlanInputs { references, settings, volumes: &volumes, users: &users };
    let mut containers = Vec::new();
    for (list, _, container) in pod.spec.containers_in_order() {
        let mut plan = container_plan(pod, container, &inputs)?;
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
        memory_volumes: volumes.memory,
        size_limits: volumes.size_limits,
        size_check_ms: SIZE_CHECK_MS,
        boot_id: Some(settings.boot_id.clone()),
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

/// What the plans of all containers of a Pod are made from.
struct PlanInputs<'a> {
    references: &'a References,
    settings: &'a PlanSettings,
    volumes: &'a Volumes,
    users: &'a UserDatabase,
}

fn container_plan(
    pod: &Pod,
    container: &Container,
    inputs: &PlanInputs<'_>,
) -> Result<ContainerPlan, PrepareError> {
    let mut env = env::resolve(pod, container, inputs.references, inputs.settings)?;
    let arguments = container.command.iter().chain(&container.args);
    let command = arguments.map(|argument| expand::expand(argument, &env)).collect();
    let mounts = inputs.volumes.mounts(container, &env)?;
    let own_user = rustix::process::geteuid();
    let user = user::container_user(pod, container, inputs.users, own_user.as_raw())?;
    env::add_defaults(&mut env, pod, container, &user, inputs.volumes);
    let working_dir = container.working_dir.clone();
    Ok(ContainerPlan {
        name: container.name.clone(),
        is_init: false,
        unsupported: unsupported_reason(container),
        command,
        env: env.into_iter().collect(),
        working_dir: Some(working_dir).filter(|path| !path.is_empty()),
        mounts,
        // Only root can run containers as other users.
        has_scratch_mount: user.is_other && own_user.is_root(),
        has_pid_namespace: has_pid_namespace(pod)?,
        user: user.plan,
        security: security::security_plan(pod, container, own_user.is_root())?,
        limits: resource_limits(container),
        termination_message_path: container.termination_message_path.clone(),
        falls_back_to_logs: container.termination_message_policy == "FallbackToLogsOnError",
    })
}

/// Whether the containers of a Pod have PID namespaces. They are opt-in, because scripts signal services of
/// the machine by their process IDs.
fn has_pid_namespace(pod: &Pod) -> Result<bool, PrepareError> {
    let key = annotations::PID_NAMESPACE;
    match pod.metadata.annotation(key) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(PrepareError::Unsupported(format!(
            "the annotation {key} is {other:?}; set it to \"true\" or \"false\""
        ))),
    }
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

fn resource_limits(container: &Container) -> ResourceLimits {
    let limit = |name: &str| container.resources.limits.get(name);
    let amount = |amount: i64| u64::try_from(amount).ok();
    ResourceLimits {
        memory_bytes: limit("memory").and_then(|quantity| amount(quantity.value())),
        cpu_milli: limit("cpu").and_then(|quantity| amount(quantity.milli_value())),
        pids: limit(PIDS_RESOURCE).and_then(|quantity| amount(quantity.value())),
    }
}

/// Environment variables by name.
type Env = BTreeMap<String, String>;

/// Whether a relative path given by a user stays below the folder that it is joined to.
fn is_below(path: &Path) -> bool {
    use std::path::Component;
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
