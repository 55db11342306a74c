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

use crate::manifest::{self, Document, Place};
use crate::validate;

/// Whose fields they are.
const MANAGER: &str = "punctual-up";
/// How many objects are on their way at a time.
const AT_A_TIME: usize = 64;
/// So many mistakes are told at once.
const FAULTS_MAX: usize = 20;

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Applied {
    /// `CronJob default/hello`
    pub(super) what: String,
    pub(super) how: How,
}

/// How an object was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum How {
    Created,
    Configured,
    Unchanged,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            How::Created => "created",
            How::Configured => "configured",
            How::Unchanged => "unchanged",
        })
    }
}

/// The documents of all files, if there is nothing wrong with any of them.
pub(super) fn read(paths: &[PathBuf], zone: &Zone) -> anyhow::Result<Vec<Document>> {
    match validate::sound(manifest::read(paths), zone) {
        Ok(documents) => Ok(documents),
        Err(faults) => refuse(&faults),
    }
}

/// Applies documents, if the server has no objection to any of them.
pub(super) async fn apply(
    client: Client,
    documents: Vec<Document>,
) -> anyhow::Result<Vec<Applied>> {
    let objects = located(&client, documents).await?;
    let there = rehearsed(&objects).await?;
    let mut applied = Vec::new();
    // What lives in a namespace needs it.
    for wants_namespaces in [true, false] {
        let wave = objects.iter().zip(&there);
        let wave = wave.filter(|(object, _)| object.is_namespace() == wants_namespaces);
        let mut wave = stream::iter(wave.map(|(object, there)| object.write(there.as_deref())))
            .buffered(AT_A_TIME);
        while let Some(written) = wave.next().await {
            applied.push(written.map_err(anyhow::Error::msg)?);
        }
    }
    Ok(applied)
}

fn refuse<T>(faults: &[String]) -> anyhow::Result<T> {
    let shown = faults.iter().take(FAULTS_MAX).map(|fault| format!("\n  {fault}"));
    let more = faults.len().saturating_sub(FAULTS_MAX);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    bail!("nothing was applied and nothing is run:{}{more}", shown.collect::<String>())
}

/// An object and where it belongs.
struct Object {
    place: Place,
    value: Value,
    api: Api<DynamicObject>,
    kind: String,
    /// Empty for what lives in none.
    namespace: String,
    name: String,
}

/// Kinds that were looked up.
type Known = HashMap<(String, String), Option<(ApiResource, ApiCapabilities)>>;

/// Finds out where documents belong.
async fn located(client: &Client, documents: Vec<Document>) -> anyhow::Result<Vec<Object>> {
    let (mut objects, mut faults) = (Vec::new(), Vec::new());
    let (mut known, mut places) = (Known::new(), HashMap::new());
    for document in documents {
        let found = locate(client, document, &mut known).await.and_then(|object| {
            let key = (object.api.resource_url().to_owned(), object.name.clone());
            match places.insert(key, object.place.clone()) {
                Some(first) => Err(object.blamed(&format!("is in {first} already"))),
                None => Ok(object),
            }
        });
        match found {
            Ok(object) => objects.push(object),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(objects) } else { refuse(&faults) }
}

async fn locate(client: &Client, document: Document, known: &mut Known) -> Result<Object, String> {
    let Document { place, value, .. } = document;
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("/apiVersion").to_owned(), text("/kind").to_owned());
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name").to_owned());
    if name.is_empty() {
        return Err(format!("{place}, {kind}: metadata.name: Required value: to be applied again"));
    }
    let key = (version, kind);
    let found = match known.get(&key) {
        Some(found) => found.clone(),
        None => known.entry(key.clone()).or_insert(look_up(client, &key).await).clone(),
    };
    let (version, kind) = key;
    let Some((resource, capabilities)) = found else {
        return Err(format!(
            "{place}, {kind} {name}: no matches for kind {kind:?} in version {version:?}"
        ));
    };
    let (api, namespace) = match (capabilities.scope, namespace) {
        (Scope::Cluster, _) => (Api::all_with(client.clone(), &resource), String::new()),
        (Scope::Namespaced, given) => {
            let namespace = if given.is_empty() { "default" } else { given };
            (Api::namespaced_with(client.clone(), namespace, &resource), namespace.to_owned())
        }
    };
    Ok(Object { place, value, api, kind, namespace, name })
}

/// How a kind is addressed; none if the server does not have it.
async fn look_up(
    client: &Client,
    (version, kind): &(String, String),
) -> Option<(ApiResource, ApiCapabilities)> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    pinned_kind(client, &GroupVersionKind::gvk(group, version, kind)).await.ok()
}

/// Asks the server about every object; the version of each that is there already.
async fn rehearsed(objects: &[Object]) -> anyhow::Result<Vec<Option<String>>> {
    let coming: HashSet<&str> =
        objects.iter().filter(|object| object.is_namespace()).map(|object| &*object.name).collect();
    let rehearsals = stream::iter(objects.iter().map(|object| object.rehearse(&coming)));
    let answers: Vec<_> = rehearsals.buffered(AT_A_TIME).collect().await;
    let (mut there, mut faults) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(version) => there.push(version),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(there) } else { refuse(&faults) }
}

impl Object {
    fn is_namespace(&self) -> bool {
        self.kind == "Namespace" && self.namespace.is_empty()
    }

    fn blamed(&self, why: &str) -> String {
        format!("{}, {} {}: {why}", self.place, self.kind, self.name)
    }

    /// A new object in a namespace that comes with it cannot be tried; that it is valid by itself is
    /// known.
    async fn rehearse(&self, coming: &HashSet<&str>) -> Result<Option<String>, String> {
        let found = self.api.get_opt(&self.name).await;
        let found = found.map_err(|error| self.blamed(&said(&error)))?;
        match self.patch(&params().dry_run()).await {
            Err(kube::Error::Api(status))
                if status.code == 404 && coming.contains(&*self.namespace) =>
            {
                Ok(None)
            }
            Err(error) => Err(self.blamed(&said(&error))),
            Ok(_) => Ok(found.and_then(|found| found.resource_version())),
        }
    }

    async fn write(&self, version_before: Option<&str>) -> Result<Applied, String> {
        let written = self.patch(&params()).await;
        let written = written.map_err(|error| self.blamed(&said(&error)))?;
        let how = match version_before {
            None => How::Created,
            Some(before) if written.resource_version().as_deref() == Some(before) => How::Unchanged,
            Some(_) => How::Configured,
        };
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let what = format!("{} {}{slash}{}", self.kind, self.namespace, self.name);
        Ok(Applied { what, how })
    }

    async fn patch(&self, params: &PatchParams) -> kube::Result<DynamicObject> {
        self.api.patch(&self.name, params, &Patch::Apply(&self.value)).await
    }
}

fn params() -> PatchParams {
    PatchParams::apply(MANAGER).force().validation_strict()
}

/// The server's own words where there are any.
fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
