//! Makes the objects on the server agree with the manifest files.
//!
//! A file is the unit: if one of its documents is invalid or rejected, nothing of the file is written, and what it
//! applied before stays. Other files are applied. Only objects that changed since they were last applied are sent.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use futures::{StreamExt as _, stream};
use kube::Client;

use super::apply::{
    self, AppliedObject, ExistingObject, KindCache, ManifestError, ManifestObject, ObjectKey,
};
use super::load::{LoadedFile, LoadedSource};
use super::prune::{self, PruneOutcome};

/// The maximum number of concurrent requests.
const CONCURRENT_MAX: usize = 64;

/// What a synchronization did.
#[derive(Debug, Default)]
pub(in crate::up) struct SyncReport {
    pub(in crate::up) applied: Vec<AppliedObject>,
    /// What is wrong and was not reported before.
    pub(in crate::up) problems: Vec<String>,
    /// What changed without an error, such as a removed manifest whose object stays.
    pub(in crate::up) notes: Vec<String>,
    /// Whether all problems are solved that were reported before.
    pub(in crate::up) is_recovered: bool,
    /// Whether a request failed that may succeed later.
    pub(in crate::up) needs_retry: bool,
}

/// An object that was applied.
#[derive(Clone, Debug)]
pub(super) struct AppliedRecord {
    /// `None` if an earlier process applied it.
    digest: Option<u64>,
    /// `None` for standard input.
    pub(super) file: Option<PathBuf>,
}

/// Applies manifests, and remembers what it applied.
pub(in crate::up) struct ManifestSync {
    client: Client,
    is_pruning: bool,
    kinds: KindCache,
    applied: BTreeMap<ObjectKey, AppliedRecord>,
    /// The problems of the last synchronization.
    problems: BTreeSet<String>,
}

/// The objects of one file.
struct ObjectsOfFile {
    objects: Vec<ManifestObject>,
    /// Why nothing of the file is applied.
    errors: Vec<ManifestError>,
    /// What exists of the objects to write, by index.
    existing: HashMap<usize, ExistingObject>,
}

/// The progress of one synchronization.
#[derive(Default)]
struct SyncState {
    files: Vec<ObjectsOfFile>,
    /// Everything that is in a manifest, applied or not.
    wanted: BTreeSet<ObjectKey>,
    /// All problems, reported before or not.
    problems: Vec<String>,
    report: SyncReport,
}

impl ManifestSync {
    pub(in crate::up) fn new(client: Client, is_pruning: bool) -> ManifestSync {
        ManifestSync {
            client,
            is_pruning,
            kinds: KindCache::default(),
            applied: BTreeMap::new(),
            problems: BTreeSet::new(),
        }
    }

    /// Learns which objects an earlier process applied from these sources, so that they can be pruned.
    pub(in crate::up) async fn find_applied(&mut self, sources: &[LoadedSource]) {
        if !self.is_pruning {
            return;
        }
        match prune::find_applied(&self.client, sources).await {
            Ok(found) => {
                for (key, file) in found {
                    self.applied.insert(key, AppliedRecord { digest: None, file: Some(file) });
                }
            }
            Err(error) => tracing::error!(
                "could not list the objects of earlier manifests, so they are not pruned until the \
                 next start: {error}"
            ),
        }
    }

    /// Applies what changed; with `is_forced` also what did not, because a user may have changed the objects.
    pub(in crate::up) async fn sync(
        &mut self,
        sources: &[LoadedSource],
        is_forced: bool,
    ) -> SyncReport {
        let mut state = SyncState::default();
        for source in sources {
            state.problems.extend(source.problems.iter().cloned());
        }
        let files: Vec<&LoadedFile> = sources.iter().flat_map(|source| &source.files).collect();
        self.resolve_files(&files, &mut state).await;
        self.dry_run(&mut state, is_forced).await;
        self.write(&mut state).await;
        self.remove_missing(sources, &mut state).await;
        for file in &state.files {
            state.problems.extend(file.errors.iter().map(ToString::to_string));
            state.report.needs_retry |= file.errors.iter().any(|error| error.is_temporary);
        }
        self.finish(state)
    }

    /// Selects the problems that are new.
    fn finish(&mut self, state: SyncState) -> SyncReport {
        let SyncState { problems, mut report, .. } = state;
        let all: BTreeSet<String> = problems.iter().cloned().collect();
        report.is_recovered = all.is_empty() && !self.problems.is_empty();
        let is_new = |problem: &String| !self.problems.contains(problem);
        report.problems = problems.into_iter().filter(is_new).collect();
        report.problems.dedup();
        self.problems = all;
        report
    }

