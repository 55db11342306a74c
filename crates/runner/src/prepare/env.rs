//! Computes the environment variables of a container.

use punctual_api::Pod;
use punctual_api::pod::container::{EnvVar, EnvVarSource, KeySelector};
use punctual_api::pod::{Container, EnvFromSource};
use punctual_api::well_known::annotations;

use super::references::{DataReference, ReferenceKind, References};
use super::user::ContainerUser;
use super::volumes::Volumes;
use super::{Env, PlanSettings, PrepareError, expand, fields};
use crate::pod_plan::{
    CONTAINER_MARK, SCRATCH_MOUNT_POINT, TERMINATION_LOG_VARIABLE, container_mark,
};

/// The default of `PATH`.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables of `envFrom` and then those of `env`. A later variable replaces an earlier one and may
/// refer to it.
pub(super) fn resolve(
    pod: &Pod,
    container: &Container,
    references: &References,
    settings: &PlanSettings,
) -> Result<Env, PrepareError> {
    let mut env = Env::new();
    for from in &container.env_from {
        add_all(&mut env, from, references)?;
    }
    let resolver = ValueResolver { pod, container, references, settings };
    for variable in &container.env {
        let value = match &variable.value_from {
            None => Some(expand::expand(&variable.value, &env)),
            Some(from) => resolver.value(variable, from)?,
        };
        if let Some(value) = value {
            env.insert(variable.name.clone(), value);
        }
    }
    env.retain(|name, value| is_valid(name, value));
    Ok(env)
}

/// Adds the variables that every container has, unless the Pod sets them.
pub(super) fn add_defaults(
    env: &mut Env,
    pod: &Pod,
    container: &Container,
    user: &ContainerUser,
    volumes: &Volumes,
) {
    let host = match pod.spec.hostname.as_str() {
        "" => pod.metadata.name.clone(),
        host => host.to_owned(),
    };
    let scratch = if user.is_other {
        SCRATCH_MOUNT_POINT.to_owned()
    } else {
        volumes.scratch_folder(&container.name).to_string_lossy().into_owned()
    };
    let login_variables = match pod.metadata.annotation(annotations::LOGIN_VARIABLES) {
        Some("false") => vec![("HOME", scratch)],
        _ => user.login_variables(scratch),
    };
    // For systems on which the file cannot be mounted at its usual path.
    let termination_log = volumes.termination_log(&container.name).to_string_lossy().into_owned();
    let defaults = [
        ("PATH", PATH.to_owned()),
        ("HOSTNAME", host),
        (TERMINATION_LOG_VARIABLE, termination_log),
    ];
    for (name, value) in defaults.into_iter().chain(login_variables) {
        env.entry(name.to_owned()).or_insert(value);
    }
    for (name, value) in volumes.variables() {
        env.entry(name).or_insert(value);
    }
    // The supervisor finds the processes of the container by this variable, so a Pod cannot set it.
    env.insert(CONTAINER_MARK.to_owned(), container_mark(&pod.metadata.uid, &container.name));
}

/// Whether the system accepts a variable. Others are left out, as a kubelet does.
fn is_valid(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

fn add_all(
    env: &mut Env,
    from: &EnvFromSource,
    references: &References,
) -> Result<(), PrepareError> {
    let sources = [
        (ReferenceKind::ConfigMap, from.config_map_ref.as_ref()),
        (ReferenceKind::Secret, from.secret_ref.as_ref()),
    ];
    for (kind, source) in sources {
        let Some(source) = source else { continue };
        let reference = DataReference::from_env(kind, &source.name, source.optional);
        let Some(object) = references.get(reference)? else { continue };
        for (key, value) in &object.data {
            let value = String::from_utf8_lossy(value).into_owned();
            env.insert(format!("{}{key}", from.prefix), value);
        }
    }
    Ok(())
}

/// Resolves `valueFrom`.
struct ValueResolver<'a> {
    pod: &'a Pod,
    container: &'a Container,
    references: &'a References,
    settings: &'a PlanSettings,
}

impl ValueResolver<'_> {
    /// The value; `None` if it is optional and does not exist.
    fn value(
        &self,
        variable: &EnvVar,
        from: &EnvVarSource,
    ) -> Result<Option<String>, PrepareError> {
        let unsupported = |why: &str| {
            let container = &self.container.name;
            let name = &variable.name;
            PrepareError::Unsupported(format!("container {container:?}, variable {name:?}: {why}"))
        };
        if let Some(selector) = &from.field_ref {
            let value = fields::field(self.pod, selector);
            return value.map(Some).map_err(|error| unsupported(&error.to_string()));
        }
        if let Some(selector) = &from.resource_field_ref {
            let machine = self.settings.machine;
            let value = fields::resource(self.pod, self.container, selector, machine);
            return value.map(Some).map_err(|error| unsupported(&error.to_string()));
        }
        if let Some(key) = &from.config_map_key_ref {
            return self.key(ReferenceKind::ConfigMap, key);
        }
        if let Some(key) = &from.secret_key_ref {
            return self.key(ReferenceKind::Secret, key);
        }
        Err(unsupported("its kind of valueFrom is not supported"))
    }

    fn key(
        &self,
        kind: ReferenceKind,
        selector: &KeySelector,
    ) -> Result<Option<String>, PrepareError> {
        let reference = DataReference::from_env(kind, &selector.name, selector.optional);
        let Some(object) = self.references.get(reference)? else { return Ok(None) };
        match object.data.get(&selector.key) {
            Some(value) => Ok(Some(String::from_utf8_lossy(value).into_owned())),
            None if reference.is_optional => Ok(None),
            None => {
                let kind = kind.as_str();
                let namespace = &self.pod.metadata.namespace;
                let message = format!(
                    "couldn't find key {} in {kind} {namespace}/{}",
                    selector.key, selector.name
                );
                Err(self.references.missing(reference, message))
            }
        }
    }
}
