//! Deletes objects whose manifest was removed.
//!
//! Only objects are deleted that carry our label and name, in their annotation, a file of the command line. Namespaces
//! are never deleted, because everything in them would be lost.

use std::path::{Path, PathBuf};

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Preconditions, PropagationPolicy};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Discovery, Scope, verbs};
use kube::{Client, ResourceExt as _};

use super::apply::{AppliedObject, ApplyResult, ObjectKey, api_message};
use super::last_applied::{APPLIED_BY, APPLIED_BY_UP, MANIFEST_FILE};
use super::load::LoadedSource;

/// What became of an object whose manifest was removed.
pub(super) enum PruneOutcome {
    Pruned(AppliedObject),
    /// It stays for good, or is gone already.
    Kept(String),
    Failed(String),
}

/// Returns the objects on the server that came from these sources, with their files.
pub(super) async fn find_applied(
    client: &Client,
    sources: &[LoadedSource],
) -> kube::Result<Vec<(ObjectKey, PathBuf)>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let params = ListParams::default().labels(&format!("{APPLIED_BY}={APPLIED_BY_UP}"));
    let mut found = Vec::new();
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            let is_usable = capabilities.supports_operation(verbs::LIST)
                && capabilities.supports_operation(verbs::DELETE);
            if !is_usable {
                continue;
            }
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            for object in api.list(&params).await? {
                let Some(file) = manifest_file(&object) else { continue };
                if sources.iter().any(|source| source.contains(&file)) {
                    found.push((object_key(&resource, &object), file));
                }
            }
        }
    }
    Ok(found)
}

fn manifest_file(object: &DynamicObject) -> Option<PathBuf> {
    object.annotations().get(MANIFEST_FILE).map(PathBuf::from)
}

fn object_key(resource: &ApiResource, object: &DynamicObject) -> ObjectKey {
    ObjectKey {
        group: resource.group.clone(),
        kind: resource.kind.clone(),
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
    }
}

/// Deletes an object if it is still the one that its manifest made.
pub(super) async fn prune(client: &Client, key: &ObjectKey, file: &Path) -> PruneOutcome {
    if key.is_namespace() {
        let note = format!(
            "{key} is no longer in {}; it stays, because deleting a Namespace deletes everything in it",
            shown(file)
        );
        return PruneOutcome::Kept(note);
    }
    match delete(client, key, file).await {
        Ok(outcome) => outcome,
        Err(error) => {
            PruneOutcome::Failed(format!("could not prune {key}: {}", api_message(&error)))
        }
    }
}

async fn delete(client: &Client, key: &ObjectKey, file: &Path) -> kube::Result<PruneOutcome> {
    let (resource, capabilities) = find_resource(client, key).await?;
    let api: Api<DynamicObject> = if matches!(capabilities.scope, Scope::Cluster) {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &key.namespace, &resource)
    };
    let gone = || PruneOutcome::Kept(format!("{key} is no longer in {}", shown(file)));
    let Some(object) = api.get_opt(&key.name).await? else { return Ok(gone()) };
    let is_ours = object.labels().get(APPLIED_BY).is_some_and(|label| label == APPLIED_BY_UP);
    if !is_ours || manifest_file(&object).as_deref() != Some(file) {
        let note = format!(
            "{key} is no longer in {}; it stays, because its label {APPLIED_BY} or annotation \
             {MANIFEST_FILE} was changed",
            shown(file)
        );
        return Ok(PruneOutcome::Kept(note));
    }
    let params = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: object.uid(),
            resource_version: object.resource_version(),
        }),
        ..DeleteParams::default()
    };
    match api.delete(&key.name, &params).await {
        Ok(_) => {
            let object = key.to_string();
            Ok(PruneOutcome::Pruned(AppliedObject { object, result: ApplyResult::Pruned }))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(gone()),
        Err(error) => Err(error),
    }
}

async fn find_resource(
    client: &Client,
    key: &ObjectKey,
) -> kube::Result<(ApiResource, ApiCapabilities)> {
    let group = kube::discovery::group(client, &key.group).await?;
    let found = group.recommended_kind(&key.kind);
    found.ok_or_else(|| {
        kube::Error::Discovery(kube::error::DiscoveryError::MissingKind(format!(
            "{:?}",
            GroupVersionKind::gvk(&key.group, "", &key.kind)
        )))
    })
}

/// Says that an object stays although its manifest was removed.
pub(super) fn kept_note(key: &ObjectKey, file: &Path) -> String {
    format!(
        "{key} is no longer in {}; the object stays: delete it with kubectl, or use --prune",
        shown(file)
    )
}

/// Says why nothing of a source is pruned.
pub(super) fn not_pruned(source: &LoadedSource, count: usize) -> String {
    let reason = if source.is_fully_known() {
        "it contains no object, as if its file system was not mounted"
    } else {
        "it cannot be read completely"
    };
    let objects = if count == 1 { "1 object" } else { &format!("{count} objects") };
    format!("{}: {objects} of it not pruned, because {reason}", source.name())
}

fn shown(file: &Path) -> String {
    crate::output::one_line(&file.display().to_string())
}
