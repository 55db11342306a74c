//! From a Pod to a plan: everything that a supervisor must not have to ask for.
//!
//! What the Pod refers to is fetched first ([`Sources`]); the rest needs no API. A reference that
//! leads nowhere is not an error but something to wait for ([`Unmet`]).

mod env;
mod expand;
mod fields;
mod sources;
mod volumes;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use punctual_api::Pod;
use punctual_api::pod::Container;

pub(crate) use self::fields::ADDRESS;
pub(crate) use self::sources::{Kind, Sources, Unmet};
use self::volumes::Volumes;
use crate::folder::{Folder, is_name};
use crate::plan::{ContainerPlan, Limits, PodPlan, RestartPolicy, Timing, UserPlan};

/// What the runner adds to every Pod's plan.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) timing: Timing,
    pub(crate) log_bytes_max: u64,
    pub(crate) cgroups: bool,
    /// Processors and memory of the machine, for limits that a Pod does not set.
    pub(crate) machine: Machine,
}

/// What the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) cpus: u64,
    pub(crate) memory_bytes: u64,
}

/// Why a Pod has no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepareError {
    /// Something it refers to is not there yet.
    #[error("{}", .0.message)]
    Unmet(Unmet),
    /// It cannot be run as it is, now or ever.
    #[error("{0}")]
    Refused(String),
    #[error("the Pod's folder cannot be written")]
    Io(#[from] io::Error),
}

/// Makes the Pod's folder and writes its plan there. Blocks on the disk.
pub(crate) fn prepare(
    pod: &Pod,
    sources: &Sources,
    folder: &Folder,
    settings: &Settings,
) -> Result<(), PrepareError> {
    check_names(pod)?;
    folder.create()?;
    let volumes = volumes::create(pod, sources, folder, settings)?;
    let mut containers = Vec::new();
    for (list, _, container) in pod.spec.containers_in_order() {
        let mut plan = container_plan(pod, container, sources, &volumes, settings)?;
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
        timing: settings.timing,
        log_bytes_max: settings.log_bytes_max,
        cgroups: settings.cgroups,
    })?;
    Ok(())
}

/// Names become names of files. The API sees to that; here it is not left to it.
fn check_names(pod: &Pod) -> Result<(), PrepareError> {
    let containers = pod.spec.containers_in_order().map(|(_, _, container)| &container.name);
    let mut names = containers.chain(pod.spec.volumes.iter().map(|volume| &volume.name));
    match names.find(|name| !is_name(name)) {
        Some(name) => Err(PrepareError::Refused(format!("{name:?} cannot be a name here"))),
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
    sources: &Sources,
    volumes: &Volumes,
    settings: &Settings,
) -> Result<ContainerPlan, PrepareError> {
    let mut env = env::resolve(pod, container, sources, settings)?;
    let known = env.clone();
    let words = container.command.iter().chain(&container.args);
    let command = words.map(|word| expand::expand(word, &known)).collect();
    let mounts = volumes.mounts(container, &known)?;
    env::add_defaults(&mut env, pod, container, volumes);
    let is_set = |text: &String| !text.is_empty();
    Ok(ContainerPlan {
        name: container.name.clone(),
        is_init: false,
        refusal: refusal(container),
        command,
        env: env.into_iter().collect(),
        working_dir: Some(container.working_dir.clone()).filter(is_set),
        mounts,
        user: user(pod, container),
        limits: limits(container),
        termination_message_path: container.termination_message_path.clone(),
        falls_back_to_logs: container.termination_message_policy == "FallbackToLogsOnError",
    })
}

/// Why a container cannot be run by anyone here.
fn refusal(container: &Container) -> Option<String> {
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

fn user(pod: &Pod, container: &Container) -> UserPlan {
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

fn limits(container: &Container) -> Limits {
    let limit = |name: &str| container.resources.limits.get(name);
    let amount = |amount: i64| u64::try_from(amount).ok();
    Limits {
        memory_bytes: limit("memory").and_then(|quantity| amount(quantity.value())),
        cpu_milli: limit("cpu").and_then(|quantity| amount(quantity.milli_value())),
        pids: limit("pids").and_then(|quantity| amount(quantity.value())),
    }
}

/// Variables by name.
type Env = BTreeMap<String, String>;

/// Whether a path that users wrote stays where it is put.
fn is_inside(path: &Path) -> bool {
    use std::path::Component;
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
