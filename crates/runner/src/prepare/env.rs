//! The environment of a container.

use punctual_api::Pod;
use punctual_api::pod::container::{EnvVar, EnvVarSource, KeySelector};
use punctual_api::pod::{Container, EnvFromSource};

use super::sources::{Kind, Reference, Sources};
use super::volumes::Volumes;
use super::{Env, PrepareError, Settings, expand, fields};
use crate::plan::{MARK, mark};

/// Where programs are looked for unless the container says otherwise.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables that the Pod asks for: whole sources first, then one by one; a later one replaces
/// an earlier one and may refer to it.
pub(super) fn resolve(
    pod: &Pod,
    container: &Container,
    sources: &Sources,
    settings: &Settings,
) -> Result<Env, PrepareError> {
    let mut env = Env::new();
    for from in &container.env_from {
        add_all(&mut env, from, sources)?;
    }
    for variable in &container.env {
        let value = match &variable.value_from {
            None => Some(expand::expand(&variable.value, &env)),
            Some(from) => {
                let place = Place { pod, container, sources, settings };
                place.value(variable, from)?
            }
        };
        if let Some(value) = value {
            env.insert(variable.name.clone(), value);
        }
    }
    env.retain(|name, value| is_variable(name, value));
    Ok(env)
}

/// What every container has, unless the Pod says otherwise.
pub(super) fn add_defaults(env: &mut Env, pod: &Pod, container: &Container, volumes: &Volumes) {
    let host = match pod.spec.hostname.as_str() {
        "" => pod.metadata.name.clone(),
        host => host.to_owned(),
    };
    // Another user has no way to the Pod's folder.
    let own = rustix::process::geteuid().as_raw();
    let home = match super::user(pod, container).user {
        Some(user) if user != own => "/".to_owned(),
        _ => volumes.scratch(&container.name).to_string_lossy().into_owned(),
    };
    // For where its usual place cannot be mounted.
    let words = volumes.last_words(&container.name).to_string_lossy().into_owned();
    let defaults = [
        ("PATH", PATH.to_owned()),
        ("HOSTNAME", host),
        ("HOME", home),
        ("PUNCTUAL_TERMINATION_LOG", words),
    ];
    let help = volumes.variables(container);
    for (name, value) in
        defaults.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(help)
    {
        env.entry(name).or_insert(value);
    }
    // By this the processes of a container are known, so it is not for the Pod to choose.
    env.insert(MARK.to_owned(), mark(&pod.metadata.uid, &container.name));
}

/// Names that the system cannot hold are passed over, as a kubelet does.
fn is_variable(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

fn add_all(env: &mut Env, from: &EnvFromSource, sources: &Sources) -> Result<(), PrepareError> {
    let references = [
        from.config_map_ref.as_ref().map(|map| (Kind::ConfigMap, map)),
        from.secret_ref.as_ref().map(|secret| (Kind::Secret, secret)),
    ];
    for (kind, source) in references.into_iter().flatten() {
        let reference = Reference::of_env(kind, &source.name, source.optional);
        for (key, value) in sources.get(reference)?.into_iter().flat_map(|source| &source.data) {
            let value = String::from_utf8_lossy(value).into_owned();
            env.insert(format!("{}{key}", from.prefix), value);
        }
    }
    Ok(())
}

/// Where a value is looked for.
struct Place<'a> {
    pod: &'a Pod,
    container: &'a Container,
    sources: &'a Sources,
    settings: &'a Settings,
}

impl Place<'_> {
    /// None if the value may be missing and is.
    fn value(
        &self,
        variable: &EnvVar,
        from: &EnvVarSource,
    ) -> Result<Option<String>, PrepareError> {
        let refused = |why: String| {
            let (container, name) = (&self.container.name, &variable.name);
            PrepareError::Refused(format!("container {container:?}, variable {name:?}: {why}"))
        };
        if let Some(selector) = &from.field_ref {
            return fields::field(self.pod, selector).map(Some).map_err(refused);
        }
        if let Some(selector) = &from.resource_field_ref {
            let machine = self.settings.machine;
            let value = fields::resource(self.pod, self.container, selector, machine);
            return value.map(Some).map_err(refused);
        }
        if let Some(key) = &from.config_map_key_ref {
            return self.key(Kind::ConfigMap, key);
        }
        if let Some(key) = &from.secret_key_ref {
            return self.key(Kind::Secret, key);
        }
        Err(refused("its kind of valueFrom is not supported".to_owned()))
    }

    fn key(&self, kind: Kind, selector: &KeySelector) -> Result<Option<String>, PrepareError> {
        let reference = Reference::of_env(kind, &selector.name, selector.optional);
        let Some(source) = self.sources.get(reference)? else { return Ok(None) };
        match source.data.get(&selector.key) {
            Some(value) => Ok(Some(String::from_utf8_lossy(value).into_owned())),
            None if reference.is_optional => Ok(None),
            None => {
                let (kind, namespace) = (kind.name(), &self.pod.metadata.namespace);
                let message = format!(
                    "couldn't find key {} in {kind} {namespace}/{}",
                    selector.key, selector.name
                );
                Err(self.sources.unmet(reference, message))
            }
        }
    }
}
