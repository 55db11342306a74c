//! What is read of the objects that matter to the furnisher.

use std::collections::BTreeMap;

use punctual_api::Time;
use punctual_api::meta::StringMap;
use punctual_client::CachedFields;
use serde::Deserialize;

use super::ROOT_CA;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    pub(super) deletion_timestamp: Option<Time>,
    pub(super) annotations: StringMap,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Namespace {
    pub(super) metadata: Meta,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Account {
    pub(super) metadata: Meta,
}

/// Of most config maps only the metadata is read.
#[derive(Clone, Debug, Default)]
pub(super) struct ConfigMap {
    pub(super) metadata: Meta,
    pub(super) data: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Data {
    data: BTreeMap<String, String>,
}

impl CachedFields for Namespace {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl CachedFields for Account {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl CachedFields for ConfigMap {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let Account { metadata } = serde_json::from_str(text)?;
        let data = match metadata.name == ROOT_CA {
            true => serde_json::from_str::<Data>(text)?.data,
            false => BTreeMap::new(),
        };
        Ok(ConfigMap { metadata, data })
    }
}
