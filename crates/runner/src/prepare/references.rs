//! The config maps and secrets that a Pod refers to: which ones, their contents, and which are
//! missing.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use punctual_api::Pod;
use punctual_api::core_v1::{ConfigMap, Secret};
use punctual_api::pod::Volume;
use punctual_api::pod::container::EnvSource;
use punctual_client::ResourceType;
use punctual_client::resources::{CONFIG_MAPS, SECRETS};
use serde_json::Value;

use super::PrepareError;
use crate::pod_state::reasons;

/// The kind of an object that a Pod refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReferenceKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

/// An object that a Pod waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingReference {
    /// The kind.
    pub kind: ReferenceKind,
    /// The name.
    pub name: String,
    /// The resourceVersion of the object that lacks a key; empty if the object does not exist.
    pub resource_version: String,
    /// The reason of the waiting containers.
    pub reason: &'static str,
    /// The message for users.
    pub message: String,
}

/// The config maps and secrets that a Pod refers to and that exist.
#[derive(Default)]
pub struct References(HashMap<(ReferenceKind, String), ObjectData>);

/// The content of a config map or secret. It has no `Debug`, so that secrets are not logged.
#[derive(Default)]
pub(super) struct ObjectData {
    resource_version: String,
    pub(super) data: BTreeMap<String, Vec<u8>>,
}

/// A reference to a config map or secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataReference<'a> {
    pub(super) kind: ReferenceKind,
    pub(super) name: &'a str,
    pub(super) is_optional: bool,
    /// The reason of the containers that wait for it.
    pub(super) waiting_reason: &'static str,
}

impl ReferenceKind {
    pub(crate) fn resource(self) -> &'static ResourceType {
        match self {
            ReferenceKind::ConfigMap => &CONFIG_MAPS,
            ReferenceKind::Secret => &SECRETS,
        }
    }

    /// The kind, such as `ConfigMap`.
    pub(crate) fn as_str(self) -> &'static str {
        self.resource().kind
    }
}

impl References {
    /// The objects that a Pod refers to.
    pub(crate) fn find_in_pod(pod: &Pod) -> Vec<(ReferenceKind, String)> {
        let mut found = Vec::new();
        for (_, _, container) in pod.spec.containers_in_order() {
            for from in &container.env_from {
                let name = |source: &EnvSource| source.name.clone();
                let config_map = from.config_map_ref.as_ref().map(name);
                found.extend(config_map.map(|name| (ReferenceKind::ConfigMap, name)));
                let secret = from.secret_ref.as_ref().map(name);
                found.extend(secret.map(|name| (ReferenceKind::Secret, name)));
            }
            for from in container.env.iter().filter_map(|variable| variable.value_from.as_ref()) {
                let config_map = from.config_map_key_ref.as_ref();
                found.extend(config_map.map(|key| (ReferenceKind::ConfigMap, key.name.clone())));
                let secret = from.secret_key_ref.as_ref();
                found.extend(secret.map(|key| (ReferenceKind::Secret, key.name.clone())));
            }
        }
        found.extend(pod.spec.volumes.iter().flat_map(references_of_volume));
        found.sort();
        found.dedup();
        found
    }

    /// Adds an object that was fetched.
    pub(crate) fn add(
        &mut self,
        kind: ReferenceKind,
        name: String,
        object: Value,
    ) -> Result<(), serde_json::Error> {
        let object = match kind {
            ReferenceKind::ConfigMap => {
                let map: ConfigMap = serde_json::from_value(object)?;
                let texts = map.data.into_iter().map(|(key, text)| (key, text.into_bytes()));
                let data = texts.chain(decode_base64(&map.binary_data)).collect();
                ObjectData { resource_version: map.metadata.resource_version, data }
            }
            ReferenceKind::Secret => {
                let secret: Secret = serde_json::from_value(object)?;
                let data = decode_base64(&secret.data).collect();
                ObjectData { resource_version: secret.metadata.resource_version, data }
            }
        };
        self.0.insert((kind, name), object);
        Ok(())
    }

    /// The object of a reference; `None` if it is optional and does not exist.
    pub(super) fn get(
        &self,
        reference: DataReference<'_>,
    ) -> Result<Option<&ObjectData>, PrepareError> {
        let DataReference { kind, name, .. } = reference;
        match self.0.get(&(kind, name.to_owned())) {
            Some(object) => Ok(Some(object)),
            None if reference.is_optional => Ok(None),
            None => {
                let kind = kind.as_str().to_lowercase();
                Err(self.missing(reference, format!("{kind} {name:?} not found")))
            }
        }
    }

    /// The error for an object that does not exist or lacks a key.
    pub(super) fn missing(&self, reference: DataReference<'_>, message: String) -> PrepareError {
        let DataReference { kind, name, waiting_reason, .. } = reference;
        let found = self.0.get(&(kind, name.to_owned()));
        PrepareError::MissingReference(MissingReference {
            kind,
            name: name.to_owned(),
            resource_version: found.map(|found| found.resource_version.clone()).unwrap_or_default(),
            reason: waiting_reason,
            message,
        })
    }
}

impl<'a> DataReference<'a> {
    pub(super) fn from_env(
        kind: ReferenceKind,
        name: &'a str,
        optional: Option<bool>,
    ) -> DataReference<'a> {
        let is_optional = optional == Some(true);
        DataReference { kind, name, is_optional, waiting_reason: reasons::CONFIG_ERROR }
    }

    pub(super) fn from_volume(
        kind: ReferenceKind,
        name: &'a str,
        optional: Option<bool>,
    ) -> DataReference<'a> {
        let is_optional = optional == Some(true);
        DataReference { kind, name, is_optional, waiting_reason: reasons::CREATING }
    }
}

fn references_of_volume(volume: &Volume) -> Vec<(ReferenceKind, String)> {
    let mut found = Vec::new();
    if let Some(map) = &volume.config_map {
        found.push((ReferenceKind::ConfigMap, map.name.clone()));
    }
    if let Some(secret) = &volume.secret {
        found.push((ReferenceKind::Secret, secret.secret_name.clone()));
    }
    let projected = volume.extra.get("projected").and_then(|projected| projected.get("sources"));
    for source in projected.and_then(Value::as_array).into_iter().flatten() {
        let name = |field: &str| {
            let name = source.pointer(&format!("/{field}/name")).and_then(Value::as_str);
            name.map(str::to_owned)
        };
        found.extend(name("configMap").map(|name| (ReferenceKind::ConfigMap, name)));
        found.extend(name("secret").map(|name| (ReferenceKind::Secret, name)));
    }
    found
}

/// Decodes base64 values. The API server has validated them.
fn decode_base64(data: &BTreeMap<String, String>) -> impl Iterator<Item = (String, Vec<u8>)> {
    data.iter().map(|(key, text)| {
        let text: String = text.split_ascii_whitespace().collect();
        (key.clone(), STANDARD.decode(text).unwrap_or_default())
    })
}
