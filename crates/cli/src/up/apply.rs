//! Applies manifests with server-side apply: either all of them or none.
//!
//! Every document is checked before any is applied. First it is validated as `punctual validate` does,
//! before the data directory is opened. Then the server checks it against the existing objects in a
//! dry run. An error in one file therefore leaves everything unchanged. Applying the same manifests
//! again changes nothing.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;

use anyhow::bail;
use futures::{StreamExt as _, stream};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope, pinned_kind};
use kube::{Client, ResourceExt as _};
use punctual_api::Dialect;
use punctual_schedule::Zone;
use serde_json::Value;

use crate::manifest::{self, Document, SourceLocation};
use crate::validate;

/// The field manager of applied fields.
const FIELD_MANAGER: &str = "punctual-up";
/// The maximum number of concurrent requests.
const CONCURRENT_MAX: usize = 64;
/// The maximum number of errors shown.
const ERRORS_SHOWN_MAX: usize = 20;

/// An applied object and how it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AppliedObject {
    /// The kind, namespace and name, such as `CronJob default/hello`.
    pub(super) object: String,
    pub(super) result: ApplyResult,
}

/// How applying changed an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ApplyResult {
    Created,
    Configured,
    Unchanged,
}

impl fmt::Display for ApplyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ApplyResult::Created => "created",
            ApplyResult::Configured => "configured",
            ApplyResult::Unchanged => "unchanged",
        })
    }
}

/// Reads the documents of all files. Fails if any of them is invalid.
pub(super) fn read_manifests(
    paths: &[PathBuf],
    dialect: Dialect,
    zone: &Zone,
) -> anyhow::Result<Vec<Document>> {
    match validate::require_valid(manifest::read(paths), dialect, zone) {
        Ok(documents) => Ok(documents),
        Err(errors) => reject(&errors),
    }
}

/// Applies all documents. Fails before the first write if the server rejects any of them.
pub(super) async fn apply(
    client: Client,
    documents: Vec<Document>,
) -> anyhow::Result<Vec<AppliedObject>> {
    let objects = resolve_all(&client, documents).await?;
    let versions = dry_run_all(&objects).await?;
    let mut applied = Vec::new();
    // Namespaces are written first because the other objects need them.
    for is_namespace_pass in [true, false] {
        let pass = objects.iter().zip(&versions);
        let pass = pass.filter(|(object, _)| object.is_namespace() == is_namespace_pass);
        let mut writes =
            stream::iter(pass.map(|(object, version)| object.write(version.as_deref())))
                .buffered(CONCURRENT_MAX);
        while let Some(written) = writes.next().await {
            applied.push(written?);
        }
    }
    Ok(applied)
}

/// Returns the error that lists the problems of all manifests.
fn reject<T>(errors: &[impl fmt::Display]) -> anyhow::Result<T> {
    let mut text =
        String::from("nothing was applied or started, because the manifests have errors:");
    for error in errors.iter().take(ERRORS_SHOWN_MAX) {
        text.push_str(&format!("\n  {error}"));
    }
    let more = errors.len().saturating_sub(ERRORS_SHOWN_MAX);
    if more > 0 {
        text.push_str(&format!("\n  and {more} more"));
    }
    bail!(text)
}

/// An error in one document of a manifest.
#[derive(Debug)]
struct ManifestError {
    location: SourceLocation,
    kind: String,
    /// Empty if the document has no name.
    name: String,
    message: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ManifestError { location, kind, name, message } = self;
        let separator = if name.is_empty() { "" } else { " " };
        write!(f, "{location}, {kind}{separator}{name}: {message}")
    }
}

impl std::error::Error for ManifestError {}

/// A document and the API endpoint of its object.
struct ManifestObject {
    location: SourceLocation,
    value: Value,
    api: Api<DynamicObject>,
    kind: String,
    /// Empty for cluster-scoped objects.
    namespace: String,
    name: String,
}

/// The `apiVersion` and `kind` of an object.
type KindKey = (String, String);

/// The discovery results by kind. `None` means that the server does not serve the kind.
type KindCache = HashMap<KindKey, Option<(ApiResource, ApiCapabilities)>>;

