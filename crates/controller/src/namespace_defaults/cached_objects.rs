//! The objects that the namespace defaults controller watches. It creates the default ServiceAccount
//! and the ConfigMap of the root certificate in each namespace.

use std::collections::BTreeMap;

use punctual_api::Time;
use punctual_api::meta::StringMap;
use punctual_client::CachedFields;
use serde::Deserialize;

use super::ROOT_CA;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CachedMeta {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    pub(super) deletion_timestamp: Option<Time>,
    pub(super) annotations: StringMap,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CachedNamespace {
    pub(super) metadata: CachedMeta,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CachedServiceAccount {
    pub(super) metadata: CachedMeta,
}

/// A ConfigMap. The data is parsed only if it is the ConfigMap of the root certificate.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedConfigMap {
    pub(super) metadata: CachedMeta,
    pub(super) data: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MetadataOnly {
    metadata: CachedMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DataOnly {
    data: BTreeMap<String, String>,
}

impl CachedFields for CachedNamespace {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl CachedFields for CachedServiceAccount {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl CachedFields for CachedConfigMap {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let MetadataOnly { metadata } = serde_json::from_str(text)?;
        let data = if metadata.name == ROOT_CA {
            serde_json::from_str::<DataOnly>(text)?.data
        } else {
            BTreeMap::new()
        };
        Ok(CachedConfigMap { metadata, data })
    }
}
