//! Changes of the Job template that a RunRequest asks for.

use punctual_api::CronJob;
use punctual_api::run_request::{ContainerOverride, RunOverrides};
use serde_json::value::to_raw_value;

use super::job_manifest::{RawObject, read_field, take_field};

/// The fields of a Pod spec that hold containers.
const CONTAINER_LISTS: [&str; 2] = ["containers", "initContainers"];

/// Changes the spec of a Job. Fields that this version does not know are preserved.
pub(crate) fn apply(
    job_spec: &mut RawObject,
    overrides: &RunOverrides,
) -> Result<(), serde_json::Error> {
    let mut template: RawObject = take_field(job_spec, "template")?;
    let mut pod_spec: RawObject = take_field(&mut template, "spec")?;
    for list in CONTAINER_LISTS {
        if !pod_spec.contains_key(list) {
            continue;
        }
        let mut containers: Vec<RawObject> = take_field(&mut pod_spec, list)?;
        for container in &mut containers {
            let name: String = read_field(container, "name")?;
            let changes = overrides.containers.iter().filter(|change| change.name == name);
            for change in changes {
                apply_to_container(container, change)?;
            }
        }
        pod_spec.insert(list.into(), to_raw_value(&containers)?);
    }
    template.insert("spec".into(), to_raw_value(&pod_spec)?);
    job_spec.insert("template".into(), to_raw_value(&template)?);
    Ok(())
}

fn apply_to_container(
    container: &mut RawObject,
    change: &ContainerOverride,
) -> Result<(), serde_json::Error> {
    if let Some(args) = &change.args {
        container.insert("args".into(), to_raw_value(args)?);
    }
    if change.env.is_empty() {
        return Ok(());
    }
    let mut env: Vec<RawObject> = take_field(container, "env")?;
    for variable in &change.env {
        let mut kept = Vec::with_capacity(env.len() + 1);
        for existing in env {
            let name: String = read_field(&existing, "name")?;
            if name != variable.name {
                kept.push(existing);
            }
        }
        kept.push(serde_json::from_str(&serde_json::to_string(variable)?)?);
        env = kept;
    }
    container.insert("env".into(), to_raw_value(&env)?);
    Ok(())
}

/// Returns the name of a container that the overrides change and the template does not have.
pub(crate) fn find_unknown_container<'a>(
    cron_job: &CronJob,
    overrides: Option<&'a RunOverrides>,
) -> Option<&'a str> {
    let overrides = overrides?;
    let template = cron_job.job_template().unwrap_or_default();
    let pod_spec = &template.spec.template.spec;
    let is_known = |name: &str| {
        let mut containers = pod_spec.containers.iter().chain(&pod_spec.init_containers);
        containers.any(|container| container.name == name)
    };
    let mut names = overrides.containers.iter().map(|change| change.name.as_str());
    names.find(|name| !is_known(name))
}