/// Determines the API endpoints of all documents. Fails if an object occurs twice.
async fn resolve_all(
    client: &Client,
    documents: Vec<Document>,
) -> anyhow::Result<Vec<ManifestObject>> {
    let mut objects: Vec<ManifestObject> = Vec::new();
    let mut errors = Vec::new();
    let mut kinds = KindCache::new();
    let mut locations = HashMap::new();
    for document in documents {
        let object = match resolve(client, document, &mut kinds).await {
            Ok(object) => object,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let key = (object.api.resource_url().to_owned(), object.name.clone());
        match locations.insert(key, object.location.clone()) {
            Some(first) => errors.push(object.locate_error(format!("is already in {first}"))),
            None => objects.push(object),
        }
    }
    if errors.is_empty() { Ok(objects) } else { reject(&errors) }
}

async fn resolve(
    client: &Client,
    document: Document,
    kinds: &mut KindCache,
) -> Result<ManifestObject, ManifestError> {
    let Document { location, value, .. } = document;
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion").to_owned();
    let kind = text("/kind").to_owned();
    let namespace = text("/metadata/namespace");
    let name = text("/metadata/name").to_owned();
    if name.is_empty() {
        let message = format!("metadata.name: {}", validate::NAME_REQUIRED);
        return Err(ManifestError { location, kind, name, message });
    }
    let key = (api_version, kind);
    let found = match kinds.get(&key) {
        Some(found) => found.clone(),
        None => kinds.entry(key.clone()).or_insert(discover_kind(client, &key).await).clone(),
    };
    let (api_version, kind) = key;
    let Some((resource, capabilities)) = found else {
        let message = format!("no matches for kind {kind:?} in version {api_version:?}");
        return Err(ManifestError { location, kind, name, message });
    };
    if matches!(capabilities.scope, Scope::Cluster) {
        let api = Api::all_with(client.clone(), &resource);
        return Ok(ManifestObject { location, value, api, kind, namespace: String::new(), name });
    }
    let namespace = if namespace.is_empty() { "default" } else { namespace }.to_owned();
    let api = Api::namespaced_with(client.clone(), &namespace, &resource);
    Ok(ManifestObject { location, value, api, kind, namespace, name })
}

async fn discover_kind(client: &Client, key: &KindKey) -> Option<(ApiResource, ApiCapabilities)> {
    let (api_version, kind) = key;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    pinned_kind(client, &GroupVersionKind::gvk(group, version, kind)).await.ok()
}

/// Sends every object to the server as a dry run. Returns the resource versions of existing objects.
async fn dry_run_all(objects: &[ManifestObject]) -> anyhow::Result<Vec<Option<String>>> {
    let namespaces = objects.iter().filter(|object| object.is_namespace());
    let new_namespaces: HashSet<&str> = namespaces.map(|object| object.name.as_str()).collect();
    let dry_runs = stream::iter(objects.iter().map(|object| object.dry_run(&new_namespaces)));
    let results: Vec<_> = dry_runs.buffered(CONCURRENT_MAX).collect().await;
    let mut versions = Vec::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(version) => versions.push(version),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(versions) } else { reject(&errors) }
}

impl ManifestObject {
    fn is_namespace(&self) -> bool {
        self.kind == "Namespace" && self.namespace.is_empty()
    }

    fn locate_error(&self, message: String) -> ManifestError {
        ManifestError {
            location: self.location.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            message,
        }
    }

    /// Applies the object as a dry run and returns the resource version of the existing object.
    ///
    /// The server returns 404 for an object whose namespace is applied together with it. That is not an
    /// error, because the object has already been validated without the server.
    async fn dry_run(
        &self,
        new_namespaces: &HashSet<&str>,
    ) -> Result<Option<String>, ManifestError> {
        let existing = self.api.get_opt(&self.name).await;
        let existing = existing.map_err(|error| self.locate_error(api_message(&error)))?;
        match self.patch(&apply_params().dry_run()).await {
            Err(kube::Error::Api(status))
                if status.code == 404 && new_namespaces.contains(self.namespace.as_str()) =>
            {
                Ok(None)
            }
            Err(error) => Err(self.locate_error(api_message(&error))),
            Ok(_) => Ok(existing.and_then(|existing| existing.resource_version())),
        }
    }

    async fn write(&self, version_before: Option<&str>) -> Result<AppliedObject, ManifestError> {
        let written = self.patch(&apply_params()).await;
        let written = written.map_err(|error| self.locate_error(api_message(&error)))?;
        let result = match version_before {
            None => ApplyResult::Created,
            Some(before) if written.resource_version().as_deref() == Some(before) => {
                ApplyResult::Unchanged
            }
            Some(_) => ApplyResult::Configured,
        };
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let object = format!("{} {}{slash}{}", self.kind, self.namespace, self.name);
        Ok(AppliedObject { object, result })
    }

    async fn patch(&self, params: &PatchParams) -> kube::Result<DynamicObject> {
        self.api.patch(&self.name, params, &Patch::Apply(&self.value)).await
    }
}

fn apply_params() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force().validation_strict()
}

/// Returns the server's message if there is one.
fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
