//! Config maps and secrets that a Pod refers to.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use punctual_api::Pod;
use punctual_api::core_v1::{ConfigMap, Secret};
use punctual_api::pod::Volume;
use serde_json::Value;

use super::PrepareError;
use crate::state::reasons;

/// What is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    Secret,
}

/// Something that a Pod waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unmet {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// The version that was not good enough; empty if there was none.
    pub(crate) version: String,
    /// Why the containers wait.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// Everything that a Pod refers to, as far as it is there.
#[derive(Default)]
pub(crate) struct Sources(HashMap<(Kind, String), Source>);

/// The content of a config map or secret; not for `Debug`, which might end up in a log.
#[derive(Default)]
pub(crate) struct Source {
    version: String,
    pub(super) data: BTreeMap<String, Vec<u8>>,
}

/// A reference to a config map or secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference<'a> {
    pub(super) kind: Kind,
    pub(super) name: &'a str,
    pub(super) is_optional: bool,
    /// Why the containers wait if it is not there.
    pub(super) reason: &'static str,
}

impl Kind {
    /// The resource, in the plural.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Kind::ConfigMap => "configmaps",
            Kind::Secret => "secrets",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::ConfigMap => "ConfigMap",
            Kind::Secret => "Secret",
        }
    }
}

impl Sources {
    /// What has to be fetched for a Pod.
    pub(crate) fn wanted(pod: &Pod) -> Vec<(Kind, String)> {
        let mut wanted = Vec::new();
        for (_, _, container) in pod.spec.containers_in_order() {
            for from in &container.env_from {
                let named = |source: &punctual_api::pod::container::EnvSource| source.name.clone();
                wanted.extend(from.config_map_ref.as_ref().map(|r| (Kind::ConfigMap, named(r))));
                wanted.extend(from.secret_ref.as_ref().map(|r| (Kind::Secret, named(r))));
            }
            for from in container.env.iter().filter_map(|variable| variable.value_from.as_ref()) {
                let map = from.config_map_key_ref.as_ref();
                wanted.extend(map.map(|key| (Kind::ConfigMap, key.name.clone())));
                let secret = from.secret_key_ref.as_ref();
                wanted.extend(secret.map(|key| (Kind::Secret, key.name.clone())));
            }
        }
        wanted.extend(pod.spec.volumes.iter().flat_map(of_volume));
        wanted.sort();
        wanted.dedup();
        wanted
    }

    /// Adds what was fetched.
    pub(crate) fn add(&mut self, kind: Kind, name: String, object: Value) -> Result<(), String> {
        let wrong = |error: serde_json::Error| error.to_string();
        let source = match kind {
            Kind::ConfigMap => {
                let map: ConfigMap = serde_json::from_value(object).map_err(wrong)?;
                let texts = map.data.into_iter().map(|(key, text)| (key, text.into_bytes()));
                let data = texts.chain(decoded(&map.binary_data)).collect();
                Source { version: map.metadata.resource_version, data }
            }
            Kind::Secret => {
                let secret: Secret = serde_json::from_value(object).map_err(wrong)?;
                let data = decoded(&secret.data).collect();
                Source { version: secret.metadata.resource_version, data }
            }
        };
        self.0.insert((kind, name), source);
        Ok(())
    }

    /// What is referred to; none if it may be missing and is.
    pub(super) fn get(&self, reference: Reference<'_>) -> Result<Option<&Source>, PrepareError> {
        let Reference { kind, name, .. } = reference;
        match self.0.get(&(kind, name.to_owned())) {
            Some(source) => Ok(Some(source)),
            None if reference.is_optional => Ok(None),
            None => {
                let what = kind.name().to_lowercase();
                Err(self.unmet(reference, format!("{what} {name:?} not found")))
            }
        }
    }

    /// That something is not as it is needed.
    pub(super) fn unmet(&self, reference: Reference<'_>, message: String) -> PrepareError {
        let Reference { kind, name, reason, .. } = reference;
        let found = self.0.get(&(kind, name.to_owned()));
        let version = found.map(|source| source.version.clone()).unwrap_or_default();
        PrepareError::Unmet(Unmet { kind, name: name.to_owned(), version, reason, message })
    }
}

impl<'a> Reference<'a> {
    pub(super) fn of_env(kind: Kind, name: &'a str, optional: Option<bool>) -> Reference<'a> {
        let is_optional = optional == Some(true);
        Reference { kind, name, is_optional, reason: reasons::CONFIG_ERROR }
    }

    pub(super) fn of_volume(kind: Kind, name: &'a str, optional: Option<bool>) -> Reference<'a> {
        let is_optional = optional == Some(true);
        Reference { kind, name, is_optional, reason: reasons::CREATING }
    }
}

fn of_volume(volume: &Volume) -> Vec<(Kind, String)> {
    let map = volume.config_map.as_ref().map(|map| (Kind::ConfigMap, map.name.clone()));
    let secret = volume.secret.as_ref().map(|secret| (Kind::Secret, secret.secret_name.clone()));
    let projected = volume.extra.get("projected").and_then(|projected| projected.get("sources"));
    let parts = projected.and_then(Value::as_array).into_iter().flatten();
    let parts = parts.flat_map(|part| {
        let named = |field: &str, kind: Kind| {
            let name = part.pointer(&format!("/{field}/name")).and_then(Value::as_str);
            name.map(|name| (kind, name.to_owned()))
        };
        [named("configMap", Kind::ConfigMap), named("secret", Kind::Secret)].into_iter().flatten()
    });
    map.into_iter().chain(secret).chain(parts).collect()
}

/// Values in base64; the API has checked that they are.
fn decoded(data: &BTreeMap<String, String>) -> impl Iterator<Item = (String, Vec<u8>)> {
    data.iter().map(|(key, text)| {
        let text: String = text.split_ascii_whitespace().collect();
        (key.clone(), STANDARD.decode(text).unwrap_or_default())
    })
}