    /// Finds the endpoints of all objects. The first of two manifests of the same object is used.
    async fn resolve_files(&mut self, files: &[&LoadedFile], state: &mut SyncState) {
        let mut locations = HashMap::new();
        for file in files {
            let documents = match &file.documents {
                Ok(documents) => documents.clone(),
                Err(errors) => {
                    state.problems.extend(errors.iter().cloned());
                    continue;
                }
            };
            let mut found =
                ObjectsOfFile { objects: Vec::new(), errors: Vec::new(), existing: HashMap::new() };
            for document in documents {
                let path = file.path.as_deref();
                let resolved = apply::resolve(&self.client, document, path, &mut self.kinds).await;
                let object = match resolved {
                    Ok(object) => object,
                    Err(error) => {
                        found.errors.push(error);
                        continue;
                    }
                };
                state.wanted.insert(object.key.clone());
                match locations.get(&object.key) {
                    Some(first) => {
                        let message = format!("is already in {first}, which is used");
                        state.problems.push(object.locate_error(message).to_string());
                    }
                    None => {
                        locations.insert(object.key.clone(), object.location.clone());
                        found.objects.push(object);
                    }
                }
            }
            state.files.push(found);
        }
    }

    /// Sends the changed objects of all files to the server as a dry run.
    async fn dry_run(&self, state: &mut SyncState, is_forced: bool) {
        let is_unchanged = |object: &ManifestObject| {
            let record = self.applied.get(&object.key);
            !is_forced && record.is_some_and(|record| record.digest == Some(object.digest))
        };
        let objects = state.files.iter().flat_map(|file| &file.objects);
        let namespaces = objects.filter(|object| object.key.is_namespace());
        let namespaces: HashSet<&str> = namespaces.map(|object| object.key.name.as_str()).collect();
        let mut requests = Vec::new();
        for (file_index, file) in state.files.iter().enumerate() {
            for (index, object) in file.objects.iter().enumerate() {
                if file.errors.is_empty() && !is_unchanged(object) {
                    let is_namespace_new = namespaces.contains(object.key.namespace.as_str());
                    requests.push(async move {
                        (file_index, index, object.dry_run(is_namespace_new).await)
                    });
                }
            }
        }
        let results: Vec<_> = stream::iter(requests).buffered(CONCURRENT_MAX).collect().await;
        for (file_index, index, result) in results {
            let Some(file) = state.files.get_mut(file_index) else { continue };
            match result {
                Ok(existing) => drop(file.existing.insert(index, existing)),
                Err(error) => file.errors.push(error),
            }
        }
    }

    /// Writes the objects of the files without errors. Namespaces come first because the other objects need them.
    async fn write(&mut self, state: &mut SyncState) {
        for is_namespace_pass in [true, false] {
            let mut requests = Vec::new();
            for (file_index, file) in state.files.iter().enumerate() {
                for (index, object) in file.objects.iter().enumerate() {
                    let is_in_pass = object.key.is_namespace() == is_namespace_pass;
                    if let Some(existing) = file.existing.get(&index)
                        && is_in_pass
                        && file.errors.is_empty()
                    {
                        requests.push(
                            async move { (file_index, object, object.write(existing).await) },
                        );
                    }
                }
            }
            let results: Vec<_> = stream::iter(requests).buffered(CONCURRENT_MAX).collect().await;
            let mut errors = Vec::new();
            for (file_index, object, result) in results {
                match result {
                    Ok(applied) => {
                        let digest = Some(object.digest);
                        let record = AppliedRecord { digest, file: object.file.clone() };
                        self.applied.insert(object.key.clone(), record);
                        state.report.applied.push(applied);
                    }
                    Err(error) => errors.push((file_index, error)),
                }
            }
            for (file_index, error) in errors {
                if let Some(file) = state.files.get_mut(file_index) {
                    file.errors.push(error);
                }
            }
        }
    }

    /// Prunes the objects whose manifest was removed, or says once that they stay.
    async fn remove_missing(&mut self, sources: &[LoadedSource], state: &mut SyncState) {
        let missing = self.applied.iter().filter(|(key, _)| !state.wanted.contains(*key));
        let missing: Vec<(ObjectKey, AppliedRecord)> =
            missing.map(|(key, record)| (key.clone(), record.clone())).collect();
        let mut kept_by_source: BTreeMap<usize, usize> = BTreeMap::new();
        for (key, record) in missing {
            let Some(file) = &record.file else { continue };
            let source = sources.iter().position(|source| source.contains(file));
            let Some((index, source)) = source.and_then(|at| Some((at, sources.get(at)?))) else {
                continue;
            };
            if !source.is_fully_known() || (self.is_pruning && source.is_empty()) {
                *kept_by_source.entry(index).or_default() += 1;
                continue;
            }
            if !self.is_pruning {
                state.report.notes.push(prune::kept_note(&key, file));
                self.applied.remove(&key);
                continue;
            }
            match prune::prune(&self.client, &key, file).await {
                PruneOutcome::Pruned(applied) => state.report.applied.push(applied),
                PruneOutcome::Kept(note) => state.report.notes.push(note),
                PruneOutcome::Failed(problem) => {
                    state.problems.push(problem);
                    state.report.needs_retry = true;
                    continue;
                }
            }
            self.applied.remove(&key);
        }
        if self.is_pruning {
            for (index, count) in kept_by_source {
                let Some(source) = sources.get(index) else { continue };
                state.problems.push(prune::not_pruned(source, count));
            }
        }
    }
}
