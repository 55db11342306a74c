//! One object of a manifest: finds its API endpoint, and applies it with server-side apply.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope, pinned_kind};
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use super::last_applied;
use crate::manifest::{Document, SourceLocation};
use crate::{output, validate};

/// The field manager of applied fields.
const FIELD_MANAGER: &str = "punctual-up";

/// An applied object and how it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::up) struct AppliedObject {
    /// The kind, namespace and name, such as `CronJob default/hello`.
    pub(in crate::up) object: String,
    pub(in crate::up) result: ApplyResult,
}

/// How applying changed an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::up) enum ApplyResult {
    Created,
    Configured,
    Unchanged,
    Pruned,
}

impl ApplyResult {
    pub(in crate::up) const ALL: [ApplyResult; 4] = [
        ApplyResult::Created,
        ApplyResult::Configured,
        ApplyResult::Unchanged,
        ApplyResult::Pruned,
    ];
}

impl fmt::Display for ApplyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ApplyResult::Created => "created",
            ApplyResult::Configured => "configured",
            ApplyResult::Unchanged => "unchanged",
            ApplyResult::Pruned => "pruned",
        })
    }
}

/// Identifies an object, whichever version of its kind a manifest uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ObjectKey {
    pub(super) group: String,
    pub(super) kind: String,
    /// Empty for cluster-scoped objects.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl ObjectKey {
    pub(super) fn is_namespace(&self) -> bool {
        self.kind == "Namespace" && self.group.is_empty()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}", self.kind, self.namespace, self.name)
    }
}

/// An error in one document of a manifest.
#[derive(Debug)]
pub(super) struct ManifestError {
    location: SourceLocation,
    kind: String,
    /// Empty if the document has no name.
    name: String,
    message: String,
    /// Whether the same request may succeed later.
    pub(super) is_temporary: bool,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ManifestError { location, kind, name, message, .. } = self;
        let separator = if name.is_empty() { "" } else { " " };
        let message = shorten(&output::one_line(message));
        write!(f, "{location}, {kind}{separator}{name}: {message}")
    }
}

impl std::error::Error for ManifestError {}

/// Cuts a long message in the middle: Kubernetes prints the whole value of an immutable field before it says so.
fn shorten(message: &str) -> String {
    const PART_MAX: usize = 300;
    let length = message.chars().count();
    if length <= 2 * PART_MAX {
        return message.to_owned();
    }
    let start: String = message.chars().take(PART_MAX).collect();
    let end: String = message.chars().skip(length - PART_MAX).collect();
    format!("{start} … {end}")
}

/// A document and the API endpoint of its object.
pub(super) struct ManifestObject {
    pub(super) location: SourceLocation,
    pub(super) key: ObjectKey,
    /// The file; `None` for standard input.
    pub(super) file: Option<PathBuf>,
    /// Differs if the object to apply differs.
    pub(super) digest: u64,
    value: Value,
    api: Api<DynamicObject>,
}

/// The `apiVersion` and `kind` of an object.
type KindKey = (String, String);

/// The kinds that the server serves, as far as they were looked up.
#[derive(Default)]
pub(super) struct KindCache(HashMap<KindKey, (ApiResource, ApiCapabilities)>);

impl KindCache {
    async fn find(
        &mut self,
        client: &Client,
        key: &KindKey,
    ) -> Option<&(ApiResource, ApiCapabilities)> {
        if !self.0.contains_key(key) {
            let (api_version, kind) = key;
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let kind = GroupVersionKind::gvk(group, version, kind);
            self.0.insert(key.clone(), pinned_kind(client, &kind).await.ok()?);
        }
        self.0.get(key)
    }
}

/// Finds the API endpoint of a document.
pub(super) async fn resolve(
    client: &Client,
    document: Document,
    file: Option<&Path>,
    kinds: &mut KindCache,
) -> Result<ManifestObject, ManifestError> {
    let Document { location, value, .. } = document;
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion").to_owned();
    let kind = text("/kind").to_owned();
    let name = text("/metadata/name").to_owned();
    let fail = |message: String| ManifestError {
        location: location.clone(),
        kind: kind.clone(),
        name: name.clone(),
        message,
        is_temporary: false,
    };
    if name.is_empty() {
        return Err(fail(format!("metadata.name: {}", validate::NAME_REQUIRED)));
    }
    let key = (api_version.clone(), kind.clone());
    let Some((resource, capabilities)) = kinds.find(client, &key).await else {
        return Err(fail(format!("no matches for kind {kind:?} in version {api_version:?}")));
    };
    let is_cluster_scoped = matches!(capabilities.scope, Scope::Cluster);
    let namespace = match text("/metadata/namespace") {
        _ if is_cluster_scoped => "",
        "" => "default",
        namespace => namespace,
    };
    let api = if is_cluster_scoped {
        Api::all_with(client.clone(), resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, resource)
    };
    let key =
        ObjectKey { group: resource.group.clone(), kind, namespace: namespace.to_owned(), name };
    let value = last_applied::annotate(value, &key.namespace, file);
    let file = file.map(Path::to_owned);
    Ok(ManifestObject { location, digest: digest(&value), key, file, value, api })
}

/// Only compared within this process.
fn digest(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The existing object before it is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExistingObject {
    Absent,
    /// With its resource version.
    Version(String),
}

impl ManifestObject {
    pub(super) fn locate_error(&self, message: String) -> ManifestError {
        ManifestError {
            location: self.location.clone(),
            kind: self.key.kind.clone(),
            name: self.key.name.clone(),
            message,
            is_temporary: false,
        }
    }

    fn api_error(&self, error: &kube::Error) -> ManifestError {
        let is_temporary = match error {
            kube::Error::Api(status) => {
                status.code >= 500 || [408, 409, 429].contains(&status.code)
            }
            _ => true,
        };
        ManifestError { is_temporary, ..self.locate_error(api_message(error)) }
    }

    /// Applies the object as a dry run and returns what exists.
    ///
    /// The server returns 404 for an object whose namespace is applied together with it. That is not an
    /// error, because the object has already been validated without the server.
    pub(super) async fn dry_run(
        &self,
        is_namespace_new: bool,
    ) -> Result<ExistingObject, ManifestError> {
        let existing = self.api.get_opt(&self.key.name).await;
        let existing = existing.map_err(|error| self.api_error(&error))?;
        match self.patch(&apply_params().dry_run()).await {
            Err(kube::Error::Api(status)) if status.code == 404 && is_namespace_new => {
                Ok(ExistingObject::Absent)
            }
            Err(error) => Err(self.api_error(&error)),
            Ok(_) => {
                let version = existing.and_then(|existing| existing.resource_version());
                Ok(version.map_or(ExistingObject::Absent, ExistingObject::Version))
            }
        }
    }

    pub(super) async fn write(
        &self,
        before: &ExistingObject,
    ) -> Result<AppliedObject, ManifestError> {
        let written = self.patch(&apply_params()).await;
        let written = written.map_err(|error| self.api_error(&error))?;
        let result = match before {
            ExistingObject::Absent => ApplyResult::Created,
            ExistingObject::Version(before)
                if written.resource_version().as_deref() == Some(before) =>
            {
                ApplyResult::Unchanged
            }
            ExistingObject::Version(_) => ApplyResult::Configured,
        };
        Ok(AppliedObject { object: self.key.to_string(), result })
    }

    async fn patch(&self, params: &PatchParams) -> kube::Result<DynamicObject> {
        self.api.patch(&self.key.name, params, &Patch::Apply(&self.value)).await
    }
}

fn apply_params() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force().validation_strict()
}

/// Returns the server's message if there is one.
pub(super) fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
