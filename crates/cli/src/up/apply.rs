//! Manifests into objects: server-side apply, all or none.
//!
//! Every document is checked before any is applied: by itself as `punctual validate` does, before
//! the data folder is even opened, and then by the server in a dry run, which knows what is there
//! already. So whoever has a mistake in one of many files finds everything as it was. Applying the
//! same again changes nothing.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;

use anyhow::bail;
use futures::{StreamExt as _, stream};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope, pinned_kind};
use kube::{Client, ResourceExt as _};
use punctual_schedule::Zone;
use serde_json::Value;

use crate::manifest::{self, Document, SourceLocation};
use crate::validate;

/// Whose fields they are.
const FIELD_MANAGER: &str = "punctual-up";
/// ApplyResult many objects are on their way at a time.
const CONCURRENT_MAX: usize = 64;
/// So many mistakes are told at once.
const ERRORS_SHOWN_MAX: usize = 20;

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AppliedObject {
    /// `CronJob default/hello`
    pub(super) object: String,
    pub(super) result: ApplyResult,
}

/// ApplyResult an object was changed.
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

/// The documents of all files, if there is nothing wrong with any of them.
pub(super) fn read(paths: &[PathBuf], zone: &Zone) -> anyhow::Result<Vec<Document>> {
    match validate::require_valid(manifest::read(paths), zone) {
        Ok(documents) => Ok(documents),
        Err(errors) => reject(&errors),
    }
}

/// Applies documents, if the server has no objection to any of them.
pub(super) async fn apply(
    client: Client,
    documents: Vec<Document>,
) -> anyhow::Result<Vec<AppliedObject>> {
    let objects = resolve_all(&client, documents).await?;
    let there = dry_run_all(&objects).await?;
    let mut applied = Vec::new();
    // What lives in a namespace needs it.
    for wants_namespaces in [true, false] {
        let wave = objects.iter().zip(&there);
        let wave = wave.filter(|(object, _)| object.is_namespace() == wants_namespaces);
        let mut wave = stream::iter(wave.map(|(object, there)| object.write(there.as_deref())))
            .buffered(CONCURRENT_MAX);
        while let Some(written) = wave.next().await {
            applied.push(written.map_err(anyhow::Error::msg)?);
        }
    }
    Ok(applied)
}

fn reject<T>(errors: &[String]) -> anyhow::Result<T> {
    let shown = errors.iter().take(ERRORS_SHOWN_MAX).map(|error| format!("\n  {error}"));
    let more = errors.len().saturating_sub(ERRORS_SHOWN_MAX);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    bail!("nothing was applied and nothing is run:{}{more}", shown.collect::<String>())
}

/// An object and where it belongs.
struct ManifestObject {
    location: SourceLocation,
    value: Value,
    api: Api<DynamicObject>,
    kind: String,
    /// Empty for what lives in none.
    namespace: String,
    name: String,
}

/// Kinds that were looked up.
type KindCache = HashMap<(String, String), Option<(ApiResource, ApiCapabilities)>>;

/// Finds out where documents belong.
async fn resolve_all(
    client: &Client,
    documents: Vec<Document>,
) -> anyhow::Result<Vec<ManifestObject>> {
    let (mut objects, mut errors) = (Vec::new(), Vec::new());
    let (mut kinds, mut locations) = (KindCache::new(), HashMap::new());
    for document in documents {
        let found = resolve(client, document, &mut kinds).await.and_then(|object| {
            let key = (object.api.resource_url().to_owned(), object.name.clone());
            match locations.insert(key, object.location.clone()) {
                Some(first) => Err(object.locate_error(&format!("is in {first} already"))),
                None => Ok(object),
            }
        });
        match found {
            Ok(object) => objects.push(object),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(objects) } else { reject(&errors) }
}

async fn resolve(
    client: &Client,
    document: Document,
    kinds: &mut KindCache,
) -> Result<ManifestObject, String> {
    let Document { location, value, .. } = document;
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("/apiVersion").to_owned(), text("/kind").to_owned());
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name").to_owned());
    if name.is_empty() {
        return Err(format!(
            "{location}, {kind}: metadata.name: Required value: to be applied again"
        ));
    }
    let key = (version, kind);
    let found = match kinds.get(&key) {
        Some(found) => found.clone(),
        None => kinds.entry(key.clone()).or_insert(discover_kind(client, &key).await).clone(),
    };
    let (version, kind) = key;
    let Some((resource, capabilities)) = found else {
        return Err(format!(
            "{location}, {kind} {name}: no matches for kind {kind:?} in version {version:?}"
        ));
    };
    let (api, namespace) = match (capabilities.scope, namespace) {
        (Scope::Cluster, _) => (Api::all_with(client.clone(), &resource), String::new()),
        (Scope::Namespaced, given) => {
            let namespace = if given.is_empty() { "default" } else { given };
            (Api::namespaced_with(client.clone(), namespace, &resource), namespace.to_owned())
        }
    };
    Ok(ManifestObject { location, value, api, kind, namespace, name })
}

/// ApplyResult a kind is addressed; none if the server does not have it.
async fn discover_kind(
    client: &Client,
    (version, kind): &(String, String),
) -> Option<(ApiResource, ApiCapabilities)> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    pinned_kind(client, &GroupVersionKind::gvk(group, version, kind)).await.ok()
}

/// Asks the server about every object; the version of each that is there already.
async fn dry_run_all(objects: &[ManifestObject]) -> anyhow::Result<Vec<Option<String>>> {
    let coming: HashSet<&str> =
        objects.iter().filter(|object| object.is_namespace()).map(|object| &*object.name).collect();
    let dry_runs = stream::iter(objects.iter().map(|object| object.dry_run(&coming)));
    let answers: Vec<_> = dry_runs.buffered(CONCURRENT_MAX).collect().await;
    let (mut there, mut errors) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(version) => there.push(version),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(there) } else { reject(&errors) }
}

impl ManifestObject {
    fn is_namespace(&self) -> bool {
        self.kind == "Namespace" && self.namespace.is_empty()
    }

    fn locate_error(&self, why: &str) -> String {
        format!("{}, {} {}: {why}", self.location, self.kind, self.name)
    }

    /// A new object in a namespace that comes with it cannot be tried; that it is valid by itself is
    /// kinds.
    async fn dry_run(&self, coming: &HashSet<&str>) -> Result<Option<String>, String> {
        let found = self.api.get_opt(&self.name).await;
        let found = found.map_err(|error| self.locate_error(&api_message(&error)))?;
        match self.patch(&params().dry_run()).await {
            Err(kube::Error::Api(status))
                if status.code == 404 && coming.contains(&*self.namespace) =>
            {
                Ok(None)
            }
            Err(error) => Err(self.locate_error(&api_message(&error))),
            Ok(_) => Ok(found.and_then(|found| found.resource_version())),
        }
    }

    async fn write(&self, version_before: Option<&str>) -> Result<AppliedObject, String> {
        let written = self.patch(&params()).await;
        let written = written.map_err(|error| self.locate_error(&api_message(&error)))?;
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

fn params() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force().validation_strict()
}

/// The server's own words where there are any.
fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
